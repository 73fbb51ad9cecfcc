"""What another extension adds is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import ckan.plugins as p
import pytest
from ckan.tests import factories, helpers

from ckanext.freshness import interfaces
from ckanext.freshness.checking.content import Detector
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.runs import check_run
from ckanext.freshness.tests.checking.hostile import Hostile
from ckanext.freshness.tests.datasets import ours
from ckanext.freshness.tests.harvesting.conftest import install
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.web.support import FileServer

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "impatient_checks")


class Esperanto:
    """A vocabulary."""

    name = "esperanto"

    def read(self, text: str) -> int | interfaces.Reason | None:
        return 30 if text == "ĉiumonate" else None


class OtherPlugin(p.SingletonPlugin):
    """A plugin of another extension."""

    p.implements(interfaces.IFreshnessDetectors)
    p.implements(interfaces.IFreshnessVocabularies)

    def content_detectors(self) -> Sequence[type[Detector]]:
        return [Hostile]

    def frequency_vocabularies(self) -> Sequence[interfaces.Vocabulary]:
        return [Esperanto()]


@pytest.fixture
def other_extension(
    with_plugins: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """It is installed, as importlib.metadata sees it, and its plugin is loaded."""
    install("other", OtherPlugin, tmp_path, monkeypatch)
    with p.use_plugin("other"):
        yield


@pytest.mark.usefixtures("other_extension")
def test_its_vocabulary_and_its_detector() -> None:
    with FileServer() as server:
        server.files["/file"] = Answer(200, b"TEST own")
        said = [{"key": "frequency", "value": "ĉiumonate"}]
        made = factories.Dataset(resources=[{"url": f"{server.url}/file"}], extras=said)
        check_run.check(check_run.CheckScope(), lambda: datetime.now(timezone.utc))
        model.Session.remove()
    shown = helpers.call_action("package_show", id=made["id"])
    assert ours(shown)["freshness_frequency"] == "30"
    resource = made["resources"][0]["id"]
    assert helpers.call_action("freshness_resource_history", id=resource)["hash"] == "test:abc"

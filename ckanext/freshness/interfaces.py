"""Plugin interfaces for other extensions.

Source types of harvests need none of ours, because ckanext-harvest has one: derive the type from
:class:`ckanext.freshness.harvesting.source_type.SourceType`, and its plugin, which implements ckanext-harvest's
interface, from :class:`ckanext.freshness.harvesters.SourceTypePlugin`. Tables need none either: an entry point
of the group ``freshness.tables`` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import ckan.plugins as p

from .aging.vocabularies import AS_NEEDED, LIVE, NEVER, Reason, Vocabulary

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from .checking.content import Detector
    from .doctor.findings import SiteFinding

__all__ = [
    "AS_NEEDED",
    "LIVE",
    "NEVER",
    "IFreshnessChecker",
    "IFreshnessDetectors",
    "IFreshnessOperations",
    "IFreshnessTabs",
    "IFreshnessVocabularies",
    "NightPart",
    "PartReport",
    "Reason",
    "RunKind",
    "Tab",
    "Vocabulary",
]


class IFreshnessVocabularies(p.Interface):
    """Add vocabularies of update frequencies."""

    def frequency_vocabularies(self) -> Sequence[Vocabulary]:
        """Return vocabularies that are tried before this extension's own, in order.

        They read every dataset that is edited. If a vocabulary raises an error, the edit fails.
        """
        return ()


class IFreshnessDetectors(p.Interface):
    """Add kinds of files that are hashed by their content instead of their bytes."""

    def content_detectors(self) -> Sequence[type[Detector]]:
        """Return detectors that are tried before this extension's own, in order.

        Each is a subclass of :class:`ckanext.freshness.checking.content.Detector`, defined at the top level
        of a module that can be imported without CKAN. Files are opened in a separate process.
        """
        return ()


class IFreshnessChecker(p.Interface):
    """Check some links by rules of your own, in place of the nightly check of links."""

    def checked_links(self) -> str:
        """Return SQL that selects the links which this plugin checks, a row for each resource.

        The nightly check leaves these links alone. Pages show the columns of the row in place of a check's:

        - ``resource_id``: the primary key or an indexed column, because pages look for single links
        - ``tried_at``, ``failed_at``, ``succeeded_at``, ``changed_at``: when the link was last checked, last
          failed, last worked, and when its file last changed; timestamps in UTC, or NULL
        - ``failures``, ``failing_since``: the number of failures since the last success, and the first of them
        - ``attempts``: JSON (jsonb), a list of the last checks, the newest first. Each is an object with
          ``outcome`` (a value of :class:`ckanext.freshness.checking.decisions.Outcome`, or ``downloaded``),
          ``status`` (of HTTP, or null), ``reason`` (a key of :meth:`link_problems` or null) and ``words``
        """
        raise NotImplementedError

    def link_problems(self) -> Mapping[str, str]:
        """Return sentences, marked for translation, by the ``reason`` of a failed check."""
        return {}

    def check_dataset(self, package_id: str) -> None:
        """Check those links of a dataset that are yours, due or not. An editor has asked for it.

        It is called by a background job.
        """


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab beside those of this extension's pages.

    :ivar endpoint: of the page. The tab is active on all pages of the endpoint's blueprint
    :ivar label: marked for translation
    :ivar icon: name of an icon of Font Awesome
    :ivar source_type: the tab is also shown on the pages of harvest sources of this type
    """

    endpoint: str
    label: str
    icon: str
    source_type: str | None = None


class IFreshnessTabs(p.Interface):
    """Add tabs. Their templates extend ``freshness/page.html``, and their blueprints are ``guarded()``."""

    def freshness_tabs(self) -> Sequence[Tab]:
        """Return the tabs that the reader may open."""
        return ()


@dataclass(frozen=True, slots=True)
class PartReport:
    """The report of a part of the nightly run, in words for people.

    :ivar complete: whether the part did all of its work
    :ivar began: whether each run of the part could store its own row
    """

    words: str
    complete: bool = True
    began: bool = True


@dataclass(frozen=True, slots=True)
class NightPart:
    """A part of the nightly run.

    :ivar name: of the command that does the part alone
    :ivar work: does the part; its argument is the time, aware
    :ivar writes: the kind of the part's own rows of runs; None if it writes none
    :ivar is_noted: whether a failure is stored as a row of a run
    """

    name: str
    work: Callable[[datetime], PartReport]
    writes: str | None = None
    is_noted: bool = True


@dataclass(frozen=True, slots=True)
class RunKind:
    """The words for a kind of runs, marked for translation.

    :ivar title: of a run
    :ivar failed: a sentence for mails, with ``{at}`` and ``{error}``, which ends the sentence
    """

    title: str
    failed: str


class IFreshnessOperations(p.Interface):
    """Add to what operates the site: the nightly run, the doctor and the metrics."""

    def night_parts(self) -> Sequence[NightPart]:
        """Return parts of the nightly run. They are done when links are checked and statuses are written."""
        return ()

    def run_kinds(self) -> Mapping[str, RunKind]:
        """Return the words for the kinds of runs that this plugin stores, by kind."""
        return {}

    def doctor_checks(self) -> Mapping[str, Callable[[datetime], Iterable[SiteFinding]]]:
        """Return checks of the site by their subject. Each takes the time (aware) and yields its findings.

        Make findings by ``problem``, ``warning`` and ``note`` of :mod:`ckanext.freshness.doctor.findings`.
        """
        return {}

    def gauges(self) -> Iterable[Metric]:
        """Return metrics for Prometheus, which ``/freshness/metrics`` shows."""
        return ()

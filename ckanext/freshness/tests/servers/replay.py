"""A server that replays a recording of a real FAIR Data Point, answer by answer."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request

_DATA = Path(__file__).parent.parent / "data"

#: The reference implementation (2.0.0-alpha.3), recorded.
FDP_RECORDING = _DATA / "fdp_recording.json"
#: The same after whole documents were written back, as its web form does: containers merge.
FDP_EDITED = _DATA / "fdp-live-edited.json.gz"
#: The same with a series, data services of their own, and every field of the default forms.
FDP_RICH = _DATA / "fdp-live-rich.json.gz"
#: Version 1.17.6 with biobanks, studies, series and samples between and below its catalogs and datasets.
FDP_TYPES = _DATA / "fdp-live-types.json.gz"
#: A catalog whose document lost its type, as that version does when a record in it is deleted.
FDP_LOST_TYPE = _DATA / "fdp-live-lost-type.json.gz"
#: An experimental server of version 2, in Python.
FDP_VERSION_2 = _DATA / "fdp-live-version-2.json.gz"

_BASE = "{base}"
_RECORDS = re.compile(r"^<(\{base\}/[a-z]+/[0-9a-f-]{36})>", re.MULTILINE)


def load_recording(path: Path) -> dict[str, Any]:
    """Return a recording from a JSON file, which may be gzipped."""
    data = path.read_bytes()
    recording: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    responses = recording["responses"]
    # Some records were recorded in pages of several, and not by themselves.
    for url, recorded in list(responses.items()):
        for record in _RECORDS.findall(recorded["body"]) if "/page/" in url else ():
            responses.setdefault(record, recorded)
    return recording


class ReplayServer(LoopbackServer):
    """Answers what was recorded, with its own address in place of the recorded one; 404 otherwise.

    A recording is a mapping, or a file that `load_recording` reads, with `responses`: URL (the base
    as `{base}`) to status, headers and body. The Accept header is not looked at.
    """

    def __init__(self, recording: Path | Mapping[str, Any]) -> None:
        super().__init__()
        self.recording: Mapping[str, Any] = (
            load_recording(recording) if isinstance(recording, Path) else recording
        )
        self._answers = {
            url.removeprefix(_BASE) or "/": Answer(
                recorded["status"],
                self._here(recorded["body"]).encode(),
                {key: self._here(value) for key, value in recorded["headers"].items()},
            )
            for url, recorded in self.recording["responses"].items()
        }

    def urls(self, what: str) -> list[str]:
        """The recording's list of that name (`catalogs`, `datasets`, ...) with this address."""
        listed = self.recording[what]
        return [self._here(url) for url in ([listed] if isinstance(listed, str) else listed)]

    def body(self, url: str) -> str:
        """The recorded document at a URL with this address."""
        return self._answers[url.removeprefix(self.url) or "/"].body.decode()

    def answer(self, request: Request) -> Answer:
        """The recorded answer for exactly this target."""
        return self._answers.get(request.target, Answer(404))

    def _here(self, text: str) -> str:
        return text.replace(_BASE, self.url)

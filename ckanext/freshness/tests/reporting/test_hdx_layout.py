"""The counts of a run in HDX's layout, compared with a run that HDX has published."""

from __future__ import annotations

from typing import Any

from ckanext.freshness.reporting import runs

FIRST = {
    **{"api": 14, "api,error": 46, "error": 100, "filestore": 2088, "filestore,error": 1},
    **{"filestore,hash": 2, "filestore,same hash": 5, "firstrun": 1, "hash": 33, "hash,error": 2},
    **{"internal-filestore": 9, "internal-firstrun": 6, "internal-nothing": 7788},
    **{"nothing": 138926, "repeat hash": 1, "same hash": 266, "same hash,error": 20},
}
FIRST_TEXT = """\
*** Resources ***
* total: 149308 *,
api: 14,
api,error: 46,
error: 100,
filestore: 2088,
filestore,error: 1,
filestore,hash: 2,
filestore,same hash: 5,
firstrun: 1,
hash: 33,
hash,error: 2,
internal-filestore: 9,
internal-firstrun: 6,
internal-nothing: 7788,
nothing: 138926,
repeat hash: 1,
same hash: 266,
same hash,error: 20

*** Datasets ***
* total: 22160 *,
0: Fresh, Updated nothing: 22160

1248 datasets have update frequency of Live
3978 datasets have update frequency of Never
2163 datasets have update frequency of As Needed"""
FREQUENCIES = {"live": 1248, "never": 3978, "as needed": 2163}


def run(**figures: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"resources": {}, "datasets": {}}
    return {**empty, "frequencies": FREQUENCIES, **figures}


def test_the_resources_of_the_first_published_run() -> None:
    shuffled = dict(sorted(FIRST.items(), key=lambda one: one[1]))
    made = run(resources=shuffled, datasets={"0: Fresh, Updated nothing": 22160})
    assert runs.hdx_text(made) == FIRST_TEXT

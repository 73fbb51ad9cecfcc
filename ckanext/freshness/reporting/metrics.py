"""The metrics of a run in words: HDX's layout, and what servers' headers are worth.

Pure. What is counted, and under which labels, is :mod:`ckanext.freshness.checking.counting`'s; a run
keeps it as plain numbers, and this is how they are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ALL_HOSTS = "*"
"""The sum of all hosts, among them."""

_FREQUENCIES = {"live": "Live", "never": "Never", "as needed": "As Needed"}

Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Metrics:
    """What a run has counted.

    :ivar resources: how many resources have which label
    :ivar datasets: how many datasets have which label
    :ivar frequencies: how many datasets are ``live``, ``never`` and ``as needed``
    :ivar hosts: the numbers of each host, and of all of them under :data:`ALL_HOSTS`
    """

    resources: Mapping[str, int] = field(default_factory=dict)
    datasets: Mapping[str, int] = field(default_factory=dict)
    frequencies: Mapping[str, int] = field(default_factory=dict)
    hosts: Mapping[str, Numbers] = field(default_factory=dict)


def text(metrics: Metrics) -> str:
    """The counts in the layout of HDX's data freshness process, which people's scripts read.

    Labels stand in the order of their characters, a comma ends every line but the last one of a list.
    """
    lines = [
        "*** Resources ***",
        _counts(metrics.resources),
        "",
        "*** Datasets ***",
        _counts(metrics.datasets),
        "",
    ]
    lines += [
        f"{metrics.frequencies.get(key, 0)} datasets have update frequency of {words}"
        for key, words in _FREQUENCIES.items()
    ]
    return "\n".join(lines)


def _counts(labels: Mapping[str, int]) -> str:
    total = f"* total: {sum(labels.values())} *"
    return ",\n".join([total, *(f"{label}: {labels[label]}" for label in sorted(labels))])


def headers(metrics: Metrics) -> str:
    """How many of the resources and datasets that were visited send validators, and what those are worth.

    Empty if nothing was visited.
    """
    every = metrics.hosts.get(ALL_HOSTS)
    return "" if every is None else "\n".join(_headers(every))


def _headers(every: Numbers) -> Iterator[str]:
    answered, datasets = every["answered"], every["datasets"]
    yield "*** Headers ***"
    yield f"{every['visits']:.0f} visits, {answered:.0f} resources answered, of {datasets:.0f} datasets"
    if put_off := every.get("put_off", 0):
        yield f"{put_off:.0f} put off until the next run: their hosts gave no answer"
    for key, words in (
        ("last_modified", "resources send Last-Modified"),
        ("etag", "resources send ETag"),
        ("either", "resources send Last-Modified or ETag"),
    ):
        yield f"{_share(every[key], answered)} {words}"
    yield f"{_share(every['datasets_either'], datasets)} datasets send Last-Modified or ETag"
    compared = every["agreed"] + every["missed"] + every["moved"]
    yield f"{_share(every['agreed'], compared)} times Last-Modified agreed with the hash"
    yield f"{_share(every['missed'], compared)} times it missed a change"
    yield f"{_share(every['moved'], compared)} times it moved without one"


def _share(part: float, whole: float) -> str:
    return f"{part:.0f} of {whole:.0f}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def hosts(metrics: Metrics) -> list[tuple[str, Numbers]]:
    """Each host with its numbers, the most visited first."""
    return sorted(
        ((name, numbers) for name, numbers in metrics.hosts.items() if name != ALL_HOSTS),
        key=lambda one: (-one[1]["visits"], one[0]),
    )

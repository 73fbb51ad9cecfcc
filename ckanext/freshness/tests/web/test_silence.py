"""Hosts that give no answer: when they are given up, and what shows that they are alive."""

from __future__ import annotations

import pytest

from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.hosts import Host, HostPolicy

REFUSED = FailureReason.CONNECTION_REFUSED


def play(events: str, *, failures: int = 3, last_round: float = 600.0) -> Host:
    """Apply events to a host.

    ``f`` a check failed, ``r`` an attempt failed that was not its last, ``t`` one was too slow, which nobody
    tries again, ``a`` an answer came, ``m`` a malformed one did, ``o`` a fault of ours. ``|`` begins the last
    round.
    """
    host = Host("a.example", HostPolicy(failures=failures, last_round=last_round))
    reasons = {
        **{"f": REFUSED, "r": REFUSED, "t": FailureReason.TOTAL_TIMEOUT},
        **{"a": None, "m": FailureReason.MALFORMED, "o": FailureReason.PROXY},
    }
    for event in events:
        if event == "|":
            host.begin_last_round()
        else:
            host.ended(reasons[event], is_last=event == "f")
    return host


@pytest.mark.parametrize(
    ("events", "is_given_up"),
    [
        ("", False),
        ("ff", False),
        ("fff", True),
        ("fffff", True),
        ("rrrrrr", False),
        ("tt", False),
        ("ttt", True),
        ("ttatt", False),
        ("rrfrrfrr", False),
        ("rrfrrfrrf", True),
        ("ffaff", False),
        ("ffmff", False),
        ("ffof", True),
        ("oooooo", False),
        # A request that was on its way
        ("fffa", False),
        ("fffaff", False),
        ("fffm", False),
    ],
)
def test_when_a_host_is_given_up(events: str, is_given_up: bool) -> None:
    assert play(events).is_given_up is is_given_up


@pytest.mark.parametrize(
    ("events", "seconds", "is_given_up"),
    [
        ("", 600.0, False),
        ("fffff", 600.0, False),
        ("f", 0.0, True),
        ("a", 0.0, False),
        ("m", 0.0, False),
        ("af", 600.0, False),
        ("af", 0.0, True),
    ],
)
def test_in_the_last_round_time_without_an_answer_counts(
    events: str, seconds: float, is_given_up: bool
) -> None:
    assert play(f"fff|{events}", last_round=seconds).is_given_up is is_given_up

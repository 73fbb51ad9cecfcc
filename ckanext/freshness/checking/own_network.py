"""Tells a failure of this site's own network from links that fail.

If the site's name servers or its firewall let nothing through, the links of a night fail in the same way, and
after three such nights all would be broken. So failures without an answer wait until enough hosts have
answered. If most hosts that had worked are silent together, the cause is ours, though a server of this network
may answer.
"""

from __future__ import annotations

from collections.abc import Callable

from ..web.errors import FailureReason
from .decisions import CheckResult, Outcome

LEAST_HOSTS = 10
"""Hosts of a run whose silence all together is not theirs. A few may be dead."""

_TIMES_MORE = 4
"""How many hosts must be silent for each one that answers."""

_NO_ANSWER = frozenset(
    reason.value for reason in FailureReason if reason.silence or not reason.theirs
)


class OwnNetwork:
    """The results of a run. Failures that the site's own network explains become "cannot tell".

    :param sink: receives the results
    """

    def __init__(self, sink: Callable[[CheckResult], None]) -> None:
        self._sink = sink
        self._hosts: set[str] = set()
        self._answering: set[str] = set()
        self._silent: list[CheckResult] = []

    def expect(self, host: str) -> None:
        """Count a host of the run, before its first request."""
        self._hosts.add(host)

    def give(self, result: CheckResult) -> None:
        """Pass a result on, at once or when its meaning is certain."""
        attempt = result.attempt
        # Without a host, the URL is invalid.
        if result.host and attempt.status is None and attempt.reason in _NO_ANSWER:
            if result.outcome is Outcome.ERROR:
                self._silent.append(result)
                return
        elif result.host:
            self._answering.add(result.host)
            if len(self._hosts - self._answering) < _TIMES_MORE * len(self._answering):
                self._pass_on()
        self._sink(result)

    def end(self) -> None:
        """Pass the other results on: the run has ended."""
        # The silence of a host that was silent before says nothing of this network. If others answer, neither
        # does that of one that has never answered.
        fallen = {
            result.host
            for result in self._silent
            if not result.resource.is_failing
            and (result.resource.known.hash is not None or not self._answering)
        }
        if len(fallen) >= max(LEAST_HOSTS, _TIMES_MORE * len(self._answering)):
            self._silent = [_ours(result) for result in self._silent]
        self._pass_on()

    def _pass_on(self) -> None:
        for result in self._silent:
            self._sink(result)
        self._silent = []


def _ours(result: CheckResult) -> CheckResult:
    attempt = result.attempt._replace(
        outcome=Outcome.CANNOT_TELL,
        reason=FailureReason.NO_ROUTE.value,
        words="gave no answer, as most hosts of this run: this site's network may have failed",
    )
    return result._replace(attempt=attempt)

"""Tells a failure of this site's own network from links that fail.

If the site's name servers or its firewall let nothing through, every link of a night fails in the same way, and
after three such nights all would be broken. So failures without an answer wait until any host has answered.
If a run of many hosts ends without an answer, the cause is ours.
"""

from __future__ import annotations

from collections.abc import Callable

from ..web.errors import FailureReason
from .decisions import CheckResult, Outcome

LEAST_HOSTS = 10
"""Hosts of a run whose silence all together is not theirs. A few may be dead."""

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
        self._waiting: list[CheckResult] = []
        self._has_answer = False

    def expect(self, host: str) -> None:
        """Count a host of the run, before its first request."""
        self._hosts.add(host)

    def give(self, result: CheckResult) -> None:
        """Pass a result on, at once or when its meaning is certain."""
        if not self._has_answer and len(self._hosts) >= LEAST_HOSTS:
            self._has_answer = _shows_answer(result)
            if self._has_answer:
                self._pass_on()
            elif result.outcome is Outcome.ERROR and result.host:
                self._waiting.append(result)
                return
        self._sink(result)

    def end(self) -> None:
        """Pass the results on that no answer has explained: the run has ended."""
        if len({result.host for result in self._waiting}) >= LEAST_HOSTS:
            self._waiting = [_ours(result) for result in self._waiting]
        self._pass_on()

    def _pass_on(self) -> None:
        for result in self._waiting:
            self._sink(result)
        self._waiting = []


def _shows_answer(result: CheckResult) -> bool:
    """Return whether something outside of this site's network has answered."""
    attempt = result.attempt
    # Without a host, the URL is invalid.
    return bool(result.host) and (attempt.status is not None or attempt.reason not in _NO_ANSWER)


def _ours(result: CheckResult) -> CheckResult:
    attempt = result.attempt._replace(
        outcome=Outcome.CANNOT_TELL,
        reason=FailureReason.NO_ROUTE.value,
        words="gave no answer, and neither did any other host: this site's network may have failed",
    )
    return result._replace(attempt=attempt)

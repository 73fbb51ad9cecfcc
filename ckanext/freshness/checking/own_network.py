"""Tells a failure of this site's own network from links that fail.

If the site's name servers or its firewall let nothing through, the links of a night fail in the same way, and
after three such nights all would be broken. So failures without an answer wait for the end of the run. If most
hosts that had worked are silent together, the cause is ours, though a server of this network may answer.
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
        self._answering: set[str] = set()
        self._silent: list[CheckResult] = []

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
        self._sink(result)

    def end(self) -> None:
        """Pass the other results on: the run has ended."""
        # The silence of a host that was silent before says nothing of this network.
        fallen = {result.host for result in self._silent if not result.resource.is_failing}
        fallen -= self._answering
        is_ours = len(fallen) >= max(LEAST_HOSTS, _TIMES_MORE * len(self._answering))
        for result in self._silent:
            self._sink(_ours(result) if is_ours else result)


def _ours(result: CheckResult) -> CheckResult:
    attempt = result.attempt._replace(
        outcome=Outcome.CANNOT_TELL,
        reason=FailureReason.NO_ROUTE.value,
        words="gave no answer, as most hosts of this run: this site's network may have failed",
    )
    return result._replace(attempt=attempt)

"""What the result of a check says of a file's changes: pure functions of what was known before.

The numbers are stored by the statement that stores the result (:mod:`.result_writer`). A run that is killed
therefore neither loses an observation nor stores it twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from . import change_rates, rhythms
from .change_rates import NONE, Observations
from .rhythms import NO_RHYTHM, Rhythm

_DAY = timedelta(days=1)

_STEP = 0.3
"""How much one update of a dataset counts in :attr:`Known.together`."""


class Known(NamedTuple):
    """The facts about a resource's changes before a check.

    :ivar own: the resource's own observations
    :ivar expected: changes a day that are expected without these
    :ivar together: how often the file has changed when others of its dataset had, from 0 to 1
    :ivar others_changed: whether another file of the dataset has changed since the resource's last check
    :ivar found_at: end of the last check that found the file; None if none did
    :ivar trust: how often dates that the host's files had were right, from 0 to 1
    :ivar rhythm: the file's changes in time
    """

    own: Observations = NONE
    expected: float = 1 / 60
    together: float = 0.5
    others_changed: bool = False
    found_at: datetime | None = None
    trust: float = 0.5
    rhythm: Rhythm = NO_RHYTHM


class Learned(NamedTuple):
    """The facts of :class:`Known` that a check has changed."""

    own: Observations
    together: float
    rhythm: Rhythm


def trust(right: int, wrong: int) -> float:
    """Estimate the share of right dates from the numbers of right and wrong ones."""
    return (1 + right) / (2 + right + wrong)


def after_check(
    known: Known,
    at: datetime,
    *,
    changed: bool,
    stated: datetime | None = None,
    only_stated: bool = False,
) -> Learned:
    """Return the state after a check that found out whether the file changed.

    :param at: end of the check
    :param stated: when the file changed, as the server or the harvest source states it; None if neither does
    :param only_stated: whether nothing else shows the change
    """
    found_at = known.found_at
    if found_at is None:
        # The first check has nothing to compare with.
        return Learned(known.own, known.together, known.rhythm)
    days = (at - found_at) / _DAY
    together = known.together
    if known.others_changed:
        together += _STEP * (changed - together)
    if not changed:
        return Learned(change_rates.unchanged(known.own, days), together, known.rhythm)
    if only_stated:
        otherwise = change_rates.unchanged(known.own, days)
    else:
        otherwise = change_rates.changed(known.own, known.expected, days)
    if stated is None or not found_at < stated <= at:
        rhythm = known.rhythm if only_stated else rhythms.after_change(known.rhythm, found_at, at)
        return Learned(otherwise, together, rhythm)
    exact = change_rates.changed_at(known.own, days, (at - stated) / _DAY)
    rhythm = known.rhythm
    if known.trust >= 0.5:
        rhythm = rhythms.after_change(rhythm, stated, stated)
    elif not only_stated:
        rhythm = rhythms.after_change(rhythm, found_at, at)
    return Learned(change_rates.mixed(exact, otherwise, known.trust), together, rhythm)

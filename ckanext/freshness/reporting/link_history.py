"""The last checks of a link: when, with what answer, how fast, and the share of them that worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk

from ..dates import utc_text
from . import labels

RESULTS = {"w": "worked", "f": "failed", "u": "not made"}
"""The result of a check by its letter in the column ``history`` of ``freshness_check``."""
FIELDS = ("at", "result", "status", "reason", "milliseconds", "bytes")
PERIOD = timedelta(days=90)

Check = Mapping[str, Any]


def read(history: Sequence[str] | None) -> list[Check]:
    """Return checks as ``freshness_resource_history`` shows them, the newest first.

    :param history: the column ``history`` of ``freshness_check``
    """
    return [_check(*entry.split("|")) for entry in history or ()]


def _check(letter: str, at: str, answer: str, milliseconds: str, received: str) -> Check:
    values = (
        utc_text(datetime.fromtimestamp(int(at), timezone.utc)),
        RESULTS[letter],
        int(answer) if answer.isdecimal() else None,
        None if answer.isdecimal() else answer or None,
        int(milliseconds) if milliseconds else None,
        int(received) if received else None,
    )
    return dict(zip(FIELDS, values, strict=True))


def uptime(checks: Sequence[Check], now: datetime) -> float | None:
    """Return the percentage of a link's checks in the last 90 days that worked; None if there were none.

    Checks that could not be made tell nothing of the link.
    """
    since = utc_text(now - PERIOD) or ""
    told = [one["result"] for one in checks if one["at"] >= since and one["result"] != "not made"]
    return round(100 * told.count("worked") / len(told), 1) if told else None


def answer(check: Check) -> str:
    """Return what a link answered, in a sentence."""
    if check["result"] == "worked":
        return str(tk._("The link worked."))
    outcome = "cannot tell" if check["result"] == "not made" else "error"
    return labels.link_problem({**check, "outcome": outcome})


def tick(check: Check) -> str:
    """Return a check in one short line: "2026-11-27 02:13 UTC: worked, 143 ms".

    A page has thousands of them, so that its date is not the reader's.
    """
    words = {"worked": tk._("worked"), "failed": tk._("failed"), "not made": tk._("not made")}
    facts = [words[check["result"]], check["status"] if check["result"] != "worked" else None]
    facts += [check["reason"], f"{check['milliseconds']} ms" if check["milliseconds"] else None]
    moment = check["at"][:16].replace("T", " ")
    return f"{moment} UTC: {', '.join(str(fact) for fact in facts if fact)}"


def summary(checks: Sequence[Check]) -> str:
    """Return the numbers of checks: "30 checks: 20 worked, 10 failed"."""
    results = [one["result"] for one in checks]
    total = labels.counted(labels.CHECKS, len(results))
    counts = [
        (tk._("{count} worked"), results.count("worked")),
        (tk._("{count} failed"), results.count("failed")),
        (tk._("{count} could not be made"), results.count("not made")),
    ]
    parts = [words.format(count=count) for words, count in counts if count]
    return str(tk._("{total}: {parts}")).format(total=total, parts=", ".join(parts))

"""robots.txt (RFC 9309): what a host does not want visited by machines, and how fast.

The rules are read by :mod:`urllib.robotparser`, which knows no wildcards.
"""

from __future__ import annotations

from urllib.robotparser import RobotFileParser

from .errors import FetchError
from .exchange import MIB, Answer
from .urls import Target

MAX_BYTES = MIB
"""Twice what RFC 9309 asks to be read. What is longer is no robots.txt, and holds nobody up."""

MAX_CRAWL_DELAY = 30.0
"""Seconds: a host that wants more between two visits gets this much."""


def robots_url(target: Target) -> str:
    """Where the rules for ``target`` are."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}:{target.port}/robots.txt"


def rules_of(found: Answer | FetchError) -> RobotFileParser:
    """The rules that follow from asking for robots.txt (RFC 9309, section 2.3.1).

    There are none behind a client error. After a server error nothing may be visited. Where there
    was no answer at all everything may: the visit itself will meet the same and say it better.
    """
    text = ""
    if isinstance(found, Answer) and 200 <= found.status < 300:
        text = (found.body or b"").decode("utf-8", "replace")
    elif isinstance(found, Answer) and found.status >= 500:
        text = "User-agent: *\nDisallow: /"
    lines = text.splitlines()
    try:
        return _parsed(lines)
    except ValueError:
        return _parsed([line for line in lines if _is_readable(line)])


def _parsed(lines: list[str]) -> RobotFileParser:
    """
    :raises ValueError: a number has thousands of digits, or a path cannot be a URL
    """
    rules = RobotFileParser()
    rules.parse(lines)
    return rules


def _is_readable(line: str) -> bool:
    try:
        _parsed(["User-agent: *", line])
    except ValueError:
        return False
    return True


def crawl_delay(rules: RobotFileParser, user_agent: str) -> float:
    """Seconds that should lie between two requests; 0 if nothing is said."""
    delay = rules.crawl_delay(user_agent)
    rate = rules.request_rate(user_agent)
    spaced = rate.seconds / rate.requests if rate and rate.requests else 0.0
    return min(MAX_CRAWL_DELAY, max(float(delay or 0), spaced))

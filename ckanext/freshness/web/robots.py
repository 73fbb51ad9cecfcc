"""robots.txt (RFC 9309): the URLs of a host that we may request, and how fast."""

from __future__ import annotations

from protego import Protego

from .errors import FetchError
from .exchange import MIB, Answer
from .urls import Target

MAX_BYTES = MIB
"""Twice the size that RFC 9309 requires a reader to accept. A longer file sets no rules."""

MAX_CRAWL_DELAY = 30.0
"""The longest pause between two requests, in seconds, that a host can ask for."""

_MAX_RULES = 1_000_000
"""Protego copies each rule to every user agent of its group: lines times user agents must stay below
this."""


def robots_url(target: Target) -> str:
    """Return the URL of the robots.txt that applies to ``target``."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}:{target.port}/robots.txt"


def rules_of(found: Answer | FetchError) -> Protego:
    """Return the rules that follow from the request for robots.txt (RFC 9309, section 2.3.1).

    A client error means that there are no rules. A server error means that nothing may be requested. If
    there was no answer at all, everything may be requested: the request itself fails with a better message.
    """
    text = ""
    if isinstance(found, Answer) and 200 <= found.status < 300:
        text = (found.body or b"").decode("utf-8", "replace")
    elif isinstance(found, Answer) and found.status >= 500:
        text = "User-agent: *\nDisallow: /"
    if text.lower().count("agent") * len(text.splitlines()) > _MAX_RULES:
        text = ""
    return Protego.parse(text)


def crawl_delay(rules: Protego, user_agent: str) -> float:
    """Return the seconds to leave between two requests; 0 if robots.txt does not say."""
    rate = rules.request_rate(user_agent)
    spaced = rate.seconds / rate.requests if rate else 0.0
    return min(MAX_CRAWL_DELAY, max(rules.crawl_delay(user_agent) or 0.0, spaced))

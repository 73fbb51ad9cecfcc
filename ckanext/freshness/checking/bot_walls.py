"""Answers that are meant for robots alone: what they say of a file is nothing.

Only what is certain counts, by the words of those who build such walls. What a wall sends with 401, 403
or 429 needs no entry here.
"""

from __future__ import annotations

from collections.abc import Mapping

REQUEST_DENIED = 999
"""LinkedIn's own status for whom it takes for a robot; no registry knows it."""

WALLS: tuple[tuple[str, frozenset[str]], ...] = (
    # https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/
    ("cf-mitigated", frozenset({"challenge"})),
    # 202 and 405: https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-how-it-works.html
    ("x-amzn-waf-action", frozenset({"challenge", "captcha"})),
    # https://vercel.com/docs/headers/response-headers
    ("x-vercel-mitigated", frozenset({"challenge", "deny"})),
)
"""Header and values by which a wall tells that it answered in place of the site."""


def is_wall(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a wall against robots answered.

    :param headers: with names in any case
    """
    if status == REQUEST_DENIED:
        return True
    for name, values in WALLS:
        value = headers.get(name)
        if value is not None and value.strip().lower() in values:
            return True
    return False

"""The badge to embed on other websites, as an SVG without scripts and without fonts. Pure."""

from __future__ import annotations

from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

COLOURS = {
    "fresh": "#0c4a28",
    "due": "#6b4e00",
    "overdue": "#8a3600",
    "delinquent": "#7a0c1e",
    "unknown": "#3c444b",
}
"""Backgrounds by state; white text on them has a contrast of 7:1 or more."""

_LABEL_COLOUR = "#3a4248"
_CHARACTER = 6.6
"""Width of a character, in pixels, at a size of 11; ``textLength`` fits the text to it."""
_WIDE = 11.0
"""Width of a Chinese, Japanese or Korean character."""
_MARGIN = 10
_HEIGHT = 22


def svg(label: str, words: str, colour: str) -> str:
    """Return a badge.

    :param label: its left half, such as "freshness"
    :param words: its right half, such as "up to date"
    :param colour: a key of :data:`COLOURS`
    """
    left, right = _width(label), _width(words)
    title = f"{label}: {words}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" '
        f'role="img" aria-label={quoteattr(title)}><title>{escape(title)}</title>'
        f'<clipPath id="c"><rect width="{left + right}" height="{_HEIGHT}" rx="4"/></clipPath>'
        '<g clip-path="url(#c)" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff">'
        f'<rect width="{left}" height="{_HEIGHT}" fill="{_LABEL_COLOUR}"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{COLOURS[colour]}"/>'
        f"{_text(label, _MARGIN, left)}{_text(words, left + _MARGIN, right)}</g></svg>"
    )


def _width(text: str) -> int:
    widths = (_WIDE if east_asian_width(one) in "WF" else _CHARACTER for one in text)
    return round(sum(widths)) + 2 * _MARGIN


def _text(text: str, x: int, width: int) -> str:
    return f'<text x="{x}" y="15" textLength="{width - 2 * _MARGIN}">{escape(text)}</text>'

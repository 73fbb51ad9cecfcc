"""Marks texts for translation, which happens where they are shown."""

from __future__ import annotations


def N_(message: str) -> str:
    """The message itself: gettext's customary mark for a message id that stands in a table."""
    return message


def NN_(one: str, many: str) -> tuple[str, str]:
    """Both forms of a message that has a number, named ``count``: of one, and of any other number."""
    return one, many

"""Marks texts for translation, which happens where they are shown."""

from __future__ import annotations


def N_(message: str) -> str:
    """Mark a message for translation, and return it unchanged."""
    return message


def NN_(one: str, many: str) -> tuple[str, str]:
    """Mark both forms of a message with the number ``count`` for translation, and return them unchanged."""
    return one, many

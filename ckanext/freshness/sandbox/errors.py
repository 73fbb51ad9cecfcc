"""The errors of both sides."""

from __future__ import annotations


class Unopened(Exception):
    """Content that could not be opened. The text is a phrase that follows its name: "is malformed"."""


class Exceeded(Unopened):
    """Content that takes more time, memory or room than its process may use, or that breaks it."""

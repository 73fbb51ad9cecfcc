"""The one error of the stack."""

from __future__ import annotations


class StackError(Exception):
    """Something is missing or does not work; the message says what, and what to do about it."""

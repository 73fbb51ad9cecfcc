"""The one error of the stack."""

from __future__ import annotations


class StackError(Exception):
    """A part that is missing or does not work. The message names it and the next step."""

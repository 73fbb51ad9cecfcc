"""Validators of options and actions."""

from __future__ import annotations

import math
from typing import Any

import ckan.plugins.toolkit as tk

__all__ = ["freshness_positive_number"]


def freshness_positive_number(value: Any) -> float:
    """A finite number above zero.

    :raises tk.Invalid: anything else.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise tk.Invalid(f"must be a number above 0, not {value!r}")
    return number

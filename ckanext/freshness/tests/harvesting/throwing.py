"""Errors that are thrown where a function is called, and the functions of this extension that are called."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

PACKAGE = "ckanext.freshness."


class Unforeseen(Exception):
    """An error that no code expects."""


@contextmanager
def recording() -> Iterator[dict[str, FunctionType]]:
    """Record the functions of this extension that this thread calls inside the block, by module and name.

    Lambdas and functions inside of functions are left out: they stand in the functions that are there.
    """
    codes: dict[CodeType, str] = {}
    found: dict[str, FunctionType] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(PACKAGE) and not module.startswith(f"{PACKAGE}tests."):
            codes.setdefault(frame.f_code, module)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield found
    finally:
        sys.settrace(before)
        for function in gc.get_referrers(*codes):
            if isinstance(function, FunctionType) and not function.__closure__:
                module, name = codes[function.__code__], function.__qualname__
                if function.__module__ == module and "<" not in name:
                    found[f"{module.removeprefix(PACKAGE)}:{name}"] = function


@contextmanager
def throwing(error: BaseException, function: Any) -> Iterator[list[BaseException]]:
    """Throw an error once, when a function is called inside the block.

    :returns: a list that holds the error once it was thrown
    """
    thrown: list[BaseException] = []
    code = function.__code__

    def throw() -> None:
        function.__code__ = code
        thrown.append(error)
        raise error

    # Whoever has imported the function calls the same object. It finds nothing but its own module's names.
    _Thrower.throw = staticmethod(throw)
    function.__code__ = (
        lambda *args, **options: __import__(
            "ckanext.freshness.tests.harvesting.throwing", fromlist=["_Thrower"]
        )._Thrower.throw()
    ).__code__
    try:
        yield thrown
    finally:
        function.__code__ = code


class _Thrower:
    throw: Any = None

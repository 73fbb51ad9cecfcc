"""Regular expressions take time in proportion to their text, whatever the text.

Texts come from sources, servers and visitors. Each pattern of the package gets texts made of its own
parts: those on which a pattern that backtracks takes longest.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parent.parent
LEFT_OUT = ("tests", "migration")
LENGTHS = (500, 2000)
"""The first one catches patterns that would take minutes for the second."""
HOPELESS = 0.5
"""Seconds after which a longer text would take too long."""
NOTICEABLE = 0.0005
"""Seconds of processor time: a linear pattern needs a fifth of that for 2,000 characters, a quadratic one
twice as much on a fast machine."""

WHOLE = frozenset({"match", "fullmatch"})
ANYWHERE = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})


def compiled(value: Any) -> Iterator[re.Pattern[Any]]:
    """The patterns in a value of a module."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from compiled(one)
    elif isinstance(value, (tuple, list, frozenset, set)):
        for one in value:
            yield from compiled(one)


def methods(tree: ast.AST, name: str) -> set[str]:
    """The methods of patterns that a module calls on a name; all that it calls, if none on it."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = {one.attr for one in calls if ast.unparse(one.value) in (name, f"self.{name}")}
    found = used & (WHOLE | ANYWHERE) or {one.attr for one in calls} & (WHOLE | ANYWHERE)
    return found or {"search"}


def patterns() -> Iterator[tuple[str, re.Pattern[Any], bool]]:
    """Each pattern of the package, where it stands, and whether it is searched for in a text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        source = path.read_text(encoding="utf-8")
        if place.parts[0] in LEFT_OUT or "import re\n" not in source:
            continue
        tree = ast.parse(source)
        dotted = ".".join(("ckanext.freshness", *place.with_suffix("").parts))
        module = importlib.import_module(dotted.removesuffix(".__init__"))
        # Classes of libraries have patterns of their own.
        types = [it for it in vars(module).values() if getattr(it, "__module__", "") == dotted]
        spaces = [vars(module), *(vars(it) for it in types if isinstance(it, type))]
        for name, value in (item for space in spaces for item in space.items()):
            for pattern in compiled(value):
                yield f"{place}:{name}", pattern, not methods(tree, name) <= WHOLE
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("re."):
                method = ast.unparse(call.func).removeprefix("re.")
                if method in WHOLE | ANYWHERE and isinstance(call.args[0], ast.Constant):
                    pattern = re.compile(call.args[0].value)
                    yield f"{place}:{call.lineno}", pattern, method in ANYWHERE


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """Beginnings, and what to repeat after them: characters and words of the pattern, and some others."""
    source = pattern.pattern
    source = source.decode("latin-1") if isinstance(source, bytes) else source
    characters = dict.fromkeys((*"a0 \n", *re.findall(r"[^\w\s]", source)))
    words = list(dict.fromkeys(re.findall(r"[A-Za-z]{2,}", source)))
    # The words of a long alternation are alike: some twenty of them will do.
    some_words = words[:: 1 + len(words) // 20]
    for before in ("", *characters):
        for repeated in (*characters, *some_words):
            yield before, repeated


def seconds(pattern: re.Pattern[Any], subject: str, anywhere: bool) -> float:
    given: Any = subject.encode("utf-8") if isinstance(pattern.pattern, bytes) else subject
    begun = time.process_time()
    if anywhere:
        for _ in pattern.finditer(given):
            pass
    else:
        pattern.fullmatch(given)
        pattern.match(given)
    return time.process_time() - begun


def slow_on(pattern: re.Pattern[Any], anywhere: bool) -> str | None:
    """A text of which twice as much takes more than thrice the time; None if there is none.

    Four times as much must take more than eight times as long, so that a busy machine is no fault.
    """
    for before, repeated in attacks(pattern):
        for end in ("\x00", "\n!"):

            def taken(
                length: int, before: str = before, part: str = repeated, end: str = end
            ) -> float:
                return seconds(pattern, before + part * (length // len(part)) + end, anywhere)

            for length in LENGTHS:
                took = taken(length)
                is_suspect = took > NOTICEABLE and took > 3 * taken(length // 2)
                if is_suspect and (took > HOPELESS or taken(4 * length) > 8 * took):
                    return f"{before!r} + {repeated!r} repeated + {end!r}: {took:.2f} s"
    return None


def test_every_pattern_is_linear() -> None:
    # Modules import patterns of others.
    found = {(pattern, anywhere): place for place, pattern, anywhere in patterns()}
    assert len(found) > 80
    slow = {place: slow_on(*one) for one, place in found.items()}
    assert {place: words for place, words in slow.items() if words} == {}


@pytest.mark.parametrize(
    ("pattern", "anywhere"),
    [
        (r"[a-z]+\s*(?:Z|M)?\s*\(.*\)", False),
        (r"(?i)([?&;#][^=&;#]*(?:token|pwd)[^=&;#]*=|[?&;#](?:key|sig)=)[^&;#]*", True),
        (r"\d+\.?\d*", False),
        (r"\s+$", True),
        (r"<[^>]*>x", True),
    ],
)
def test_a_pattern_that_backtracks_is_found(pattern: str, anywhere: bool) -> None:
    assert slow_on(re.compile(pattern), anywhere)

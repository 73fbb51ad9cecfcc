"""The outline of a file: its size, and the names by which a text is known again.

These are the keys of JSON, the root element of XML, or the columns of a table. Names that are not certain are
left out. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property
from itertools import islice
from typing import NamedTuple

_SEARCHED = 4096
"""Characters from the beginning of a text that are searched for names."""
_MOST_NAMES = 10
_LONGEST_NAME = 40

_LINE_END = re.compile(r"[\r\n]+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([^\W\d][\w.-]*)")
_JSON_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', re.DOTALL)
_ONE_COLUMN = re.compile(r"[^\W\d][\w /().-]*")
_MOST_LINES = 20
"""Lines that may stand above a table."""


class Outline(NamedTuple):
    """The outline of the last good file at a URL.

    :ivar size: in bytes; 0 of a page that is no evidence, which is not compared with files
    :ivar columns: of a table, 1 of several lines without separators; else 0
    :ivar names: the first names, a line each; empty if there are none
    """

    size: int
    columns: int = 0
    names: str = ""

    def differs(self, names: Collection[str]) -> bool:
        """Decide whether a text has half of the known names at most; False if none are known.

        :param names: of the text
        """
        known = self.names.split("\n") if self.names else []
        return bool(known) and 2 * sum(name in names for name in known) <= len(known)

    def is_header(self, text: str) -> bool:
        """Decide whether a text ends with the known header of a table, which has no rows then."""
        header = text[max(text.rfind("\n"), text.rfind("\r")) + 1 :].strip()
        return bool(self.names) and self.names in (
            header,
            "\n".join(Text(header).header),
        )

    def shares_nothing(self, names: Collection[str]) -> bool:
        """Decide whether a text has names, and none of them is known."""
        return bool(self.names and names) and set(self.names.split("\n")).isdisjoint(names)


class Text:
    """The lines, columns and names at the beginning of a text. Each is read once.

    :param text: without leading blanks; empty if a file is not text
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that are not blank."""
        # A regular expression takes four times as long.
        lines = self.text[:_SEARCHED].replace("\r", "\n").split("\n")
        return list(islice(filter(None, map(str.strip, lines)), _MOST_LINES))

    @cached_property
    def _record(self) -> str | None:
        return _first_record(self.lines)

    @property
    def columns(self) -> int:
        """The number of columns of delimited text; 1 for several lines without separators, else 0."""
        if self._record is None:
            return int(len(self.lines) > 1)
        return 1 + max(_separators(self._record))

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns, keys or root element; an empty list if none are certain."""
        text = self.text[:_SEARCHED]
        if text[:1] in ("{", "["):
            found = _keys(text)
        elif text[:1] == "<":
            root = _ROOT.search(_COMMENT.sub("", text))
            found = [root[1]] if root else []
        else:
            found = self.header
        # Keys that begin with a digit are dates and numbers.
        return [
            name[:_LONGEST_NAME] for name in found if name.isprintable() and not name[:1].isdigit()
        ]

    @property
    def header(self) -> list[str]:
        """The names of the columns of delimited text; an empty list if it has no header."""
        record = self._record
        if record is None:
            is_column = len(self.lines) > 2 and _ONE_COLUMN.fullmatch(self.lines[0])
            return [self.lines[0]] if is_column else []
        separator = max(",;\t|", key=record.count)
        cells = [cell.strip(" \"'") for cell in record.split(separator)]
        names = [cell for cell in cells if cell]
        is_header = len(set(names)) == len(names) and not any(
            name[0].isdigit() or name[0] in "+-." for name in names
        )
        return names if is_header else []

    def outline(self, size: int) -> Outline:
        """Return the outline of a file that begins so.

        :param size: of the file, in bytes
        """
        names = list(dict.fromkeys(self.names))[:_MOST_NAMES]
        return Outline(size, self.columns, "\n".join(names))


def _keys(text: str) -> list[str]:
    """Return the keys of a JSON object, or of the first one in a list. The end may be missing."""
    keys: list[str] = []
    depth = depth_of_keys = 0
    for token in _JSON_TOKEN.finditer(text):
        if token[0] in "{[":
            depth += 1
            if token[0] == "{" and not depth_of_keys:
                depth_of_keys = depth
        elif token[0] in "}]":
            depth -= 1
            if depth < depth_of_keys:
                break
        elif token[2] and depth == depth_of_keys:
            keys.append(token[1])
    return keys


def is_table(text: str) -> bool:
    """Return whether the first two lines have equally many separators, at least one."""
    lines = _LINE_END.split(text, maxsplit=2)[:2]
    return len(lines) > 1 and _first_record(lines) is not None


def _first_record(lines: list[str]) -> str | None:
    """Return the first line that has as many separators as the next one; None if there is none."""
    if len(lines) == 1:
        return lines[0] if any(_separators(lines[0])) else None
    before: tuple[int, ...] = ()
    for number, line in enumerate(lines):
        counts = _separators(line)
        if any(first and first == second for first, second in zip(before, counts, strict=False)):
            return lines[number - 1]
        before = counts
    return None


def _separators(line: str) -> tuple[int, ...]:
    """Return the number of each separator in a line. A comma before a space is punctuation."""
    commas = line.count(",") - line.count(", ")
    return commas, line.count(";"), line.count("\t"), line.count("|")

"""Searches for a status, turned into searches for the dates that it follows from.

What Solr holds as a dataset's status is as old as its last write; the dates of its boundaries do not
age. So a clause such as ``freshness:overdue`` is replaced by ranges on those dates, and everything else
of a query is left as it is, to the letter. Pure: ``now`` is an argument.

The tokens are those of Solr's standard query parser (``QueryParser.jj``). Where a text is none that
Solr could read, it is left to Solr to say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from ..aging.status import Status
from ..model.moments import utc

FIELD = "freshness"
UNDETERMINED_FIELD = "freshness_undetermined"
DUE_FIELD = "freshness_due_date"
OVERDUE_FIELD = "freshness_overdue_date"
DELINQUENT_FIELD = "freshness_delinquent_date"


class StatusQueryError(ValueError):
    """A query that names the field in a way that cannot be answered; the text is for its author."""


def moment(now: datetime) -> str:
    """A moment as Solr reads it, to the second, as the boundaries are kept."""
    return f"{utc(now).replace(microsecond=0).isoformat()}Z"


def clause(status: Status, now: datetime) -> str:
    """The query, in parentheses, for the datasets that have a status now.

    The bounds are those of :func:`ckanext.freshness.aging.status.status_at`. Where time changes nothing
    there are no dates, and the stored status counts.
    """
    at = moment(now)
    match status:
        case Status.FRESH:
            always = f"({FIELD}:{status.value} -{DUE_FIELD}:[* TO *])"
            return f"({DUE_FIELD}:{{{at} TO *] OR {always})"
        case Status.DUE:
            return f"({DUE_FIELD}:[* TO {at}] AND {OVERDUE_FIELD}:{{{at} TO *])"
        case Status.OVERDUE:
            return f"({OVERDUE_FIELD}:[* TO {at}] AND {DELINQUENT_FIELD}:{{{at} TO *])"
        case Status.DELINQUENT:
            return f"({DELINQUENT_FIELD}:[* TO {at}])"
        case Status.UNAVAILABLE:
            return f"({FIELD}:{status.value})"


def rewrite(query: str, now: datetime) -> str:
    """A query in Solr's standard syntax, in which each clause about the status is about dates.

    :raises StatusQueryError: the query names the field with anything but statuses: a wildcard, a range,
        a boost, an unknown value, another query parser.
    """
    if query.lstrip().startswith("{!"):
        _refuse_parsers(query)
        return query
    tokens = list(_tokens(query))
    return "".join(_rewritten(_Cursor(query, tokens), now))


class _Kind(Enum):
    BLANK = "blank or comment"
    TERM = "term"
    QUOTED = "quoted"
    REGEX = "regular expression"
    RANGE = "range"
    OPEN = "("
    CLOSE = ")"
    COLON = ":"
    SUFFIX = "boost or slop"
    SIGN = "sign"
    REST = "what Solr cannot read either"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    text: str

    @property
    def value(self) -> str:
        """The text of a term or a quotation, without quotes and escapes."""
        text = self.text[1:-1] if self.kind is _Kind.QUOTED else self.text
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], text)


_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_BLANKS = re.compile(r"[ \t\n\r\u3000]+")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SIMPLE = (
    (_Kind.BLANK, _BLANKS),
    (_Kind.OPEN, re.compile(r"\(")),
    (_Kind.CLOSE, re.compile(r"\)")),
    (_Kind.COLON, re.compile(r":")),
    (
        _Kind.SUFFIX,
        re.compile(r"\^[ \t\n\r\u3000]*=?[-+]?[0-9]+(?:\.[0-9]+)?|~(?:[0-9]+(?:\.[0-9]+)?)?"),
    ),
    (_Kind.QUOTED, _QUOTED),
    (_Kind.REGEX, re.compile(r"/(?!\*)(?:\\/|[^/])+/", re.DOTALL)),
    # Followed by a blank, a sign is a term of its own.
    (_Kind.SIGN, re.compile(r"[-+!](?![ \t\n\r\u3000])")),
    (
        _Kind.TERM,
        re.compile(
            r"[-+!]|(?:\\.|[^ \t\n\r\u3000+\-!():^\[\]\"{}~\\/])"
            r"(?:\\.|[^ \t\n\r\u3000():^\[\]\"{}~\\])*",
            re.DOTALL,
        ),
    ),
)
_COMMENT_ENDS = re.compile(r"/\*|\*/")
_BOUND = re.compile(r"[^ \]}]+")
_NEGATION = "NOT"
_JOINTS = frozenset({"AND", "OR", "&&", "||"})
_MAX_DEPTH = 20
_WHOLE_NAME = re.compile(rf"(?<![\w-]){FIELD}(?![\w-])")


def _tokens(query: str) -> Iterator[_Token]:
    at = 0
    while at < len(query):
        token = _token(query, at)
        yield token
        at += len(token.text)


def _token(query: str, at: int) -> _Token:
    if query.startswith("/*", at):
        end = _comment_end(query, at)
        return _Token(_Kind.BLANK if end else _Kind.REST, query[at:end])
    if query[at] in "[{":
        end = _range_end(query, at)
        return _Token(_Kind.RANGE if end else _Kind.REST, query[at:end])
    for kind, pattern in _SIMPLE:
        if found := pattern.match(query, at):
            return _Token(kind, found[0])
    return _Token(_Kind.REST, query[at:])


def _comment_end(query: str, at: int) -> int | None:
    """Comments may stand in comments."""
    depth = 0
    for mark in _COMMENT_ENDS.finditer(query, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


def _range_end(query: str, at: int) -> int | None:
    """Behind the bracket that ends a range; one within a quoted bound does not."""
    at += 1
    while at < len(query):
        if query[at] in "]}":
            return at + 1
        bounds = [found.end() for p in (_QUOTED, _BLANKS, _BOUND) if (found := p.match(query, at))]
        at = max(bounds)
    return None


class _Cursor:
    """A place among the tokens of a query."""

    def __init__(self, query: str, tokens: list[_Token]) -> None:
        self.query = query
        self._tokens = tokens
        self._at = 0

    def take(self) -> _Token | None:
        """The next token, which is then behind."""
        if self._at == len(self._tokens):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def skip_blanks(self) -> _Token | None:
        """The next token that is no blank, which stays ahead."""
        while self._at < len(self._tokens) and self._tokens[self._at].kind is _Kind.BLANK:
            self._at += 1
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def peek(self) -> _Token | None:
        """The next token that is no blank; nothing is passed."""
        here = self._at
        token = self.skip_blanks()
        self._at = here
        return token


def _rewritten(cursor: _Cursor, now: datetime) -> Iterator[str]:
    is_value = False
    while token := cursor.take():
        if token.kind is _Kind.RANGE and token.text.startswith("{!"):
            _refuse_parsers(cursor.query)
        ahead = cursor.peek()
        is_field = token.kind is _Kind.TERM and ahead is not None and ahead.kind is _Kind.COLON
        if is_field and not is_value and token.value == FIELD:
            cursor.skip_blanks()
            cursor.take()
            cursor.skip_blanks()
            yield _value(cursor, now)
        else:
            yield token.text
        if token.kind is not _Kind.BLANK:
            is_value = token.kind is _Kind.COLON


def _value(cursor: _Cursor, now: datetime, depth: int = 0) -> str:
    """What stands behind the field's colon, or in a group there."""
    token = cursor.take()
    if token is not None and token.kind is _Kind.OPEN and depth < _MAX_DEPTH:
        found = f"({_group(cursor, now, depth + 1)})"
    elif token is not None and token.kind in (_Kind.TERM, _Kind.QUOTED):
        found = clause(_status(token), now)
    else:
        raise _error(token)
    ahead = cursor.peek()
    if ahead is not None and ahead.kind is _Kind.SUFFIX:
        raise _error(ahead)
    return found


def _group(cursor: _Cursor, now: datetime, depth: int) -> str:
    """The inside of a group; its closing parenthesis is then behind.

    A negation gets something to be taken from, without which Solr finds nothing in a group.
    """
    parts: list[str] = []
    sign = ""
    while ahead := cursor.peek():
        cursor.skip_blanks()
        if ahead.kind is _Kind.CLOSE and parts and not sign:
            cursor.take()
            return " ".join(parts)
        is_term = ahead.kind is _Kind.TERM
        if ahead.kind is _Kind.SIGN or (is_term and ahead.text == _NEGATION):
            if sign:
                raise _error(ahead)
            cursor.take()
            sign = "+" if ahead.text == "+" else "-"
        elif is_term and ahead.text in _JOINTS and parts and not sign:
            cursor.take()
            parts.append(ahead.text)
        else:
            one = _value(cursor, now, depth)
            parts.append(f"(*:* -{one})" if sign == "-" else f"{sign}{one}")
            sign = ""
    raise _error(None)


def _status(token: _Token) -> Status:
    try:
        return Status(token.value)
    except ValueError:
        raise _error(token) from None


def _error(token: _Token | None) -> StatusQueryError:
    *most, last = (status.value for status in Status)
    found = f", not {token.text[:80]}" if token else ""
    return StatusQueryError(
        f"{FIELD} can be searched for {', '.join(most)} or {last}, alone or as in "
        f"{FIELD}:(due OR overdue){found}. For anything else there are the dates "
        f"{DUE_FIELD}, {OVERDUE_FIELD} and {DELINQUENT_FIELD}."
    )


def _refuse_parsers(query: str) -> None:
    """Local parameters may name the field anywhere, in the syntax of any query parser."""
    if _WHOLE_NAME.search(query):
        raise StatusQueryError(
            f"{FIELD} cannot be searched by a query parser of its own ({{!...}}): write {FIELD}:due."
        )

"""Tables as files: CSV and JSON, sent while their rows are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from flask import Response, stream_with_context

from ..reporting.tables import Row, as_csv, as_json
from .protection import for_nobody_else

Writer = Callable[[Iterable[Row], Sequence[str]], Iterator[str]]

FORMATS: dict[str, tuple[str, Writer]] = {
    "csv": ("text/csv; charset=utf-8; header=present", as_csv),
    "json": ("application/json", as_json),
}
"""By the ending of a page's URL: what it is, and what writes it."""


def file_of(rows: Iterable[Row], fields: Sequence[str], name: str, ending: str) -> Response:
    """A table as a file.

    :param name: of the file, without its ending.
    :param ending: of :data:`FORMATS`.
    """
    media_type, write = FORMATS[ending]
    pieces = write(rows, fields)
    # What cannot be begun is an error page, and no file that ends early.
    first = next(pieces, "")

    def whole() -> Iterator[str]:
        yield first
        yield from pieces

    answer = Response(stream_with_context(whole()), content_type=media_type)
    for_nobody_else()
    answer.headers["Cache-Control"] = "private, no-cache"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return answer

"""Broken links by server, and repairs: where the file of a broken link may be now.

The reasons come from links that the user may see: those of private datasets of others tell nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse

from ..translation import N_, NN_
from ..web.urls import display_url
from . import labels
from .report_tables import BROKEN
from .tables import DatasetTable, Row, TableRequest

_MOST = 3
"""Candidates of a link."""

_REASONS = {
    "moved": N_(
        "When this link last worked, the server said that the file has moved here for good."
    ),
    "siblings": N_("Other links of this server moved in this way, such as one of {title}."),
    "same file": N_("The dataset {title} has the same file."),
    "https": N_("The same address with https. The server may have changed to it."),
}
"""Why an address may be the right one, the most certain reason first."""

_HIDDEN = ("***", "…")
"""What stands in a URL in place of secrets, or of its end. Nothing can be made of such a URL."""

_KNOWN = DatasetTable(
    name="repairs",
    select="e.kind, e.old, e.new",
    source="""FROM (
    (SELECT 'siblings' AS kind, c.url AS old, c.moved_to AS new, c.package_id, c.resource_id, c.url
        FROM freshness_check c WHERE c.host = ANY(:hosts) AND c.moved_to IS NOT NULL LIMIT 1000)
    UNION ALL
    (SELECT 'siblings', c.url_before, c.url, c.package_id, c.resource_id, c.url
        FROM freshness_check c WHERE c.url_before IS NOT NULL
        AND split_part(c.url_before, '/', 3) = ANY(:servers)
        AND c.failures = 0 AND c.succeeded_at IS NOT NULL LIMIT 1000)
    UNION ALL
    (SELECT 'same file', c.hash, c.url, c.package_id, c.resource_id, c.url
        FROM freshness_check c WHERE c.hash = ANY(:hashes) AND c.failures = 0 LIMIT 1000)
) e JOIN package p ON p.id = e.package_id
JOIN resource r ON r.id = e.resource_id AND r.url = e.url AND r.state = 'active'""",
    order="title",
    key="old, new",
)


def candidates(request: TableRequest, links: Sequence[Row]) -> dict[str, list[dict[str, str]]]:
    """Return the addresses at which the files of broken links may be now.

    :param request: of the user; only its ``context`` and ``now`` count
    :param links: rows of the table of broken links
    :returns: for the ids of resources, candidates with their ``url`` and their ``reason``, a sentence, the best
        first
    """
    whole = [link for link in links if not any(mark in link["url"] for mark in _HIDDEN)]
    if not whole:
        return {}
    values = {
        "hosts": sorted({link["host"] for link in whole}),
        "servers": sorted({_server(link["url"]) for link in whole}),
        "hashes": sorted({link["hash"] for link in whole if link["hash"]}),
    }
    asked = TableRequest(request.context, request.now)
    known = list(replace(_KNOWN, values=lambda request: values).read(asked))
    moves = _moves(row for row in known if row["kind"] == "siblings")
    files = [row for row in known if row["kind"] == "same file"]
    found = {link["resource_id"]: list(_of(link, moves, files)) for link in whole}
    return {id_: some for id_, some in found.items() if some}


def _of(
    link: Row, moves: Mapping[tuple[str, str], str], files: Sequence[Row]
) -> Iterator[dict[str, str]]:
    url, seen = link["url"], {link["url"]}
    found = [("moved", link["moved_to"], "")] if link["moved_to"] else []
    for (before, after), title in moves.items():
        if url.startswith(f"{before}/"):
            found.append(("siblings", after + url.removeprefix(before), title))
    found += [
        ("same file", row["new"], row["title"]) for row in files if row["old"] == link["hash"]
    ]
    scheme, _, rest = url.partition("://")
    if scheme.lower() == "http" and ":" not in _server(url):
        found.append(("https", f"https://{rest}", ""))
    for kind, address, title in found:
        is_whole = address == display_url(address) and not any(map(address.count, _HIDDEN))
        if is_whole and address not in seen and len(seen) <= _MOST:
            seen.add(address)
            reason = tk._(_REASONS[kind]).format(title=title)
            yield {"url": address, "reason": str(reason)}


def _moves(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return the changes that moved links have in common at the beginning of their URLs, the commonest first.

    "http://old.example/data/a.csv" and "https://example.org/files/a.csv" show that "http://old.example/data"
    became "https://example.org/files".

    :returns: for each change the title of a dataset in which a link moved so
    """
    numbers: Counter[tuple[str, str]] = Counter()
    titles: dict[tuple[str, str], str] = {}
    for row in rows:
        before, after = row["old"].split("/"), row["new"].split("/")
        parts = len(before)
        # The scheme and the server are the first three parts.
        while len(before) > 3 and len(after) > 3 and before[-1] == after[-1]:
            del before[-1], after[-1]
        if len(before) < parts:
            move = ("/".join(before), "/".join(after))
            numbers[move] += 1
            titles.setdefault(move, row["title"])
    return {move: titles[move] for move, _ in numbers.most_common()}


def _server(url: str) -> str:
    return f"{url}///".split("/")[2]


MOST = 2_000
"""The greatest number of links that are grouped, the longest broken first."""
LISTED = 100
"""The greatest number of links to show of a group."""
NIGHT = timedelta(hours=12)
"""Links that began to fail within this time did so in one night."""

_SAME_NIGHT = NN_(
    "{count} link on this server has failed since the night of {first}.",
    "{count} links on this server have failed since the same night ({first}).",
)
_NIGHTS = NN_(
    "{count} link on this server has failed since the night of {first}.",
    "{count} links on this server have failed, the first since {first}, the last since {last}.",
)


def read(request: TableRequest) -> tuple[list[dict[str, Any]], bool]:
    """Return the broken links that the user may see, in groups, and whether there are too many for that.

    :returns: groups as of :func:`grouped`
    """
    links = list(BROKEN.read(replace(request, limit=MOST + 1)))
    return grouped(links[:MOST]), len(links) > MOST


def grouped(links: Iterable[Row]) -> list[dict[str, Any]]:
    """Return links by server, the largest group first.

    :param links: rows of the table of broken links
    :returns: groups, each with its ``host``; its ``extent`` in sentences; ``problems``, the number of links by
        reason, the commonest first; and its ``links``, each with its ``problem``, those of one dataset together
    """
    found: dict[str, list[Row]] = {}
    for link in links:
        found.setdefault(link["host"], []).append({**link, "problem": labels.link_problem(link)})
    groups: list[dict[str, Any]] = [
        {
            "host": host,
            "extent": _extent(rows),
            "problems": dict(Counter(row["problem"] for row in rows).most_common()),
            "links": sorted(rows, key=lambda row: (row["title"].casefold(), row["package_id"])),
        }
        for host, rows in found.items()
    ]
    return sorted(groups, key=lambda group: (-len(group["links"]), group["host"]))


def _extent(rows: list[Row]) -> str:
    begun = sorted(isoparse(row["failing_since"]) for row in rows)
    forms = _SAME_NIGHT if begun[-1] - begun[0] <= NIGHT else _NIGHTS
    first, last = (labels.in_words(moment, "day") for moment in (begun[0], begun[-1]))
    return labels.counted(forms, len(rows), first=first, last=last)

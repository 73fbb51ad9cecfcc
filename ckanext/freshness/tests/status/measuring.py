"""What a call costs and leaves behind, with this extension and without it."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pysolr
import sqlalchemy as sa
from ckan import model

from ckanext.activity.model import Activity


@dataclass
class Measured:
    """What happened inside a block."""

    statements: list[str] = field(default_factory=list)
    """SQL, without the words of transactions."""
    documents: list[str] = field(default_factory=list)
    """The ids of the packages sent to Solr, in order."""


@contextlib.contextmanager
def measured(monkeypatch: Any) -> Iterator[Measured]:
    """Count statements of SQL and documents for Solr.

    Only this thread's count, and no garbage is collected meanwhile: SQLAlchemy would load objects
    again that a collection took out of its session.
    """
    found = Measured()
    own_thread = threading.get_ident()
    add = pysolr.Solr.add

    def counted(self: Any, docs: Any, *args: Any, **kwargs: Any) -> Any:
        docs = list(docs)
        found.documents += [one["id"] for one in docs]
        return add(self, docs, *args, **kwargs)

    def executed(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        transactions = ("SAVEPOINT", "RELEASE", "ROLLBACK")
        if threading.get_ident() == own_thread and not statement.lstrip().upper().startswith(
            transactions
        ):
            found.statements.append(statement)

    engine = model.Session.get_bind()
    sa.event.listen(engine, "before_cursor_execute", executed)
    with monkeypatch.context() as patch:
        patch.setattr(pysolr.Solr, "add", counted)
        gc.disable()
        try:
            yield found
        finally:
            gc.enable()
            sa.event.remove(engine, "before_cursor_execute", executed)


@contextlib.contextmanager
def without_freshness() -> Iterator[None]:
    """The site without this extension's plugins."""
    # The harvesters need the plugin freshness, and would say so.
    plugins = tk.aslist(tk.config["ckan.plugins"])
    harvesters = [name for name in plugins if name.endswith("_harvester")]
    p.unload(*reversed(harvesters), "freshness")
    try:
        yield
    finally:
        p.load("freshness", *harvesters)


def activities(package_id: str) -> int:
    """How many activities a package has."""
    result: int = model.Session.query(Activity).filter_by(object_id=package_id).count()
    return result

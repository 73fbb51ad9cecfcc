"""The harvest metadata in Solr documents, read together.

ckanext-harvest's ``before_dataset_index`` loads a package's current harvest object, with its whole content, and
then its source, to put two ids and a title into the document. That takes most of the time of an index update
that needs nothing else from the database. Inside :func:`read_together`, plain rows answer this query: one query
reads those of many packages.

The hook finds its objects by the name ``model`` in its module, which is not public. Other queries, and those of
other versions of ckanext-harvest, go to the database as before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa
from ckan import model

from . import harvest_tables
from .harvest import harvest_plugin

_CURRENT = sa.text(harvest_tables.CURRENT_OBJECTS)


@contextlib.contextmanager
def read_together(package_ids: Sequence[str] = ()) -> Iterator[None]:
    """Answer the hook's queries inside the block.

    :param package_ids: packages whose harvest objects do not change in the block. Their rows are read now, and
        those of others when the hook asks.
    """
    module = harvest_plugin()
    if module is None:
        yield
        return
    known: dict[str, Any] = dict.fromkeys(package_ids)
    known |= _current_objects(package_ids) if package_ids else {}
    before = module.model
    module.model = _Model(module.HarvestObject, known)
    try:
        yield
    finally:
        module.model = before


def _current_objects(package_ids: Sequence[str]) -> dict[str, Any]:
    """Return the current objects of packages, with the attributes that the hook reads."""
    rows = model.Session.execute(_CURRENT, {"ids": list(package_ids)})
    return {
        row.package_id: SimpleNamespace(
            id=row.id,
            source=row.source_id and SimpleNamespace(id=row.source_id, title=row.title),
        )
        for row in rows
    }


class _Model:
    """``ckan.model``, whose session answers the hook's query."""

    def __init__(self, harvest_object: type[Any], known: Mapping[str, Any]) -> None:
        self.Session = _Session(harvest_object, known)

    def __getattr__(self, name: str) -> Any:
        return getattr(model, name)


class _Session:
    """The session, with a query of its own for harvest objects."""

    def __init__(self, harvest_object: type[Any], known: Mapping[str, Any]) -> None:
        self._harvest_object = harvest_object
        self._known = known

    def query(self, *entities: Any) -> Any:
        if entities == (self._harvest_object,):
            return _Query(self._harvest_object, self._known)
        return model.Session.query(*entities)

    def __getattr__(self, name: str) -> Any:
        return getattr(model.Session, name)


class _Query:
    """A query for harvest objects: the hook's is answered here, any other is made by SQLAlchemy."""

    def __init__(self, harvest_object: type[Any], known: Mapping[str, Any]) -> None:
        self._harvest_object = harvest_object
        self._known = known
        self._conditions: list[Any] = []
        self._order: list[Any] = []

    def filter(self, *conditions: Any) -> _Query:
        self._conditions += conditions
        return self

    def order_by(self, *clauses: Any) -> _Query:
        self._order += clauses
        return self

    def first(self) -> Any:
        columns = [getattr(getattr(one, "left", None), "name", None) for one in self._conditions]
        if columns != ["package_id", "current"]:
            return self.__getattr__("first")()
        package_id = self._conditions[0].right.value
        if package_id in self._known:
            return self._known[package_id]
        return _current_objects([package_id]).get(package_id)

    def __getattr__(self, name: str) -> Any:
        query = model.Session.query(self._harvest_object)
        return getattr(query.filter(*self._conditions).order_by(*self._order), name)

"""A plugin of another extension whose hooks fail on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import ckan.plugins as p
import sqlalchemy as sa
from ckan import model


class StumblingPlugin(p.SingletonPlugin):
    """A plugin whose hooks fail as often for each title as its counters say."""

    p.implements(p.IPackageController, inherit=True)

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.writes: Counter[str] = Counter()
        self.deletions: Counter[str] = Counter()
        self.during: dict[str, Callable[[], object]] = {}
        """What else happens while a dataset is written, once for each title."""
        self.cancels_statement = False
        """Fail by a statement that PostgreSQL cancels: an OperationalError, as a deadlock is."""

    def after_dataset_create(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        self._stumble(self.writes, pkg_dict["title"])

    def after_dataset_update(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        self._stumble(self.writes, pkg_dict["title"])

    def after_dataset_delete(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        self._stumble(self.deletions, context["package"].title)

    def _stumble(self, times: Counter[str], title: str) -> None:
        if title in self.during:
            self.during.pop(title)()
        if times[title] > 0:
            times[title] -= 1
            if self.cancels_statement:
                cancelled = sa.text("SET LOCAL statement_timeout = 1; SELECT pg_sleep(1)")
                model.Session.execute(cancelled)
            raise LookupError(f"a hook stumbled over {title} at length\n{'and so on ' * 500}")

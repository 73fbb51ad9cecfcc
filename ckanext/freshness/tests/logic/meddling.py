"""A plugin of another extension that does what a test says whenever a dataset is indexed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ckan.plugins as p


class MeddlingPlugin(p.SingletonPlugin):
    """Calls :attr:`meddle` with each document."""

    p.implements(p.IPackageController, inherit=True)

    meddle: Callable[[dict[str, Any]], None]

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.meddle = lambda document: None

    def before_dataset_index(self, pkg_dict: dict[str, Any]) -> dict[str, Any]:
        self.meddle(pkg_dict)
        return pkg_dict

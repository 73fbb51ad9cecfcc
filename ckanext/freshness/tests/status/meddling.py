"""A plugin of another extension that does what a test says whenever a dataset is indexed or shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ckan.plugins as p


class MeddlingPlugin(p.SingletonPlugin):
    """Calls :attr:`meddle` with each document, and :attr:`show` with each dataset that is shown."""

    p.implements(p.IPackageController, inherit=True)

    meddle: Callable[[dict[str, Any]], None]
    show: Callable[[dict[str, Any]], None]

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.meddle = lambda document: None
        self.show = lambda dataset: None

    def before_dataset_index(self, pkg_dict: dict[str, Any]) -> dict[str, Any]:
        self.meddle(pkg_dict)
        return pkg_dict

    def after_dataset_show(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        self.show(pkg_dict)

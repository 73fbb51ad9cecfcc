"""The file of one dataset, looked at because somebody asks for that now."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from . import cycle, registered_sources

log = logging.getLogger(__name__)


def visit(package_id: str, clock: Callable[[], datetime]) -> None:
    """Do the files' part of a cycle for a dataset; nothing if it is in no registry.

    What failed a moment ago is asked again.

    :param clock: the time, aware
    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store is out of reach
    :raises lost.DatabaseLostError: the database went away
    """
    for source in registered_sources.sources_of(package_id):
        try:
            cycle.update(source, clock, strict=True, harvest=False, package_ids=[package_id])
        except cycle.CycleRunningError as error:
            # That one looks at this file as well, or has just done so.
            log.info("%s", error)

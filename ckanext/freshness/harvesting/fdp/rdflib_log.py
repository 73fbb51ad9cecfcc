"""Keeps rdflib from logging each odd literal and IRI of a source.

rdflib warns of every literal whose text does not fit its datatype, with a whole traceback, and of every
IRI with a blank in it. Sources have thousands of them, and nobody who runs a site can mend them; what
matters of them is an error of the record or a field that stays a text.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGER = "rdflib.term"


class _OtherThreads(logging.Filter):
    """Lets only pass what other threads have logged, which may work on something else."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread


@contextmanager
def unlogged() -> Iterator[None]:
    """A block, or as a decorator a function, in which this thread's odd terms are not logged."""
    logger, quiet = logging.getLogger(_LOGGER), _OtherThreads()
    logger.addFilter(quiet)
    try:
        yield
    finally:
        logger.removeFilter(quiet)

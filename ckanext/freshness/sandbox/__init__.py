"""Opens untrusted content in processes of their own, without network and with limits.

:mod:`.processes` runs in the caller's process, :mod:`.worker` in the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Unopened(Exception):
    """Raised if content cannot be opened. The message follows the content's name: "is malformed".

    :ivar facts: the same for programs, as plain data that JSON can hold; may be None
    """

    def __init__(self, words: str, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(words)
        self.facts = facts


class Exceeded(Unopened):
    """Raised if content exceeds its process's time, memory or size of answer."""

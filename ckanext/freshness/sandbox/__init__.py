"""Opens untrusted content in processes of their own, without network and with limits.

:mod:`.processes` runs in the caller's process, :mod:`.worker` in the others.
"""

from __future__ import annotations


class Unopened(Exception):
    """Raised if content cannot be opened. The message follows the content's name: "is malformed"."""


class Exceeded(Unopened):
    """Raised if content exceeds its process's time, memory or size of answer, or ends the process."""

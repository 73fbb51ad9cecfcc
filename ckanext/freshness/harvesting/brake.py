"""When deletions look like an accident: the numbers that pull the brake.

Pure, as :mod:`.strategy`, which says what is to be deleted and holds it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BrakeScope:
    """What the brake looks at by itself: all records of a source, or those of one kind."""

    name: str
    """Of its records, for people."""
    current: int
    doomed: int
    """To be deleted, and not released."""
    agreed: int
    """To be deleted, and released."""
    listed: bool
    """The source lists at least one of this kind."""

    def alarm(self, max_delete_fraction: float, min_records: int) -> str | None:
        """Why the deletions look like an accident, for people; None if they do not.

        :param max_delete_fraction: the share of the current records that one job may delete, 0 to 1.
        :param min_records: from how many current records on that share is looked at.
        """
        if not self.doomed:
            return None
        if not self.listed:
            return (
                f"the source lists nothing at all, but {self.current} {self.name} of it are current"
            )
        left = self.current - self.agreed
        if self.current < min_records or self.doomed <= max_delete_fraction * left:
            return None
        besides = f", besides {self.agreed} that were released" if self.agreed else ""
        return (
            f"{self.doomed} of {left} {self.name} would be deleted{besides}, "
            f"more than max_delete_fraction ({max_delete_fraction:g}) allows"
        )

"""The kinds of mails, as a table. Pure.

:mod:`.findings` and :func:`.outbox.crossings` hold the queries. The templates of a kind are
``freshness/mails/sections/<value>.txt`` and ``.html``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from types import MappingProxyType

from ..aging.messages import N_, NN_

COOLDOWN = timedelta(hours=20)
"""The shortest time between two mails to one person. Nightly runs may begin a few hours early."""
_DAY = COOLDOWN
_WEEK = timedelta(days=6) + COOLDOWN


class MailKind(str, Enum):
    """The subject of a section of a mail."""

    NOT_FRESH = "overdue"
    """Datasets that have become overdue."""
    BROKEN = "broken"
    """Links that have broken."""
    MISFIT = "misfit"
    """Declared update frequencies that do not fit the observed changes."""
    DELINQUENT = "delinquent"
    """Datasets that have become delinquent."""
    COPY = "copy"
    """A copy of the news of overdue datasets, with the people who were asked to update them."""
    NO_ADDRESS = "no_address"
    """Maintainers and organizations without a valid address."""
    NO_RESOURCES = "no_resources"
    """Datasets without resources."""
    FALLEN = "fallen"
    """Falls in the number of datasets."""
    RUN = "run"
    """Other problems of runs."""


class Receivers(Enum):
    """The people to whom a kind is sent."""

    KEEPERS = "keepers"
    """The maintainers of a dataset, who may see it."""
    OPERATORS = "operators"
    """The sysadmins, or the operators that the site's options name."""


class Origin(Enum):
    """The rows on which a kind reports, each once."""

    TRANSITION = "transition"
    """Changes of status."""
    FINDING = "finding"
    """Present faults. A fault that returns after it was mended is news again."""
    RUN = "run"
    """Runs of checks and other nightly work."""


@dataclass(frozen=True, slots=True)
class KindRule:
    """The rules and words of a kind.

    :ivar every: the shortest time between two mails of this kind to one person
    :ivar name: the words of the page where people choose their mails
    :ivar subject: forms for the subject and the section's heading
    :ivar counted: forms for lines of the command, if they differ from the subject
    """

    receivers: Receivers
    origin: Origin
    every: timedelta
    name: str
    subject: tuple[str, str]
    counted: tuple[str, str] | None = None


KINDS: Mapping[MailKind, KindRule] = MappingProxyType(
    {
        MailKind.NOT_FRESH: KindRule(
            Receivers.KEEPERS,
            Origin.TRANSITION,
            _DAY,
            N_("Datasets that need an update"),
            NN_("{count} dataset needs an update", "{count} datasets need an update"),
            NN_("{count} dataset to update", "{count} datasets to update"),
        ),
        MailKind.BROKEN: KindRule(
            Receivers.KEEPERS,
            Origin.FINDING,
            _WEEK,
            N_("Broken links (once a week)"),
            NN_("{count} broken link", "{count} broken links"),
        ),
        MailKind.MISFIT: KindRule(
            Receivers.KEEPERS,
            Origin.FINDING,
            _WEEK,
            N_("Update frequencies that do not fit the data (once a week)"),
            NN_("{count} update frequency to check", "{count} update frequencies to check"),
        ),
        MailKind.DELINQUENT: KindRule(
            Receivers.OPERATORS,
            Origin.TRANSITION,
            _DAY,
            N_("Datasets that are long overdue"),
            NN_(
                "{count} dataset whose provider should be contacted",
                "{count} datasets whose providers should be contacted",
            ),
        ),
        MailKind.COPY: KindRule(
            Receivers.OPERATORS,
            Origin.TRANSITION,
            _DAY,
            N_("Copies of the mails about datasets that need an update"),
            NN_("{count} dataset became overdue", "{count} datasets became overdue"),
        ),
        MailKind.NO_ADDRESS: KindRule(
            Receivers.OPERATORS,
            Origin.FINDING,
            _WEEK,
            N_("Maintainers and organizations without a valid address (once a week)"),
            NN_(
                "{count} maintainer or organization without a valid address",
                "{count} maintainers or organizations without a valid address",
            ),
        ),
        MailKind.NO_RESOURCES: KindRule(
            Receivers.OPERATORS,
            Origin.FINDING,
            _WEEK,
            N_("Datasets without resources (once a week)"),
            NN_("{count} dataset without resources", "{count} datasets without resources"),
        ),
        MailKind.FALLEN: KindRule(
            Receivers.OPERATORS,
            Origin.RUN,
            _DAY,
            N_("Falls in the number of datasets"),
            NN_("the number of datasets has fallen", "the number of datasets has fallen"),
            NN_(
                "{count} fall in the number of datasets", "{count} falls in the number of datasets"
            ),
        ),
        MailKind.RUN: KindRule(
            Receivers.OPERATORS,
            Origin.RUN,
            _DAY,
            N_("Problems of the nightly run"),
            NN_(
                "something is wrong with the checks of freshness",
                "something is wrong with the checks of freshness",
            ),
            NN_("{count} problem of the checks", "{count} problems of the checks"),
        ),
    }
)
"""In the order of the sections of a mail."""


def kinds_from(*origins: Origin) -> list[str]:
    """Return the stored values of the kinds that report on rows of some origins."""
    return [kind.value for kind, rule in KINDS.items() if rule.origin in origins]

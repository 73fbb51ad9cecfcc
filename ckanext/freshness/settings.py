"""Reads the site's options as the plain values that the subpackages take.

Each call reads the configuration. ``config_declaration.yaml`` declares the options; CKAN validates and
converts their values when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import ckan.plugins.toolkit as tk

from . import option_values as values
from .aging.thresholds import Thresholds
from .checking.selection import SelectionRules
from .ckan_adapter.core import CkanConfigurationException
from .harvesting.source_config import SourceConfig
from .harvesting.strategy import BrakeLimits
from .web.address_guard import Guard
from .web.errors import FetchError
from .web.exchange import ClientSettings, Limits
from .web.hosts import HostPolicy
from .web.urls import parse_url

PREFIX = "ckanext.freshness."

ADHOC_HOSTS = frozenset({"proxy.hxlstandard.org", "ourairports.com"})
"""HDX's hosts that generate files on request."""
_REDIRECTS = {values.HARVEST: 5, values.CHECK: 10}


class OptionError(CkanConfigurationException, ValueError):
    """An option that contradicts others; the text names it and says what it must be.

    If CKAN cannot start because of it, CKAN's commands print only the text.
    """


@dataclass(frozen=True, slots=True)
class Aging:
    """The site's rules for judging freshness."""

    thresholds: Thresholds
    frequency_keys: tuple[str, ...]
    """The extras with a dataset's update frequency, in order of precedence."""
    default_frequency: str | None
    """The frequency of datasets if neither they nor their source or organization state one."""
    dataset_types: frozenset[str]
    """The types of packages that are judged."""
    count_metadata_edits: bool
    """Whether an edit of the metadata is a modification, as in HDX's older rule."""


def aging() -> Aging:
    """Return the site's rules for judging freshness."""
    return Aging(
        thresholds=Thresholds.parse(option("thresholds"), int(option("grace_days"))),
        frequency_keys=frequency_keys(),
        default_frequency=option("default_frequency") or None,
        dataset_types=dataset_types(),
        count_metadata_edits=flag("count_metadata_edits"),
    )


def frequency_keys() -> tuple[str, ...]:
    """Return the extras with a dataset's update frequency, in order of precedence."""
    return words("frequency_keys")


def dataset_types() -> frozenset[str]:
    """Return the types of packages that are judged; harvest sources never are."""
    return frozenset(words("dataset_types")) - {"harvest"}


def is_judged(package_type: str | None) -> bool:
    """Decide whether packages of a type are judged.

    :param package_type: None for CKAN's default type
    """
    return (package_type or "dataset") in dataset_types()


def harvest_limits(source: SourceConfig) -> Limits:
    """Return the limits of one answer during a crawl: the site's, unless the source sets its own."""
    limits = _limits(values.HARVEST)
    return replace(limits, total=source.timeout or limits.total)


def harvest_policy(source: SourceConfig) -> HostPolicy:
    """Return the rate at which a crawl may send requests to a host."""
    return HostPolicy(
        source.concurrency or int(_limit("connections", values.HARVEST)),
        source.requests_per_second or _limit("requests_per_second", values.HARVEST),
    )


def brake_limits(source: SourceConfig, min_records: int) -> BrakeLimits:
    """Return how many deletions one job may make: the site's limits, unless the source sets its own.

    :param min_records: the source type's.
    """
    fraction, most = source.max_delete_fraction, source.max_deletions
    return BrakeLimits(
        float(option("harvest.max_delete_fraction")) if fraction is None else fraction,
        int(option("harvest.max_deletions")) if most is None else most,
        min_records,
    )


def web(limits: Limits) -> ClientSettings:
    """Return the settings of an HTTP client: the given limits, and the site's rules for connections."""
    bundle = option("ca_bundle")
    return ClientSettings(
        user_agent=user_agent(),
        limits=limits,
        guard=Guard(words("allowed_networks")),
        proxy=tk.config.get("ckan.download_proxy") or None,
        ca_bundle=Path(bundle) if bundle else None,
        insecure_hosts=frozenset(words("insecure_hosts")),
    )


def user_agent() -> str:
    """Return our User-Agent: the extension's version and the site's address for questions.

    It avoids the words "link" and "checker", which some firewalls block.
    """
    contact = option("contact_url") or tk.config.get("ckan.site_url")
    return f"ckanext-freshness/{version('ckanext-freshness')} (+{contact})"


class BrokenRule(NamedTuple):
    """The site's rule by which a link that fails is broken."""

    broken_after_failures: int
    broken_after: timedelta
    """The least time between the first and the last of these failures."""


def broken_rule() -> BrokenRule:
    """Return the site's rule by which a link that fails is broken.

    The pages of datasets need only this of :func:`checks`, which reads twenty options.
    """
    return BrokenRule(
        int(option("check.broken_after_failures")),
        timedelta(hours=float(option("check.broken_after_hours"))),
    )


@dataclass(frozen=True, slots=True)
class Checks:
    """The site's rules for checking URLs."""

    rules: SelectionRules
    """Which resources are checked, and when."""
    archived_keys: tuple[str, ...]
    """Extras that are true if a dataset is archived."""
    confirm_after: float
    """Seconds until a changed file is downloaded again."""
    concurrency: int
    """The number of checks at a time."""
    limits: Limits
    policy: HostPolicy
    policies: Mapping[str, HostPolicy]
    """The policies of hosts that have their own."""
    selection: str
    """The policy that selects resources, one of :data:`.checking.selection.POLICIES`."""
    per_run: int
    """Number of checks of a run by the policy ``learned``; 0 for as many as ``hdx`` would make."""

    @property
    def broken_after_failures(self) -> int:
        return self.rules.broken_after_failures

    @property
    def broken_after(self) -> timedelta:
        """The least time between the first and the last of these failures."""
        return self.rules.broken_after

    @property
    def broken_values(self) -> dict[str, Any]:
        """The values of the placeholders in :data:`.checking.selection.IS_BROKEN`."""
        return {"failures": self.broken_after_failures, "span": self.broken_after}


def checks() -> Checks:
    """Return the site's rules for checking URLs.

    :raises OptionError: ``ckan.site_url`` has no host.
    """
    policy = HostPolicy(
        int(_limit("connections", values.CHECK)),
        _limit("requests_per_second", values.CHECK),
        robots=flag("check.robots"),
        failures=int(option("check.host_failures")),
    )
    rules = SelectionRules(
        internal_hosts=values.hosts(words("check.internal_hosts")) | _own_hosts(),
        adhoc_hosts=adhoc_hosts(),
        intervals=values.intervals(words("visit_intervals")),
        **broken_rule()._asdict(),
        rotation=timedelta(days=float(option("check.rotation_days"))),
    )
    return Checks(
        rules=rules,
        archived_keys=words("check.archived_keys"),
        confirm_after=float(option("check.confirm_after")),
        concurrency=int(option("check.concurrency")),
        limits=_limits(values.CHECK),
        policy=policy,
        policies={
            host: replace(policy, connections=connections, per_second=per_second)
            for host, (connections, per_second) in values.host_limits(
                words("check.host_limits")
            ).items()
        },
        selection=option("check.policy"),
        per_run=int(option("check.checks_per_run")),
    )


def adhoc_hosts() -> frozenset[str]:
    """Return the hosts, normalised, that generate files on request."""
    return ADHOC_HOSTS | values.hosts(words("check.adhoc_hosts"))


def resource_fields() -> frozenset[str]:
    """Return the fields of resources that checks fill in, a subset of :data:`.checking.fields.FIELDS`."""
    return frozenset(words("check.resource_fields"))


def option(name: str) -> Any:
    """Return the value of an option.

    :param name: without ``ckanext.freshness.``
    """
    return tk.config.get(PREFIX + name)


def words(name: str) -> tuple[str, ...]:
    """Return the entries of an option that is a list."""
    return tuple(tk.aslist(option(name)))


def flag(name: str) -> bool:
    """Return the value of an option that is true or false."""
    return bool(tk.asbool(option(name)))


def _limit(name: str, purpose: str) -> float:
    return values.by_purpose(words(name), float)[purpose]


def _limits(purpose: str) -> Limits:
    return Limits(
        read=_limit("read_timeout", purpose),
        total=_limit("total_timeout", purpose),
        max_bytes=int(_limit("max_bytes", purpose)),
        redirects=_REDIRECTS[purpose],
        attempts=int(_limit("attempts", purpose)),
        backoff=values.delays(words("retry_delays")),
    )


def _own_hosts() -> frozenset[str]:
    try:
        return frozenset({parse_url(tk.config.get("ckan.site_url") or "").host})
    except FetchError as error:
        raise OptionError(f"ckan.site_url: {error}") from error

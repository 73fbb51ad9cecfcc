"""The site's options, read when used, as the plain values that the rooms take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk

from .aging import frequency
from .aging.thresholds import Thresholds, ThresholdsError
from .checking.fields import FIELDS
from .checking.selection import Intervals, Rules
from .ckan_adapter import CkanConfigurationException
from .harvesting.source_config import SourceConfig
from .web.client import FetchError, Limits, Settings
from .web.guard import Guard
from .web.hosts import HostPolicy
from .web.urls import host_name, parse_url

_HARVEST = "ckanext.freshness.harvest."


class OptionError(CkanConfigurationException, ValueError):
    """An option that cannot be used; the text names it and says what it must be.

    Where it keeps CKAN from starting, CKAN's commands say this text alone.
    """


@dataclass(frozen=True, slots=True)
class Aging:
    """How the site judges freshness."""

    thresholds: Thresholds
    frequency_keys: tuple[str, ...]
    """Where a dataset says how often it changes; the first that it has."""
    default_frequency: str | None
    """The frequency of datasets for which nobody says one."""
    dataset_types: frozenset[str]
    """The types of packages that are judged at all."""
    count_metadata_edits: bool
    """Whether an edit of the metadata is a modification, as in HDX's older rule."""


def aging() -> Aging:
    """How the site judges freshness.

    :raises OptionError: an option that cannot be used; the text names it.
    """
    option = tk.config.get
    grace = int(
        _number("ckanext.freshness.grace_days", option("ckanext.freshness.grace_days"), lowest=0)
    )
    try:
        thresholds = Thresholds.parse(option("ckanext.freshness.thresholds") or "", grace)
    except ThresholdsError as error:
        raise OptionError(f"ckanext.freshness.thresholds: {error}") from error
    default = option("ckanext.freshness.default_frequency") or None
    understood = frequency.parse(default)
    if default and isinstance(understood, frequency.NotUnderstood):
        raise OptionError(f"ckanext.freshness.default_frequency: {understood.words}")
    keys = tuple(option("ckanext.freshness.frequency_keys"))
    if not keys:
        raise OptionError("ckanext.freshness.frequency_keys must name one key at least")
    return Aging(
        thresholds=thresholds,
        frequency_keys=keys,
        default_frequency=default,
        dataset_types=dataset_types(),
        count_metadata_edits=bool(option("ckanext.freshness.count_metadata_edits")),
    )


def dataset_types() -> frozenset[str]:
    """The types of packages that are judged, for those who ask of each document."""
    # The types that harvest sources and catalogs have are never data.
    return frozenset(tk.config.get("ckanext.freshness.dataset_types")) - {"harvest"}


def harvest_limits(source: SourceConfig) -> Limits:
    """Limits of one answer during a crawl: the site's, where the source sets none of its own.

    :raises OptionError: an option that cannot be used; the text names it.
    """
    delays, seconds = _option("retry_delays")
    redirects, most = _option("max_redirects")
    return Limits(
        connect=_positive("connect_timeout"),
        read=_positive("read_timeout"),
        total=source.timeout or _positive("total_timeout"),
        max_bytes=int(_positive("max_bytes")),
        redirects=int(_number(redirects, most, lowest=0)),
        attempts=int(_positive("attempts")),
        backoff=tuple(_number(delays, one, lowest=0) for one in seconds),
        retry_after_max=_positive("retry_after_max"),
    )


def harvest_policy(source: SourceConfig) -> HostPolicy:
    """How politely a crawl visits a host.

    :raises OptionError: an option that cannot be used; the text names it.
    """
    return HostPolicy(
        source.concurrency or int(_positive("concurrency")),
        source.requests_per_second or _positive("requests_per_second"),
    )


def _option(name: str) -> tuple[str, Any]:
    """The key and the value of an option for harvests."""
    return _HARVEST + name, tk.config.get(_HARVEST + name)


def _positive(name: str) -> float:
    key, value = _option(name)
    return _number(key, value, lowest=math.ulp(0))


def _number(key: str, value: Any, *, lowest: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < lowest:
        wanted = "above 0" if lowest else "of 0 or more"
        raise OptionError(f"{key} must be a number {wanted}, not {value!r}")
    return number


def web(limits: Limits) -> Settings:
    """The settings of a client, with the site's rules for whom it may visit and how.

    :raises OptionError: an option that cannot be used; the text names it.
    """
    option = tk.config.get
    bundle = option("ckanext.freshness.ca_bundle")
    try:
        guard = Guard(option("ckanext.freshness.allowed_networks"))
    except ValueError as error:
        raise OptionError(
            "ckanext.freshness.allowed_networks must be addresses and networks, such as 10.20.0.0/16 "
            f"192.0.2.7: {error}"
        ) from error
    return Settings(
        user_agent=user_agent(),
        limits=limits,
        guard=guard,
        proxy=option("ckan.download_proxy") or None,
        ca_bundle=Path(bundle) if bundle else None,
        insecure_hosts=frozenset(option("ckanext.freshness.insecure_hosts")),
    )


def user_agent() -> str:
    """Who we say we are: the site and where to find out more.

    Without the words link or checker, which firewalls block.
    """
    contact = tk.config.get("ckanext.freshness.contact_url") or tk.config.get("ckan.site_url")
    return f"ckanext-freshness/{version('ckanext-freshness')} (+{contact})"


@dataclass(frozen=True, slots=True)
class Checks:
    """How the site's URLs are checked."""

    rules: Rules
    """Which resources are visited, and when."""
    archived_keys: tuple[str, ...]
    """Extras that are true where a dataset is archived."""
    requestable_keys: tuple[str, ...]
    """Extras that are true where a dataset is given out on request."""
    broken_after_failures: int
    broken_after: timedelta
    """Between the first and the last of these failures."""
    confirm_after: float
    """Seconds until a changed file is downloaded again."""
    resource_fields: frozenset[str]
    """The fields of resources that are filled in; of :data:`FIELDS`."""
    concurrency: int
    """Visits that go on at a time."""
    limits: Limits
    policy: HostPolicy
    policies: Mapping[str, HostPolicy]
    """Of hosts that have their own."""
    keep_runs: timedelta
    keep_transitions: timedelta


def checks() -> Checks:
    """How the site's URLs are checked.

    :raises OptionError: an option that cannot be used; the text names it.
    """
    option = tk.config.get
    internal = _hosts("ckanext.freshness.check.internal_hosts")
    policy = HostPolicy(
        _count("ckanext.freshness.check.connections"),
        _above_zero("ckanext.freshness.check.requests_per_second"),
        bool(option("ckanext.freshness.check.robots")),
        int(_at_least("ckanext.freshness.check.host_failures", 0)),
        _at_least("ckanext.freshness.check.host_pause", 0),
    )
    rules = Rules(
        internal_hosts=internal | _own_hosts(),
        adhoc_hosts=adhoc_hosts(),
        intervals=_intervals("ckanext.freshness.visit_intervals"),
        longest_back_off=_days("ckanext.freshness.check.max_backoff_days"),
        rotation=_days("ckanext.freshness.check.rotation_days"),
    )
    return Checks(
        rules=rules,
        archived_keys=tuple(option("ckanext.freshness.check.archived_keys")),
        requestable_keys=tuple(option("ckanext.freshness.check.requestable_keys")),
        broken_after_failures=_count("ckanext.freshness.check.broken_after_failures"),
        broken_after=timedelta(hours=_at_least("ckanext.freshness.check.broken_after_hours", 0)),
        confirm_after=_at_least("ckanext.freshness.check.confirm_after", 0),
        resource_fields=resource_fields(),
        concurrency=_count("ckanext.freshness.check.concurrency"),
        limits=_check_limits(),
        policy=policy,
        policies=_policies("ckanext.freshness.check.host_limits", policy),
        keep_runs=_days("ckanext.freshness.check.keep_runs_days"),
        keep_transitions=_days("ckanext.freshness.check.keep_transitions_days"),
    )


@dataclass(frozen=True, slots=True)
class Mails:
    """How people are told by mail."""

    enabled: bool
    cooldown: timedelta
    """Between two mails of one kind to one address."""
    timeout: float
    """Seconds that one mail may take."""
    operators: tuple[str, ...]
    """Who is written to instead of the sysadmins, as it stands in the site's config."""


def mails() -> Mails:
    """How people are told by mail.

    :raises OptionError: an option that cannot be used; the text names it.
    """
    option = tk.config.get
    return Mails(
        enabled=bool(option("ckanext.freshness.notify.enabled")),
        cooldown=timedelta(
            hours=min(_at_least("ckanext.freshness.notify.cooldown_hours", 0), 24 * _MOST_DAYS)
        ),
        timeout=_above_zero("ckanext.freshness.notify.timeout"),
        operators=tuple(option("ckanext.freshness.notify.operators")),
    )


def adhoc_hosts() -> frozenset[str]:
    """Hosts, normalised, that make files when asked.

    :raises OptionError: one of them can be no host.
    """
    return _hosts("ckanext.freshness.check.adhoc_hosts")


def resource_fields() -> frozenset[str]:
    """The fields of resources that the checker fills in; of :data:`FIELDS`.

    :raises OptionError: one of them is none.
    """
    key = "ckanext.freshness.check.resource_fields"
    given = frozenset(tk.config.get(key))
    if not given <= set(FIELDS):
        wrong = ", ".join(sorted(given - set(FIELDS)))
        raise OptionError(f"{key} must be of {', '.join(FIELDS)}, not {wrong}")
    return given


def _check_limits() -> Limits:
    delays = "ckanext.freshness.check.retry_delays"
    return Limits(
        connect=_above_zero("ckanext.freshness.check.connect_timeout"),
        read=_above_zero("ckanext.freshness.check.read_timeout"),
        total=_above_zero("ckanext.freshness.check.total_timeout"),
        max_bytes=_count("ckanext.freshness.check.max_bytes"),
        redirects=int(_at_least("ckanext.freshness.check.max_redirects", 0)),
        attempts=_count("ckanext.freshness.check.attempts"),
        backoff=tuple(_number(delays, one, lowest=0) for one in tk.config.get(delays)),
        retry_after_max=_above_zero("ckanext.freshness.check.retry_after_max"),
    )


def _at_least(key: str, lowest: float) -> float:
    return _number(key, tk.config.get(key), lowest=lowest)


def _above_zero(key: str) -> float:
    return _at_least(key, math.ulp(0))


def _count(key: str) -> int:
    """A whole number of at least one."""
    number = _at_least(key, 0)
    if number < 1:
        raise OptionError(f"{key} must be a number of 1 or more, not {tk.config.get(key)!r}")
    return int(number)


_MOST_DAYS = 100 * 366


def _days(key: str, value: Any = None) -> timedelta:
    given = tk.config.get(key) if value is None else value
    number = _number(key, given, lowest=0)
    if number > _MOST_DAYS:
        raise OptionError(f"{key} must be at most {_MOST_DAYS} days, not {given!r}")
    return timedelta(days=number)


def _intervals(key: str) -> Intervals:
    """``30:1 180:3 7``, as it is written in a site's config."""
    entries = [entry.partition(":") for entry in tk.config.get(key)]
    text = " ".join(tk.config.get(key))
    if not entries or entries[-1][1] or not all(colon for _, colon, _ in entries[:-1]):
        raise OptionError(
            f"{key} must be FREQUENCY:DAYS for some frequencies, and last the DAYS for all others, "
            f"for example 30:1 180:3 7, not {text!r}"
        )
    steps = [
        (int(_number(key, up_to, lowest=1)), _days(key, days)) for up_to, _, days in entries[:-1]
    ]
    if [up_to for up_to, _ in steps] != sorted({up_to for up_to, _ in steps}):
        raise OptionError(f"{key} must be in ascending order of frequencies, not {text!r}")
    return Intervals(tuple(steps), _days(key, entries[-1][0]))


def _hosts(key: str) -> frozenset[str]:
    return frozenset(_host(key, name) for name in tk.config.get(key))


def _host(key: str, name: str) -> str:
    try:
        return host_name(name)
    except ValueError as error:
        raise OptionError(f"{key}: {error}") from error


def _own_hosts() -> frozenset[str]:
    try:
        return frozenset({parse_url(tk.config.get("ckan.site_url") or "").host})
    except FetchError as error:
        raise OptionError(f"ckan.site_url: {error}") from error


def _policies(key: str, others: HostPolicy) -> dict[str, HostPolicy]:
    policies = {}
    entries: Iterable[str] = tk.config.get(key)
    for entry in entries:
        name, _, limits = entry.partition("=")
        connections, comma, rate = limits.partition(",")
        if not comma:
            raise OptionError(f"{key} must be HOST=CONNECTIONS,REQUESTS_PER_SECOND, not {entry!r}")
        policies[_host(key, name)] = replace(
            others,
            connections=int(_number(key, connections, lowest=1)),
            per_second=_number(key, rate, lowest=math.ulp(0)),
        )
    return policies

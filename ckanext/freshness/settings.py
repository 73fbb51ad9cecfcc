"""The site's options, read when used, as the plain values that the rooms take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk

from .aging import frequency
from .aging.thresholds import Thresholds, ThresholdsError
from .harvesting.source_config import SourceConfig
from .web.client import Limits, Settings
from .web.guard import Guard
from .web.hosts import HostPolicy

_HARVEST = "ckanext.freshness.harvest."


class OptionError(ValueError):
    """An option that cannot be used; the text names it and says what it must be."""


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
        # The types that harvest sources and catalogs have are never data.
        dataset_types=frozenset(option("ckanext.freshness.dataset_types")) - {"harvest"},
        count_metadata_edits=bool(option("ckanext.freshness.count_metadata_edits")),
    )


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
        raise OptionError(f"ckanext.freshness.allowed_networks: {error}") from error
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

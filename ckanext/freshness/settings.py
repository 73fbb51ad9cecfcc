"""The site's options, read when used, as the plain values that the rooms take."""

from __future__ import annotations

import math
from importlib.metadata import version
from pathlib import Path

import ckan.plugins.toolkit as tk

from .harvesting.source_config import SourceConfig
from .web.client import Limits, Settings
from .web.guard import Guard
from .web.hosts import HostPolicy

_HARVEST = "ckanext.freshness.harvest."


def harvest_limits(source: SourceConfig) -> Limits:
    """Limits of one answer during a crawl: the site's, where the source sets none of its own.

    :raises ValueError: an option that cannot be used; the text names it.
    """
    return Limits(
        connect=_positive("connect_timeout"),
        read=_positive("read_timeout"),
        total=source.timeout or _positive("total_timeout"),
        max_bytes=int(_positive("max_bytes")),
        redirects=tk.config.get(_HARVEST + "max_redirects"),
        attempts=int(_positive("attempts")),
        backoff=tuple(float(one) for one in tk.config.get(_HARVEST + "retry_delays")),
        retry_after_max=_positive("retry_after_max"),
    )


def harvest_policy(source: SourceConfig) -> HostPolicy:
    """How politely a crawl visits a host.

    :raises ValueError: an option that cannot be used; the text names it.
    """
    return HostPolicy(
        source.concurrency or int(_positive("concurrency")),
        source.requests_per_second or _positive("requests_per_second"),
    )


def _positive(name: str) -> float:
    value = tk.config.get(_HARVEST + name)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise ValueError(f"{_HARVEST}{name} must be a number above 0, not {value!r}")
    return number


def web(limits: Limits) -> Settings:
    """The settings of a client, with the site's rules for whom it may visit and how.

    :raises ValueError: an option that cannot be used; the text names it.
    """
    option = tk.config.get
    bundle = option("ckanext.freshness.ca_bundle")
    try:
        guard = Guard(option("ckanext.freshness.allowed_networks"))
    except ValueError as error:
        raise ValueError(f"ckanext.freshness.allowed_networks: {error}") from error
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

"""The site's options, read when used, as the plain values that the rooms take."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import ckan.plugins.toolkit as tk

from .harvesting.source_config import SourceConfig
from .web.client import Limits, Settings
from .web.guard import Guard
from .web.hosts import HostPolicy

_HARVEST = "ckanext.freshness.harvest."


def harvest_limits(source: SourceConfig) -> Limits:
    """Limits of one answer during a crawl: the site's, where the source sets none of its own."""
    option = tk.config.get
    return Limits(
        connect=option(_HARVEST + "connect_timeout"),
        read=option(_HARVEST + "read_timeout"),
        total=source.timeout or option(_HARVEST + "total_timeout"),
        max_bytes=option(_HARVEST + "max_bytes"),
        redirects=option(_HARVEST + "max_redirects"),
        attempts=max(1, option(_HARVEST + "attempts")),
        backoff=tuple(float(one) for one in option(_HARVEST + "retry_delays")),
        retry_after_max=option(_HARVEST + "retry_after_max"),
    )


def harvest_policy(source: SourceConfig) -> HostPolicy:
    """How politely a crawl visits a host."""
    option = tk.config.get
    return HostPolicy(
        source.concurrency or option(_HARVEST + "concurrency"),
        source.requests_per_second or option(_HARVEST + "requests_per_second"),
    )


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

"""Reads the site's options as the plain values that the subpackages take.

Each call reads the configuration. ``config_declaration.yaml`` declares the options; CKAN validates and
converts their values when it starts. The functions that convert a value also accept a converted one. They raise
a ValueError that says what the value must be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk

from .aging.status import Thresholds
from .checking.selection import Intervals, SelectionRules
from .ckan_adapter.core import CkanConfigurationException
from .harvesting.brake import BrakeLimits
from .harvesting.source_config import SourceConfig
from .web.address_guard import Guard
from .web.exchange import ClientSettings, Limits
from .web.hosts import HostPolicy
from .web.urls import host_name, parse_url

_MOST_DAYS = 36600


def number(value: Any, lowest: float = 0, highest: float = math.inf) -> float:
    """Return a number from ``lowest`` to ``highest``."""
    return _bounded(value, float, "a number", lowest, highest)


def whole(value: Any, lowest: float = 0) -> int:
    """Convert an option's value to a whole number of ``lowest`` or more."""
    return int(_bounded(value, _whole, "a whole number", lowest, math.inf))


def above_zero(value: Any) -> float:
    """Convert an option's value to a number above 0."""
    return _bounded(value, float, "a number", math.ulp(0), math.inf)


def truth(value: Any) -> bool:
    """Return True or False for a word such as ``yes`` or ``off``; False for none.

    CKAN's own validator takes any unknown word for false.

    :raises ValueError: the word is unknown
    """
    try:
        return bool(tk.asbool(value or False))
    except ValueError:
        raise ValueError(f"must be true or false, not {value!r}") from None


def hosts(names: Iterable[str]) -> frozenset[str]:
    """Return normalised names of hosts."""
    return frozenset(host_name(name) for name in names)


def host_limits(entries: Iterable[str]) -> dict[str, tuple[int, float]]:
    """Return connections and requests a second by host, from ``HOST=CONNECTIONS,REQUESTS``."""
    by_host = {}
    for entry in entries:
        name, _, limits = entry.partition("=")
        connections, comma, rate = limits.partition(",")
        if not comma:
            raise ValueError(f"must be HOST=CONNECTIONS,REQUESTS_PER_SECOND, not {entry!r}")
        by_host[host_name(name)] = whole(connections, 1), above_zero(rate)
    return by_host


def intervals(entries: Iterable[str]) -> Intervals:
    """Return the days between two checks, from ``30:1 180:3 7``."""
    given = list(entries)
    parts = [entry.partition(":") for entry in given]
    if not parts or parts[-1][1] or not all(colon for _, colon, _ in parts[:-1]):
        raise ValueError(
            "must be FREQUENCY:DAYS for some frequencies, and last the DAYS for all others, for example "
            f"30:1 180:3 7, not {' '.join(given)!r}"
        )
    steps = [(whole(up_to, 1), _days(days)) for up_to, _, days in parts[:-1]]
    if any(first >= second for (first, _), (second, _) in pairwise(steps)):
        raise ValueError(f"must be in ascending order of frequencies, not {' '.join(given)!r}")
    return Intervals(tuple(steps), _days(parts[-1][0]))


def secrets(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the names of secrets for headers."""
    given = tuple(entries)
    for entry in given:
        origin, _, name = entry.partition(":")
        if origin not in {"env", "file"} or not name.partition("@")[0]:
            raise ValueError(
                f"must be env:NAME or file:PATH, with @HOST behind it or without, not {entry!r}"
            )
    return given


def one_of(names: Iterable[str], known: Collection[str]) -> frozenset[str]:
    """Return the names as a set, after checking that each is a known name.

    :raises ValueError: a name is unknown
    """
    given = frozenset(names)
    if wrong := given.difference(known):
        raise ValueError(f"must be of {', '.join(known)}, not {', '.join(sorted(wrong))}")
    return given


def _days(text: str) -> timedelta:
    return timedelta(days=number(text, 0, _MOST_DAYS))


def _whole(value: Any) -> float:
    result = float(value)
    return result if result == math.floor(result) else math.nan


def _bounded(
    value: Any, convert: Callable[[Any], float], noun: str, lowest: float, highest: float
) -> float:
    try:
        result = convert(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not lowest <= result <= highest or math.isinf(result):
        raise ValueError(f"must be {noun} {_bounds(lowest, highest)}, not {value!r}")
    return result


def _bounds(lowest: float, highest: float) -> str:
    if lowest == math.ulp(0):
        return "above 0"
    return (
        f"of {lowest:.0f} or more" if highest == math.inf else f"from {lowest:.0f} to {highest:.0f}"
    )


PREFIX = "ckanext.freshness."

ADHOC_HOSTS = frozenset({"proxy.hxlstandard.org", "ourairports.com"})
"""HDX's hosts that generate files on request."""
ARCHIVED_KEYS = ("archived",)
"""Fields or extras that are true if a dataset is archived, so that its resources are not checked."""
CONCURRENCY = 200
"""Checks at the same time, on different hosts."""
HOST_FAILURES = 10
"""Checks in a row without an answer after which a host's other URLs are put off."""
MAX_DELETIONS = 500
"""Records that one job may delete without an approval, if the source sets no other number."""
CONFIRM_AFTER = 30.0
"""Seconds until a changed file is downloaded again, to tell a change from a file that differs each time."""
RETRY_DELAYS = (5.0, 20.0)
"""Seconds before each further attempt, if a server is busy or cannot be reached."""
_HARVEST_LIMITS = Limits(redirects=5)
_CHECK_LIMITS = Limits(total=3600, all_attempts=3600, max_bytes=10 * 1024**3)
"""The hour is for all attempts of a check until it has the file: a slow file is not a broken one. A second
download has an hour of its own."""


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
    data_dates_count: bool
    """Whether a file that changes without newer data, by their own dates, is no update."""


def aging() -> Aging:
    """Return the site's rules for judging freshness."""
    return Aging(
        thresholds=Thresholds.parse(option("thresholds")),
        frequency_keys=frequency_keys(),
        default_frequency=option("default_frequency") or None,
        dataset_types=dataset_types(),
        data_dates_count=flag("data_dates_count"),
    )


def own_rhythm() -> bool:
    """Return whether datasets without a declared frequency are judged by the rhythm of their updates."""
    return flag("own_rhythm") and option("check.policy") != "hdx"


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
    """Return the limits of one answer during a crawl. A source may set its own time."""
    return _with_retries(replace(_HARVEST_LIMITS, total=source.timeout or _HARVEST_LIMITS.total))


def harvest_policy(source: SourceConfig) -> HostPolicy:
    """Return the rate at which a crawl may send requests to a host. A source may set its own."""
    return HostPolicy(source.concurrency or 8, source.requests_per_second or 50.0)


def brake_limits(source: SourceConfig, min_records: int) -> BrakeLimits:
    """Return how many deletions one job may make: the site's limits, unless the source sets its own.

    :param min_records: the source type's.
    """
    fraction, most = source.max_delete_fraction, source.max_deletions
    return BrakeLimits(
        float(option("harvest.max_delete_fraction")) if fraction is None else fraction,
        MAX_DELETIONS if most is None else most,
        min_records,
        absent_for=timedelta(days=source.absent_for),
        deletes=source.on_absence == "delete",
        delete_unlisted=source.delete_unlisted,
    )


def web(limits: Limits, *, is_check: bool = True) -> ClientSettings:
    """Return the settings of an HTTP client: the given limits, and the site's rules for connections.

    Checks speak as browsers do, since some servers have nothing for others. But some bot walls let programs
    pass and ask everything called Mozilla for a proof of work: checks then ask once more under the plain name.
    Sources of harvests expect programs.
    """
    bundle = option("ca_bundle")
    name, about_us = _name(), _about_us()
    plain_agent = f"{name} ({about_us})"
    browser_agent = f"Mozilla/5.0 (compatible; {name}; {about_us})"
    return ClientSettings(
        user_agent=browser_agent if is_check else plain_agent,
        plain_agent=plain_agent if is_check else None,
        languages=_languages() if is_check else None,
        limits=limits,
        guard=Guard(words("allowed_networks")),
        proxy=tk.config.get("ckan.download_proxy") or None,
        ca_bundle=Path(bundle) if bundle else None,
        insecure_hosts=frozenset(words("insecure_hosts")),
    )


def _name() -> str:
    """Return our name in the User-Agent. It avoids "link" and "checker", which some firewalls block."""
    return f"ckanext-freshness/{version('ckanext-freshness')}"


def _about_us() -> str:
    """Return the site's URL and its contact for the comment of a User-Agent (RFC 9110, section 5.6.5)."""
    site = parse_url(site_url()).url.translate(_IN_A_COMMENT)
    contact = option("contact")
    return f"+{site}; {contact}" if contact else f"+{site}"


_IN_A_COMMENT = str.maketrans({"(": "%28", ")": "%29"})


def _languages() -> str:
    """Return the Accept-Language of the site: its own language, then any other."""
    own = str(tk.config.get("ckan.locale_default") or "en").partition("@")[0].replace("_", "-")
    return f"{own}, *;q=0.5"


_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
_URL = re.compile(r"https?://[^\s()\\;\"<>]+", re.ASCII)


def contact(text: str) -> str:
    """Return an address or a URL that can stand in a User-Agent.

    :raises ValueError: it is neither
    """
    if not text or (text.isascii() and (_EMAIL.fullmatch(text) or _URL.fullmatch(text))):
        return text
    raise ValueError(f"must be an address or a URL in ASCII without brackets, not {text!r}")


@dataclass(frozen=True, slots=True)
class Checks:
    """The site's rules for checking URLs."""

    rules: SelectionRules
    """Which resources are checked, and when."""
    limits: Limits
    policy: HostPolicy
    policies: Mapping[str, HostPolicy]
    """The policies of hosts that have their own."""
    selection: str
    """The policy that selects resources, one of :data:`.checking.selection.POLICIES`."""
    per_run: int
    """Number of checks of a run by the policy ``learned``; 0 for as many as ``hdx`` would make."""


def checks() -> Checks:
    """Return the site's rules for checking URLs.

    :raises OptionError: ``ckan.site_url`` has no host.
    """
    policy = HostPolicy(
        int(option("connections")),
        float(option("requests_per_second")),
        failures=HOST_FAILURES,
    )
    rules = SelectionRules(
        adhoc_hosts=adhoc_hosts(),
        intervals=intervals(words("check_intervals")),
    )
    return Checks(
        rules=rules,
        limits=_with_retries(_CHECK_LIMITS),
        policy=policy,
        policies={
            host: replace(policy, connections=connections, per_second=per_second)
            for host, (connections, per_second) in host_limits(words("check.host_limits")).items()
        },
        selection=option("check.policy"),
        per_run=int(option("check.checks_per_run")),
    )


def adhoc_hosts() -> frozenset[str]:
    """Return the hosts, normalised, that generate files on request."""
    return ADHOC_HOSTS | hosts(words("check.adhoc_hosts"))


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


def _with_retries(limits: Limits) -> Limits:
    return replace(limits, attempts=1 + len(RETRY_DELAYS), backoff=RETRY_DELAYS)


def site_url() -> str:
    """Return the beginning of the site's URLs, without a slash at the end."""
    # url_for works only within requests, and adds the visitor's language.
    root = (tk.config.get("ckan.root_path") or "").replace("/{{LANG}}", "").rstrip("/")
    site = str(tk.config.get("ckan.site_url") or "").rstrip("/")
    return f"{site}{root}"

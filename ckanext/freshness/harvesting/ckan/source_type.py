"""The source type ``ckan_portal``: its configuration, and the crawl of a portal.

The keys are those of ckanext-harvest's harvester ``ckan``, with their meanings. A source of that type can be
switched to this one: its packages keep their ids, names and resource ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from ...translation import N_
from ..record import Sink
from ..source_client import SourceClient
from ..source_config import ConfigError, ReadValue, SourceConfig, boolean, one_of, texts
from ..source_type import CrawlEnd, CrawlInput, SourceType, editor_may, salt_of
from .api import FILTERS, CkanApi, site_of

_NAME = re.compile(r"[\w-]{1,200}")
_ID = re.compile(r"[\w-]+")
_NAMES = texts('a list of names of the portal, such as ["city-of-x"]', _NAME.fullmatch)
_SWITCH = one_of(("only_local", "create"))

PLACEHOLDERS = ("harvest_source_id", "harvest_source_url", "harvest_source_title", "dataset_id")
"""What default extras may contain in braces."""


def _extras(value: Any) -> dict[str, Any]:
    words = 'an object of keys and texts, such as {"source": "{harvest_source_url}"}'
    if not isinstance(value, dict) or not all(key.strip() for key in value):
        raise ValueError(words)
    for text in filter(lambda one: isinstance(one, str), value.values()):
        for name in re.findall(r"\{(\w*)\}", text):
            if name not in PLACEHOLDERS:
                listed = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
                raise ValueError(f"{words}; {{{name}}} is unknown, allowed are {listed}")
    return value


def _remote(value: Any) -> str | None:
    # Some sources write another value to have the portal's organizations or groups ignored.
    return None if value in ("", False, "ignore") else str(_SWITCH(value))


def _no_key(value: Any) -> None:
    raise ValueError(
        "left out, because everybody can read this configuration. Name the environment variable that has "
        'the key: "headers": {"Authorization": {"env": "NAME"}}'
    )


OWN_KEYS: Mapping[str, ReadValue] = {
    **dict.fromkeys(FILTERS, _NAMES),
    "remote_orgs": _remote,
    "remote_groups": _remote,
    "default_extras": _extras,
    "override_extras": boolean,
    "clean_tags": boolean,
    "force_all": boolean,
    "api_key": _no_key,
}


class CkanPortalType(SourceType):
    """Other CKAN portals."""

    name = "ckan_portal"
    title = N_("CKAN portal")
    description = N_(
        "Harvests the datasets of another CKAN, and deletes those that it no longer has"
    )
    adopts = ("ckan",)
    memory_form = r".* [0-9a-f]{16}$"
    own_keys = OWN_KEYS

    def check(self, config: SourceConfig) -> None:
        """Check the filters, and that the editor may create what the source creates."""
        mistakes = [
            f'"{kind}_filter_include" and "{kind}_filter_exclude" cannot be used together: remove one'
            for kind in ("organizations", "groups")
            if config.own.get(f"{kind}_filter_include") and config.own.get(f"{kind}_filter_exclude")
        ]
        # An organization is given datasets here, whoever its editors are.
        for key, values, kind in (
            ("remote_orgs", ("create", "only_local"), "organization"),
            ("remote_groups", ("create",), "group"),
        ):
            if config.own.get(key) in values and not editor_may(f"{kind}_create"):
                mistakes.append(f'"{key}": only users who may create {kind}s may set it')
        if mistakes:
            raise ConfigError(*mistakes)

    def has_organizations(self, config: SourceConfig) -> bool:
        """Return whether the portal's organizations become organizations here."""
        return config.own.get("remote_orgs") == "create"

    def url_of(self, source_url: str, guid: str) -> str | None:
        """Return the URL of a record of ckanext-harvest's harvester, whose guid is the dataset's id."""
        return site_of(source_url).url_of("dataset", guid) if _ID.fullmatch(guid) else None

    async def read(self, opened: SourceClient, given: CrawlInput, sink: Sink) -> CrawlEnd:
        from .crawl import crawl
        from .mapping import MAPPING_VERSION, MappingOptions

        source = given.source
        config, own = source.config, source.config.own
        options = MappingOptions(
            site=site_of(source.url).public,
            language=tk.config.get("ckan.locale_default") or "en",
            organizations=self.has_organizations(config),
            keep_owner=own.get("remote_orgs") == "only_local",
            groups=own.get("remote_groups"),
            default_extras=own.get("default_extras") or {},
            override_extras=own.get("override_extras", False),
            clean_tags=own.get("clean_tags", False),
            placeholders={
                "harvest_source_id": source.id,
                "harvest_source_url": source.url.strip("/"),
                "harvest_source_title": source.title,
            },
        )
        salt = salt_of(config, MAPPING_VERSION, options)
        api = CkanApi(opened, source.url, config.max_records)
        return await crawl(api, given, salt, options, sink)


CKAN_PORTAL = CkanPortalType()

"""Parts that all subjects of the benchmark of checks share, and our engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, ResourceToCheck
from ckanext.freshness.checking.hasher import ContentSandbox
from ckanext.freshness.checking.hdx_check import HdxTools, check_resources
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts

RATE = 50.0
"""Requests a second to a host: a real limit, but too high to slow the measurement down."""
REPEATS = 3


def by_host(urls: Iterable[str]) -> dict[str, list[str]]:
    """Return the URLs of each host, in their order."""
    found: dict[str, list[str]] = {}
    for url in urls:
        found.setdefault(url.split("/", 3)[2], []).append(url)
    return found


def addresses(number: int) -> list[str]:
    """Return loopback addresses of this machine, one for each host."""
    return [f"127.0.{10 + one // 200}.{one % 200 + 1}" for one in range(number)]


@dataclass(slots=True)
class Ours:
    """Our engine, with the state of each URL from run to run."""

    policy: HostPolicy
    limits: Limits
    memories: dict[str, KnownContent] = field(default_factory=dict)
    runners: int = 200

    def visit(self, urls: Iterable[str]) -> list[CheckResult]:
        """Check all URLs once."""
        return run(self._visit([self._of(url) for url in urls]))

    def _of(self, url: str) -> ResourceToCheck:
        memory = self.memories.get(url) or KnownContent()
        known = url in self.memories
        return ResourceToCheck(url, "bench", url, memory, format="CSV", has_shape=known)

    async def _visit(self, visits: list[ResourceToCheck]) -> list[CheckResult]:
        settings = ClientSettings("bench", limits=self.limits, guard=Guard(["127.0.0.0/8"]))
        found: list[CheckResult] = []
        with ContentSandbox() as sandbox:
            async with Client(settings, Hosts(self.policy), concurrency=self.runners) as client:
                tools = HdxTools(client, sandbox, _now)
                await check_resources(visits, tools, found.append, confirm_after=0.5)
        for finding in found:
            self.memories[finding.resource.url] = finding.memory
        return found


def _now() -> datetime:
    return datetime.now(timezone.utc)

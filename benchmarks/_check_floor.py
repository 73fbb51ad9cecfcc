"""The floor of a check: bare aiohttp with conditional GET and a hash, no rules, no database."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import aiohttp

from ckanext.freshness.web.exchange import Limits


@dataclass(slots=True)
class Floor:
    """The state of each URL: validators and hashes."""

    validators: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)

    async def visit(
        self, urls_by_host: Mapping[str, Sequence[str]], limits: Limits, *, per_host: int
    ) -> None:
        """Request all URLs, with ``per_host`` connections to each host."""
        timeout = aiohttp.ClientTimeout(
            total=limits.total, connect=limits.connect, sock_read=limits.read
        )
        connector = aiohttp.TCPConnector(limit=0, use_dns_cache=False)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

            async def runner(urls: deque[str]) -> None:
                while urls:
                    await self._one(session, urls.popleft(), limits)

            queues = [deque(urls) for urls in urls_by_host.values()]
            await asyncio.gather(*(runner(urls) for urls in queues for _ in range(per_host)))

    async def _one(self, session: aiohttp.ClientSession, url: str, limits: Limits) -> None:
        headers = {"If-None-Match": self.validators[url]} if url in self.validators else {}
        for attempt in range(limits.attempts):
            try:
                status = await self._ask(session, url, headers)
                if status == 412:
                    status = await self._ask(session, url, {})
                self.statuses[status] += 1
                return
            except asyncio.TimeoutError:
                if attempt + 1 < limits.attempts:
                    await asyncio.sleep(limits.backoff[attempt])
        self.statuses[0] += 1

    async def _ask(
        self, session: aiohttp.ClientSession, url: str, headers: Mapping[str, str]
    ) -> int:
        async with session.get(url, headers=headers) as response:
            if response.status != 200:
                return response.status
            if etag := response.headers.get("ETag"):
                self.validators[url] = etag
            digest = hashlib.sha256()
            async for piece in response.content.iter_any():
                digest.update(piece)
            self.hashes[url] = digest.hexdigest()
            return 200

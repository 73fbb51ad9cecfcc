"""The least that a cycle can cost: bare aiohttp, SHA-1 twice, zlib once, two files on the disk; bare HEADs."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp


async def _each(
    base: str, count: int, connections: int, ask: Callable[[str, int], Awaitable[None]]
) -> None:
    numbers = iter(range(count))

    async def runner() -> None:
        for number in numbers:
            await ask(f"{base}/files/{number}.xml", number)

    await asyncio.gather(*(runner() for _ in range(connections)))


async def _measure(base: str, count: int, connections: int, folder: Path) -> dict[str, float]:
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def download(url: str, number: int) -> None:
            async with session.get(url) as answer:
                body = await answer.read()
            hashlib.sha1(body).hexdigest()
            hashlib.sha1(body).hexdigest()
            packed = zlib.compress(body, 6)
            (folder / f"{number}.xml").write_bytes(body)
            (folder / f"{number}.z").write_bytes(packed)

        async def head(url: str, number: int) -> None:
            async with session.head(url):
                pass

        result = {}
        for name, ask in (("first", download), ("unchanged", head)):
            before, wall = time.process_time(), time.perf_counter()
            await _each(base, count, connections, ask)
            result[f"{name}_cpu_s"] = time.process_time() - before
            result[f"{name}_s"] = time.perf_counter() - wall
        return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--folder", required=True, help="where the files stay")
    options = parser.parse_args()
    made = Path(tempfile.mkdtemp(dir=options.folder))
    found = asyncio.run(_measure(options.base, options.count, options.connections, made))
    print(json.dumps(found))

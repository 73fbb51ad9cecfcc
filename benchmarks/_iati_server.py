"""Serves generated IATI files, with as little code as possible between socket and answer."""

from __future__ import annotations

import argparse
import asyncio

_LINE = (
    "  <iati-activity><title><narrative>Santé, eau potable et écoles n° {n}: ação №{n}</narrative>"
    '</title><transaction><value currency="EUR">{m}.{n:02d}</value></transaction></iati-activity>\n'
)
FILLER = "".join(_LINE.format(n=n, m=n * 7919 % 100_000) for n in range(1, 900)).encode()
BIG_BYTES = 1 << 30
"""Of the file that ``--big`` adds."""


def size_of(number: int) -> int:
    """Return a size from 5 to 100 KB, which follows from the number; 54 KB on average."""
    return 5_000 + number * 7919 % 97_000


def head_of(number: int, version: int) -> bytes:
    """Return the beginning of a file."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<iati-activities version="2.03" generated-datetime="2026-11-{1 + version:02d}T00:00:00Z">\n'
        f"  <!-- file {number}, edition {version} -->\n"
    ).encode()


TAIL = b"</iati-activities>\n"


class _Files:
    def __init__(self, count: int) -> None:
        self.count = count
        self.versions: dict[int, int] = {}

    def change(self, count: int) -> None:
        for number in range(count):
            self.versions[number] = self.versions.get(number, 1) + 1


class _Connection(asyncio.Protocol):
    def __init__(self, files: _Files) -> None:
        self._files = files
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._may_write = asyncio.Event()
        self._may_write.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            request, self._received = self._received[:end], self._received[end + 4 :]
            method, path, _ = request.split(b" ", 2)
            self._answer(method, path.decode())

    def _answer(self, method: bytes, path: str) -> None:
        files, name = self._files, path.strip("/").removesuffix(".xml")
        if name.startswith("change/"):
            files.change(int(name.removeprefix("change/")))
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return
        number = int(name.rpartition("/")[2])
        version = files.versions.get(number, 1)
        head = head_of(number, version)
        middle = BIG_BYTES if name.startswith("big/") else size_of(number)
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n"
            b'Last-Modified: Sun, 01 Nov 2026 00:00:%02d GMT\r\nETag: "v%d"\r\n'
            b"Content-Length: %d\r\n\r\n" % (version % 60, version, len(head) + middle + len(TAIL))
        )
        if method == b"HEAD":
            return
        if middle > len(FILLER):
            asyncio.get_running_loop().create_task(self._stream(head, middle))
        else:
            self._transport.write(head + FILLER[:middle] + TAIL)

    async def _stream(self, head: bytes, middle: int) -> None:
        self._transport.write(head)
        while middle:
            await self._may_write.wait()
            if self._transport.is_closing():
                return
            piece = FILLER[:middle]
            self._transport.write(piece)
            middle -= len(piece)
        self._transport.write(TAIL)


async def _serve(count: int) -> None:
    files = _Files(count)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(files), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    asyncio.run(_serve(parser.parse_args().count))

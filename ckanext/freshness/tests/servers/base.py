"""A real HTTP server on the loopback interface, in a thread of its own, that can misbehave.

`LoopbackServer` owns sockets, thread, request log and faults. What it serves is up to `answer`,
which a subclass gives: a plain function from a `Request` to an `Answer`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from typing_extensions import Self

    from ckanext.freshness.tests.servers.faults import Fault, FaultKey

#: Seconds for the thread to begin or to end before that counts as a fault of the server.
_THREAD_TIMEOUT = 60.0
#: Seconds that running handlers get at the end; 0 would mean for ever in aiohttp.
_SHUTDOWN_TIMEOUT = 0.01
_CONDITIONS = {"If-None-Match": "ETag", "If-Modified-Since": "Last-Modified"}


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived.

    `target` is the request target exactly as it was on the wire (RFC 9112, 3.2): path, and query
    if there is one, nothing decoded. `host` is the Host header, `at` is `time.monotonic()`.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    host: str
    at: float

    @property
    def path(self) -> str:
        """The target without its query, as it was on the wire."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query as it was on the wire; empty without one."""
        return self.target.partition("?")[2]


@dataclasses.dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered to its end: its status, and the fault that answered it, if one did."""

    request: Request
    status: int
    fault: Fault | None


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a healthy server says. Content-Length, Date and Server are added when it is sent."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def text(cls, text: str, content_type: str, status: int = 200) -> Answer:
        """An answer of UTF-8 text with this Content-Type."""
        return cls(status, text.encode(), {"Content-Type": content_type})

    def unless_known(self, request: Request) -> Answer:
        """304 to a client that sends back a validator as it got it."""
        for condition, validator in _CONDITIONS.items():
            sent = request.headers.get(condition)
            if sent is not None:
                is_known = sent == self.headers.get(validator)
                return Answer(304, b"", self.headers) if is_known else self
        return self

    def response(self) -> web.Response:
        """The same for aiohttp."""
        return web.Response(status=self.status, body=self.body, headers=self.headers)


class LoopbackServer:
    """A server on 127.0.0.1, or on further addresses of 127.0.0.0/8, in its own thread.

    The port is bound (given, or any free one) when the object is made, so `url` is known at once;
    `start` begins to listen.

    Attributes, all of which may be read and changed from any thread:
        requests: what was asked since the last `reset`, oldest first.
        answers: what was answered since then; connections that a fault broke are left out.
        faults: which requests are answered wrongly, see `ckanext.freshness.tests.servers.faults`.
        latency: seconds that each request waits before it is looked at.
        peak: the most requests that were in work at the same time since the last `reset`.
        connections: TCP connections accepted since the last `reset`.
        failures: exceptions of `answer` itself; leaving the `with` block raises the first.
    """

    def __init__(self, *, port: int = 0, address: str = "127.0.0.1") -> None:
        self.requests: list[Request] = []
        self.answers: list[Answered] = []
        self.faults: dict[FaultKey, Fault] = {}
        self.latency = 0.0
        self.peak = 0
        self.connections = 0
        self.failures: list[Exception] = []
        self._in_work = 0
        self._news = threading.Condition()
        self._sockets: dict[str, socket.socket] = {address: _bound_socket(address, port)}
        self.address = address
        self.port: int = self._sockets[address].getsockname()[1]
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._manager: web.Server | None = None
        self._listeners: list[asyncio.Server] = []

    # What a subclass gives

    def answer(self, request: Request) -> Answer:
        """The healthy answer to a request; runs in the server's thread, so it must not block."""
        raise NotImplementedError

    # Addresses

    @property
    def url(self) -> str:
        """`http://ADDRESS:PORT`, without a slash at the end."""
        return f"http://{self.address}:{self.port}"

    def url_at(self, address: str) -> str:
        """The same server as another host: `http://ADDRESS:PORT` for an address like 127.0.0.2.

        Raises OSError if that address is not a local one or has the port in use.
        """
        if address not in self._sockets:
            sock = _bound_socket(address, self.port)
            self._sockets[address] = sock
            if self._loop is not None:
                asyncio.run_coroutine_threadsafe(self._listen(sock), self._loop).result(
                    _THREAD_TIMEOUT
                )
        return f"http://{address}:{self.port}"

    # Life

    def start(self) -> None:
        """Listen."""
        if self._thread is not None:
            raise RuntimeError(f"The server at {self.url} is running already.")
        listening: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)),
            name=f"server {self.url}",
            daemon=True,
        )
        self._thread.start()
        try:
            listening.result(_THREAD_TIMEOUT)
        except BaseException:
            self._thread.join(_THREAD_TIMEOUT)
            self._thread = None
            raise

    def stop(self) -> None:
        """Stop listening, drop every connection and end the thread. Twice is as good as once."""
        if self._thread is None:
            self._close_sockets()
            return
        assert self._loop is not None and self._stopping is not None
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_THREAD_TIMEOUT)
        if self._thread.is_alive():
            raise RuntimeError(f"The server at {self.url} did not stop.")
        self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        if self.failures and error is None:
            raise RuntimeError(f"The server at {self.url} failed to answer.") from self.failures[0]

    # What was asked

    def count(self, prefix: str = "", method: str | None = None) -> int:
        """How many logged requests have a target that begins so, of one method or of all."""
        return sum(
            request.target.startswith(prefix) and method in (None, request.method)
            for request in list(self.requests)
        )

    def wait_for(self, prefix: str = "", times: int = 1, timeout: float = 60.0) -> None:
        """Wait until so many requests with such a target have arrived.

        Raises TimeoutError after a minute.
        """
        with self._news:
            if not self._news.wait_for(lambda: self.count(prefix) >= times, timeout):
                raise TimeoutError(
                    f"{self.url} got {self.count(prefix)} of {times} requests for {prefix or '/'}"
                    f" within {timeout} s."
                )

    def wait_until_idle(self) -> None:
        """Wait until no request is in work: all were answered, or their clients have gone.

        Raises TimeoutError after a minute.
        """
        with self._news:
            if not self._news.wait_for(lambda: self._in_work == 0, 60):
                raise TimeoutError(f"{self.url} still works on {self._in_work} requests.")

    def reset(self) -> None:
        """Forget what was asked; content and faults stay."""
        self.requests = []
        self.answers = []
        self.peak = 0
        self.connections = 0

    # In the server's thread

    async def _serve(self, listening: concurrent.futures.Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._manager = _CountingServer(self)
        try:
            for sock in self._sockets.values():
                await self._listen(sock)
            listening.set_result(None)
            await self._stopping.wait()
        except OSError as error:
            listening.set_exception(error)
        finally:
            for listener in self._listeners:
                listener.close()
            self._listeners.clear()
            await self._manager.shutdown(_SHUTDOWN_TIMEOUT)
            self._close_sockets()
            self._loop = None

    async def _listen(self, sock: socket.socket) -> None:
        assert self._loop is not None and self._manager is not None
        self._listeners.append(
            await self._loop.create_server(self._manager, sock=sock, backlog=1024)
        )

    def _close_sockets(self) -> None:
        for sock in self._sockets.values():
            sock.close()

    async def handle(self, received: web.BaseRequest) -> web.StreamResponse:
        """Answer one request of aiohttp's: log, latency, fault or healthy answer."""
        request = Request(
            received.method, received.raw_path, received.headers, received.host, time.monotonic()
        )
        with self._news:
            self.requests.append(request)
            self._in_work += 1
            self.peak = max(self.peak, self._in_work)
            self._news.notify_all()
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            fault = self._fault_for(request) if self.faults else None
            if fault is None:
                response: web.StreamResponse = self.healthy(request).response()
            else:
                response = await fault.respond(Exchange(self, request, received))
            self.answers.append(Answered(request, response.status, fault))
            return response
        finally:
            with self._news:
                self._in_work -= 1
                self._news.notify_all()

    def _fault_for(self, request: Request) -> Fault | None:
        for fault in self._matching_faults(request):
            if fault.strikes():
                return fault
        return None

    def _matching_faults(self, request: Request) -> Iterable[Fault]:
        """The exact target, then the path, then predicates in the order they were set."""
        faults = self.faults.copy()
        for named in dict.fromkeys((request.target, request.path)):
            if named in faults:
                yield faults[named]
        for key, fault in faults.items():
            if not isinstance(key, str) and key(request):
                yield fault

    def healthy(self, request: Request) -> Answer:
        """Return the answer without faults."""
        try:
            return self.answer(request)
        except Exception as error:
            self.failures.append(error)
            raise


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """What a fault needs: the request, aiohttp's view of it, and the answer it spoils."""

    server: LoopbackServer
    request: Request
    received: web.BaseRequest

    def healthy(self) -> Answer:
        """What would have been answered."""
        return self.server.healthy(self.request)

    @property
    def transport(self) -> asyncio.Transport:
        """The connection, for those who write past HTTP. Raises ConnectionError if it is gone."""
        transport = self.received.transport
        if transport is None:
            raise ConnectionResetError(f"The client of {self.request.target} is gone.")
        return transport


class _CountingServer(web.Server):
    """aiohttp's server of low level, without routes; counts connections for its owner."""

    def __init__(self, owner: LoopbackServer) -> None:
        super().__init__(owner.handle, access_log=None, handler_cancellation=True)
        self._owner = owner

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        self._owner.connections += 1
        super().connection_made(handler, transport)


_given_ports: set[int] = set()
"""Ports of earlier servers. The URL of an earlier server may still belong to a harvest source."""


def _bound_socket(address: str, port: int) -> socket.socket:
    while True:
        given = port or _free_port()
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, given))
        except OSError:
            sock.close()
            if port:
                raise
            continue
        if port or given not in _given_ports:
            _given_ports.add(given)
            return sock
        sock.close()


def _free_port() -> int:
    """Return a port that is free at all addresses: `url_at` listens there, too."""
    with socket.socket() as anywhere:
        anywhere.bind(("", 0))
        port: int = anywhere.getsockname()[1]
        return port

"""A real mail server on the loopback interface, in a thread of its own, that can misbehave."""

from __future__ import annotations

import asyncio
import dataclasses
import email
import email.policy
import socket
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

if TYPE_CHECKING:
    import ssl

    from aiosmtpd.smtp import SMTP, Envelope, Session
    from typing_extensions import Self


@dataclasses.dataclass(frozen=True, slots=True)
class Received:
    """A mail that the server has taken: for whom, as it came over the wire, and as it is understood."""

    to: tuple[str, ...]
    raw: bytes
    message: EmailMessage

    def part(self, subtype: str) -> str:
        """The text of its plain or HTML part."""
        part = self.message.get_body((subtype,))
        assert part is not None
        return cast(EmailMessage, part).get_content()


class MailHost:
    """A mail server on 127.0.0.1, at a port of its own.

    Listens from ``__enter__`` to ``__exit__``, and may :meth:`stop` earlier.

    :ivar mails: those that it has taken
    :ivar refused: recipients that it answers 550, or another code
    :ivar most: the mails after which it closes a connection; None for any number
    :ivar silent_at: a command to which it never answers for some recipients: ``EHLO``, ``MAIL`` and ``RSET``
        (for all), ``RCPT``, ``DATA`` (having read the mail, which it keeps in `swallowed`)
    :ivar silent_for: these recipients; None for all
    :ivar dies_at: a command, ``RCPT`` or ``DATA``, and the recipient at which it cuts the connection and stops
        listening
    :ivar logins: names and passwords that it was given
    """

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, login: tuple[bytes, bytes] | None = None
    ) -> None:
        """Make a server.

        :param tls: for STARTTLS, without which it then takes nothing
        :param login: the name and password that it wants
        """
        self._options: dict[str, Any] = {"tls_context": tls, "require_starttls": tls is not None}
        if login is not None:
            self._options |= {"auth_required": True, "authenticator": self._authenticate}
        self._login = login
        self.logins: list[tuple[bytes, bytes]] = []
        self.mails: list[Received] = []
        self.swallowed: list[Received] = []
        self.refused: dict[str, int] = {}
        self.most: int | None = None
        self.silent_at: str | None = None
        self.silent_for: frozenset[str] | None = None
        self.dies_at: tuple[str, str] | None = None
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._controller: _Controller | None = None

    def __enter__(self) -> Self:
        self._controller = _Controller(self._socket, self, self._options)
        self._controller.start()
        # The controller looks whether it can be reached.
        self.connections = 0
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Listen no more."""
        if self._controller is not None:
            self._controller.stop()
            self._controller = None
        self._socket.close()

    def to(self, address: str) -> list[Received]:
        """The mails for an address."""
        return [one for one in self.mails if address in one.to]

    # What aiosmtpd calls.

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, answers: list[str]
    ) -> list[str]:
        self.connections += 1
        session.host_name = hostname
        await self._maybe_silent("EHLO", ())
        return answers

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        await self._maybe_silent("MAIL", ())
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self._maybe_die(server, "RCPT", (address,))
        await self._maybe_silent("RCPT", (address,))
        if address in self.refused:
            return f"{self.refused[address]} no such person here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        raw = cast(bytes, envelope.content)
        message = email.message_from_bytes(raw, policy=cast(Any, email.policy.default))
        to = tuple(envelope.rcpt_tos)
        self._maybe_die(server, "DATA", to)
        received = Received(to, raw, cast(EmailMessage, message))
        if self._is_silent("DATA", to):
            self.swallowed.append(received)
        await self._maybe_silent("DATA", to)
        self.mails.append(received)
        if self.most is not None and len(self.mails) % self.most == 0:
            # After the answer.
            asyncio.get_running_loop().call_soon(cast(Any, server).transport.close)
        return "250 OK"

    async def handle_RSET(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        await self._maybe_silent("RSET", ())
        return "250 OK"

    def _authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: Any
    ) -> AuthResult:
        self.logins.append((given.login, given.password))
        return AuthResult(success=self.logins[-1] == self._login, handled=False)

    def _maybe_die(self, server: SMTP, command: str, to: tuple[str, ...]) -> None:
        if self.dies_at in {(command, address) for address in to}:
            cast(Any, self._controller).server.close()
            cast(Any, server).transport.abort()

    def _is_silent(self, command: str, to: tuple[str, ...]) -> bool:
        concerned = self.silent_for is None or bool(self.silent_for.intersection(to))
        return self.silent_at == command and concerned

    async def _maybe_silent(self, command: str, to: tuple[str, ...]) -> None:
        if self._is_silent(command, to):
            await asyncio.Event().wait()


class _Controller(Controller):
    """On a socket that is bound already, so that its port is known and nobody else's."""

    def __init__(self, sock: socket.socket, handler: MailHost, options: dict[str, Any]) -> None:
        host, port = sock.getsockname()
        super().__init__(handler, hostname=host, port=port, ready_timeout=60, **options)
        self._bound = sock

    def _create_server(self) -> Any:
        return self.loop.create_server(self._factory_invoker, sock=self._bound)

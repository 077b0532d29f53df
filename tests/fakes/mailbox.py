"""A real SMTP server (aiosmtpd) on loopback, which keeps what it is given and can be told to fail."""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from typing import Any, Literal, Self, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

type Fault = str | Literal["hang up", "take and hang up"]
"""An answer to DATA ("451 later"); or the connection ends there, before or after the mail was kept."""


@dataclass
class Mailbox:
    """`async with Mailbox() as mailbox: … mailbox.port … mailbox.mails`."""

    login: tuple[str, str] | None = None
    """The only user and password; None: nobody logs in."""
    tls: ssl.SSLContext | None = None
    """Offers STARTTLS."""
    implicit: bool = False
    """TLS from the first byte."""
    refuse_recipient: str = ""
    """An answer to RCPT."""
    mails: list[EmailMessage] = field(default_factory=list[EmailMessage])
    envelopes: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    logins: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    """User, password, whether the connection was encrypted."""
    faults: deque[Fault] = field(default_factory=deque[Fault])
    """Of the next mails."""
    encrypted: list[bool] = field(default_factory=list[bool])
    port: int = 0
    _open: list[SMTP] = field(default_factory=list[SMTP])

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """On the port it had, if it ran before."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._protocol, "127.0.0.1", self.port, ssl=self.tls if self.implicit else None
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        for protocol in self._open:
            if isinstance(protocol.transport, asyncio.WriteTransport):
                protocol.transport.abort()
        await self._server.wait_closed()

    @property
    def texts(self) -> list[str]:
        return [mail.get_content().replace("\r\n", "\n").rstrip("\n") for mail in self.mails]

    def _protocol(self) -> SMTP:
        offered = None if self.implicit else self.tls
        protocol = SMTP(
            self, hostname="mailbox", tls_context=offered, authenticator=self._authenticate,
            auth_require_tls=False, loop=asyncio.get_running_loop(),
        )  # fmt: skip
        self._open.append(protocol)
        return protocol

    def _authenticate(
        self, _server: SMTP, session: Session, _envelope: Envelope, _mechanism: str, given: Any
    ) -> AuthResult:
        found = cast("LoginPassword", given)
        user, password = found.login.decode(), found.password.decode()
        self.logins.append((user, password, self.implicit or session.ssl is not None))
        return AuthResult(success=(user, password) == self.login, handled=False)

    async def handle_RCPT(  # noqa: N802 — aiosmtpd's name
        self, _server: SMTP, session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.login is not None and not session.authenticated:
            return "530 log in first"
        if self.refuse_recipient:
            return self.refuse_recipient
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        fault = self.faults.popleft() if self.faults else ""
        if fault == "hang up" or fault[:1].isdigit():
            return self._end(server, fault)
        content = envelope.content
        assert isinstance(content, bytes)
        self.mails.append(message_from_bytes(content, policy=SMTP_POLICY))  # pyright: ignore[reportArgumentType, reportCallIssue]
        self.envelopes.append((envelope.mail_from or "", envelope.rcpt_tos))
        self.encrypted.append(self.implicit or session.ssl is not None)
        return self._end(server, fault) if fault else "250 OK"

    def _end(self, server: SMTP, fault: Fault) -> str:
        if fault[:1].isdigit():
            return fault
        transport = server.transport
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()
        return "250 never heard"

"""Where alerts are mailed, and by which server: the settings, checked. Pure but for this machine's name."""

import re
import socket
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from infra.settings import BadSetting, Settings
from infra.settings_sources import shown

type Tls = Literal["implicit", "required", "offered"]
"""implicit: from the first byte. required: STARTTLS, or no mail is sent. offered: STARTTLS if the server has it."""

ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
"""The plain form of RFC 5321, which every server takes: ASCII, nothing quoted."""
HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
IMPLICIT_PORT, SUBMISSION_PORT = 465, 587
"""RFC 8314, RFC 6409."""
NO_PASSWORD = SecretStr("")


@dataclass(frozen=True, slots=True)
class MailSettings:
    """Everything that a mail to the owner needs."""

    to: str
    sender: str
    """ASCII address; its name is koi."""
    host: str
    port: int
    tls: Tls
    check_certificate: bool = True
    user: str = ""
    """ "": no login."""
    password: SecretStr = NO_PASSWORD


@dataclass(frozen=True, slots=True)
class _Server:
    host: str
    port: int
    user: str
    password: SecretStr = field(repr=False)
    implicit: bool
    name: str
    """Of the setting that named it."""


def mail_settings(settings: Settings) -> MailSettings | None:
    """None: no alerts by mail. To be asked only in a process that sends them; others are not given the SMTP settings.

    A password never leaves this machine unencrypted: a server elsewhere must have TLS if there is one. Certificates are
    checked, except on loopback, where a relay's self-made one protects from nobody.

    Raises: BadSetting: an address or a server that cannot work.
    """
    to = settings.alert_email.strip()
    if not to:
        return None
    if not ADDRESS.fullmatch(to) or len(to) > 254:
        raise BadSetting(f"KOI_ALERT_EMAIL is {shown(to)}; it must be one mail address like me@example.org")
    server = _from_url(settings.smtp_url) if settings.smtp_url.get_secret_value() else _from_parts(settings)
    if settings.smtp_host and settings.smtp_url.get_secret_value():
        raise BadSetting("SMTP_URL and SMTP_HOST are both set; it must be one of them")
    _check_login(server)
    here = is_loopback(server.host)
    tls: Tls = "implicit" if server.implicit else "required" if server.user and not here else "offered"
    return MailSettings(
        to, _sender(server.user), server.host, server.port, tls, check_certificate=not here,
        user=server.user, password=server.password,
    )  # fmt: skip


def is_loopback(host: str) -> bool:
    """By its name alone, so that no resolver has a say."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def this_host() -> str:
    """This machine's name as a mail may carry it."""
    name = socket.gethostname()
    return name if ADDRESS.fullmatch(f"koi@{name}") else "localhost"


def _from_url(url: SecretStr) -> _Server:
    try:
        parts = urlsplit(url.get_secret_value())
        port = parts.port
    except ValueError as error:
        raise BadSetting("SMTP_URL must end with a port from 1 to 65535, if with any") from error
    if parts.scheme not in {"smtp", "smtps"} or parts.path.strip("/") or parts.query or parts.fragment:
        raise BadSetting("SMTP_URL must be like smtps://user:password@mail.example.org (or smtp://)")
    if not HOST.fullmatch(parts.hostname or ""):
        raise BadSetting("SMTP_URL must name a mail server, like smtps://user:password@mail.example.org")
    implicit = parts.scheme == "smtps"
    return _Server(
        parts.hostname or "",
        port or (IMPLICIT_PORT if implicit else SUBMISSION_PORT),
        unquote(parts.username or ""),
        SecretStr(unquote(parts.password or "")),
        implicit or port == IMPLICIT_PORT,
        "SMTP_URL",
    )


def _from_parts(settings: Settings) -> _Server:
    host = settings.smtp_host.strip().removeprefix("[").removesuffix("]")
    if not host:
        raise BadSetting("SMTP_HOST is not set; KOI_ALERT_EMAIL needs a server that takes mail (or SMTP_URL)")
    if not HOST.fullmatch(host):
        raise BadSetting(f"SMTP_HOST is {shown(host)}; it must be the name of a mail server")
    implicit = settings.smtp_port == IMPLICIT_PORT
    return _Server(host, settings.smtp_port, settings.smtp_user, settings.smtp_password, implicit, "")


def _check_login(server: _Server) -> None:
    """Raises: BadSetting: half a login, or one that no line of SMTP can carry."""
    password = server.password.get_secret_value()
    if server.name:
        if bool(server.user) != bool(password):
            raise BadSetting(f"{server.name} must have both user and password, or neither")
    elif server.user and not password:
        raise BadSetting("SMTP_PASSWORD is not set; SMTP_USER needs it")
    elif password and not server.user:
        raise BadSetting("SMTP_USER is not set; SMTP_PASSWORD needs it")
    for name, value in (("SMTP_USER", server.user), ("SMTP_PASSWORD", password)):
        if not value.isprintable():
            raise BadSetting(f"{server.name or name} must not hold line ends or other control characters")


def _sender(user: str) -> str:
    """Most servers let a user send under their own address only."""
    return user if ADDRESS.fullmatch(user) else f"koi@{this_host()}"

"""One mail, handed to an SMTP server. The only file that imports aiosmtplib (3 MB, 0.2 s), imported when a mail waits."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime

import aiosmtplib

from infra.clean import clean
from schemas.mail import Mail
from workers.delivery import Delivery, NotSent, Sent, Unsure
from workers.mail_settings import MailSettings, this_host

ANSWER_S = 15.0
"""How long the server may take for one answer."""
GOODBYE_S = 2.0
WHOLE_S = 60.0
"""For everything, so that the lease (workers.post) outlives it."""

type Announce = Callable[[], Awaitable[bool]]
"""Awaited before the text goes out; False: do not send, another worker has the mail."""


async def deliver(mail: Mail, settings: MailSettings, announce: Announce) -> Delivery:
    """Raises what `announce` raises; all else is told in the Delivery, without the server's words."""
    client = aiosmtplib.SMTP(
        hostname=settings.host,
        port=settings.port,
        username=settings.user or None,
        password=settings.password.get_secret_value() or None,
        use_tls=settings.tls == "implicit",
        start_tls={"implicit": False, "required": True, "offered": None}[settings.tls],
        validate_certs=settings.check_certificate,
        local_hostname=this_host(),
        timeout=ANSWER_S,
    )
    handed_over = False
    try:
        async with asyncio.timeout(WHOLE_S):
            await client.connect()
            await client.mail(settings.sender)
            await client.rcpt(settings.to)
            if not await announce():
                return NotSent("another worker has it")
            handed_over = True
            await client.data(message_of(mail, settings).as_bytes())
    except aiosmtplib.SMTPDataError as error:
        return NotSent(_reason(error), hopeless=error.code >= 500)
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
        return Unsure(_reason(error)) if handed_over else NotSent(_reason(error))
    else:
        await _part(client)
        return Sent()
    finally:
        client.close()


async def _part(client: aiosmtplib.SMTP) -> None:
    """Say goodbye; the mail is taken, whatever becomes of that."""
    with suppress(aiosmtplib.SMTPException, OSError):
        await client.quit(timeout=GOODBYE_S)


def message_of(mail: Mail, settings: MailSettings) -> EmailMessage:
    """Plain text, ASCII on the wire whatever it says."""
    message = EmailMessage(policy=SMTP_POLICY)
    domain = settings.sender.rpartition("@")[2]
    message["From"] = Address("koi", addr_spec=settings.sender)
    message["To"] = Address(addr_spec=settings.to)
    message["Subject"] = " ".join(clean(mail.subject).split())
    message["Date"] = format_datetime(datetime.fromtimestamp(mail.at_ms / 1000, UTC))
    message["Message-ID"] = f"<{mail.id}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(clean(mail.text), cte="quoted-printable")
    return message


def _reason(error: Exception) -> str:
    """What kind of failure it was, with its code; a server's words may hold an address."""
    code = f" {error.code}" if isinstance(error, aiosmtplib.SMTPResponseException) else ""
    return type(error).__name__ + code

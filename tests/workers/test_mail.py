"""Alerts by mail, through a real SMTP server."""

import asyncio
import ssl
import subprocess
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from infra import keys
from infra.people import PeopleCache, save_person
from infra.settings import Settings
from schemas.mail import Mail
from schemas.person import Person
from schemas.wire import dump, load
from tests.fakes.mailbox import Mailbox
from tests.workers.stage import APRIL_5_14_23, House
from workers.alert_text import FellBack, NobodyAnswered
from workers.alerts import back_again, tell_owner
from workers.delivery import GIVEN_UP_MS, NotSent, Sent
from workers.mail_settings import MailSettings
from workers.outgoing import Place
from workers.post import LEASE_MS, Post, send_mails
from workers.services import Services
from workers.smtp import deliver, message_of

PLACE = Place("7", "42")
T = APRIL_5_14_23
MAIL = Mail(id="0123", at_ms=T, subject="koi: überlastet", text="⚠ a: überlastet\n.\nEnde")


def mailing_to(mailbox: Mailbox, **changes: object) -> MailSettings:
    settings = MailSettings(
        "me@example.org", "koi@example.org", "127.0.0.1", mailbox.port, "offered", check_certificate=False
    )
    return replace(settings, **changes)  # pyright: ignore[reportArgumentType]


def with_mail(house: House, mailbox: Mailbox, **changes: object) -> Services:
    return replace(house.services, mail=mailing_to(mailbox, **changes))


async def waiting(house: House) -> list[Mail]:
    return [load(Mail, raw) for raw in await house.redis.lrange(keys.mails(), 0, -1)]


async def pause_over(house: House) -> None:
    await house.redis.delete(keys.once("mail:pause"))


async def yes() -> bool:
    return True


# ── from an alert to the mailbox ─────────────────────────────────────────────────────────────────────────────────
async def test_an_alert_and_its_all_clear_are_mailed_too(house: House) -> None:
    async with Mailbox() as mailbox:
        s = with_mail(house, mailbox)
        for _ in range(3):
            await tell_owner(s, FellBack("sonnet", "overloaded", T, "haiku"), PLACE)
        await send_mails(s)
        await back_again(s, "sonnet", PLACE)
        await send_mails(s)

    alert, clear = mailbox.mails
    assert mailbox.texts == [reply.text for reply in await house.replies("7:1:0")]
    assert alert["subject"] == "koi: sonnet: overloaded since 5 Apr, 14:23. haiku answers now."
    assert clear["subject"].startswith("koi: sonnet answers again")
    assert (alert["from"], alert["to"]) == ("koi <koi@example.org>", "me@example.org")
    assert parsedate_to_datetime(alert["date"]).timestamp() * 1000 == T
    assert alert["auto-submitted"] == "auto-generated"
    assert mailbox.envelopes[0] == ("koi@example.org", ["me@example.org"])
    assert await house.redis.exists(keys.mails()) == 0


async def test_without_an_owner_the_mail_still_goes_and_from_a_terminal_too(house: House) -> None:
    people = PeopleCache(house.redis, Settings(), house.services.clock)
    async with Mailbox() as mailbox:
        s = replace(with_mail(house, mailbox), people=people, language="de")
        await tell_owner(s, NobodyAnswered("x", "sonnet", "timeout", T), Place("local", "local:jo"))
        await send_mails(s)
        await back_again(s, "sonnet", PLACE)
        await send_mails(s)

    assert mailbox.texts[0] == "⚠ Kein Modell antwortet. x"
    assert mailbox.texts[1].startswith("✓ sonnet antwortet wieder")
    assert await house.redis.exists(keys.outbox_queue("7")) == 0


async def test_a_mail_is_in_the_language_of_the_owner(house: House) -> None:
    await save_person(house.redis, Person(user_id="5", role="owner", language="de"))
    people = PeopleCache(house.redis, Settings(), house.services.clock)

    s = replace(house.services, people=people, mail=mailing_to(Mailbox()))
    await tell_owner(s, NobodyAnswered("x"), PLACE)

    assert (await waiting(house))[0].subject == "koi: Kein Modell antwortet. x"


async def test_only_the_newest_hundred_wait(house: House) -> None:
    s = replace(house.services, mail=mailing_to(Mailbox()))
    for number in range(103):
        await tell_owner(s, FellBack("m", str(number), T, "n"), PLACE)

    left = await waiting(house)
    assert len(left) == 100
    assert left[-1].subject.startswith("koi: m: 102 ")


# ── the queue ────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_server_that_is_away_is_tried_again_until_it_is_back(house: House) -> None:
    async with Mailbox() as mailbox:
        s = with_mail(house, mailbox)
        await tell_owner(s, NobodyAnswered("x"), PLACE)
        await mailbox.stop()
        await send_mails(s)
        paused_ms = await house.redis.pttl(keys.once("mail:pause"))
        await mailbox.start()
        await send_mails(s)
        too_early = len(mailbox.mails)
        await pause_over(house)
        await send_mails(s)

    assert 20_000 < paused_ms <= 30_000
    assert too_early == 0
    assert mailbox.texts == ["⚠ No model answers. x"]


async def test_two_workers_at_once_send_each_mail_once(house: House) -> None:
    async with Mailbox() as mailbox:
        s = with_mail(house, mailbox)
        for number in range(5):
            await tell_owner(s, FellBack("m", str(number), T, "n"), PLACE)
        for _ in range(5):
            await asyncio.gather(*(send_mails(s) for _ in range(4)))

    assert len(mailbox.mails) == 5
    assert [mail["subject"][8] for mail in mailbox.mails] == list("01234")


async def test_the_answer_being_lost_a_mail_is_sent_once_more_under_the_same_id_and_then_left(
    house: House,
) -> None:
    async with Mailbox() as mailbox:
        s = with_mail(house, mailbox)
        mailbox.faults.extend(["take and hang up"] * 3)
        await tell_owner(s, NobodyAnswered("x"), PLACE)
        for _ in range(4):
            await send_mails(s)
            await pause_over(house)

    assert len(mailbox.mails) == 2
    assert len({mail["message-id"] for mail in mailbox.mails}) == 1
    assert await waiting(house) == []


async def test_a_worker_that_died_after_handing_over_counts_as_a_lost_answer(house: House) -> None:
    async with Mailbox() as mailbox:
        s = with_mail(house, mailbox)
        await tell_owner(s, NobodyAnswered("x"), PLACE)
        dead = Post(house.redis, "dead")
        raw = await dead.take()
        (mail,) = await waiting(house)
        await dead.mark(raw, dump(mail.model_copy(update={"unsure": 1})))
        await send_mails(s)
        while_leased = len(mailbox.mails)
        await house.redis.delete(keys.once("mail:lease"))  # it ended
        await send_mails(s)

    assert (while_leased, len(mailbox.mails)) == (0, 1)
    assert await waiting(house) == []


async def test_a_lease_ends_and_who_lost_it_changes_nothing(house: House) -> None:
    await house.redis.rpush(keys.mails(), dump(MAIL))
    slow, other = Post(house.redis, "slow"), Post(house.redis, "other")
    raw = await slow.take()
    ttl_ms = await house.redis.pttl(keys.once("mail:lease"))
    await house.redis.delete(keys.once("mail:lease"))
    await other.take()

    assert 0 <= LEASE_MS - ttl_ms < 10_000
    assert not await slow.mark(raw, b"{}")
    assert not await slow.settle(raw)
    assert await waiting(house) == [MAIL]


@pytest.mark.parametrize(
    ("answer", "left"),
    [pytest.param("554 spam", 0, id="for good"), pytest.param("451 later", 1, id="for now")],
)
async def test_a_mail_that_a_server_refuses_does_not_stand_in_the_way_of_others(
    house: House, answer: str, left: int
) -> None:
    async with Mailbox() as mailbox:
        s = with_mail(house, mailbox)
        mailbox.faults.append(answer)
        await house.redis.rpush(keys.mails(), dump(MAIL), dump(MAIL.model_copy(update={"text": "second"})))
        await send_mails(s)

    assert [mail.unsure for mail in await waiting(house)] == [0] * 2 * left
    assert mailbox.texts == ["second"][left:]


async def test_a_mail_is_dropped_after_a_day(house: House) -> None:
    async with Mailbox() as mailbox:
        await house.redis.rpush(keys.mails(), dump(MAIL))
        house.now_ms = T + GIVEN_UP_MS
        await send_mails(with_mail(house, mailbox))

    assert (mailbox.mails, await waiting(house)) == ([], [])


async def test_a_mail_that_cannot_be_read_is_dropped_and_a_newer_one_left(house: House) -> None:
    async with Mailbox() as mailbox:
        newer = b'{"v": 99}'
        await house.redis.rpush(keys.mails(), "{", newer)
        await send_mails(with_mail(house, mailbox))

    assert await house.redis.lrange(keys.mails(), 0, -1) == [newer]
    assert await house.redis.exists(keys.once("mail:lease")) == 0
    assert 0 < await house.redis.pttl(keys.once("mail:pause")) <= 5_000


async def test_without_mail_settings_nothing_is_queued_or_sent(house: House) -> None:
    await tell_owner(house.services, NobodyAnswered("x"), PLACE)
    await send_mails(house.services)

    assert await house.redis.exists(keys.mails()) == 0


# ── the server ───────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_refused_recipient_is_no_mail(house: House) -> None:
    async with Mailbox(refuse_recipient="550 nobody of that name") as mailbox:
        delivery = await deliver(MAIL, mailing_to(mailbox), yes)

    assert delivery == NotSent("SMTPRecipientRefused 550")


async def test_without_the_lease_no_text_goes_out(house: House) -> None:
    async def no() -> bool:
        return False

    async with Mailbox() as mailbox:
        delivery = await deliver(MAIL, mailing_to(mailbox), no)

    assert isinstance(delivery, NotSent)
    assert mailbox.mails == []


async def test_a_password_is_not_given_to_a_server_without_tls() -> None:
    login = {"user": "koi", "password": SecretStr("s3cret")}
    async with Mailbox(login=("koi", "s3cret")) as mailbox:
        refused = await deliver(MAIL, mailing_to(mailbox, **login, tls="required"), yes)
        attempts = len(mailbox.logins)
        taken = await deliver(MAIL, mailing_to(mailbox, **login), yes)  # as on loopback

    assert isinstance(refused, NotSent)
    assert (attempts, taken) == (0, Sent())
    assert mailbox.logins[-1] == ("koi", "s3cret", False)


async def test_a_wrong_password_is_no_mail_and_not_in_the_reason() -> None:
    async with Mailbox(login=("koi", "other")) as mailbox:
        settings = mailing_to(mailbox, user="koi", password=SecretStr("s3cret"))
        delivery = await deliver(MAIL, settings, yes)

    assert delivery == NotSent("SMTPAuthenticationError 535")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for localhost that nobody else trusts, and a server's context with it."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


@pytest.mark.parametrize("implicit", [False, True], ids=["STARTTLS", "implicit"])
async def test_a_certificate_must_be_trusted(
    certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch, *, implicit: bool
) -> None:
    file, context = certificate
    async with Mailbox(login=("koi", "s3cret"), tls=context, implicit=implicit) as mailbox:
        settings = mailing_to(
            mailbox, host="localhost", user="koi", password=SecretStr("s3cret"), check_certificate=True,
            tls="implicit" if implicit else "required",
        )  # fmt: skip
        strange = await deliver(MAIL, settings, yes)
        attempts = len(mailbox.logins)
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        trusted = await deliver(MAIL, settings, yes)

    assert isinstance(strange, NotSent)
    assert (attempts, trusted) == (0, Sent())
    assert mailbox.logins == [("koi", "s3cret", True)]
    assert mailbox.encrypted == [True]


# ── the message ──────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_text_arrives_as_it_is() -> None:
    text = "⚠ Größe 小 🐟 " + "lang " * 300 + "\n.\n..\nFrom here\n"
    async with Mailbox() as mailbox:
        await deliver(MAIL.model_copy(update={"text": text}), mailing_to(mailbox), yes)

    assert mailbox.texts == [text.rstrip("\n")]


def test_nothing_in_a_text_becomes_a_header() -> None:
    evil = "a\r\nBcc: x@example.com\r\n\r\nb\u2028c\x00\ud800"
    message = message_of(MAIL.model_copy(update={"subject": evil, "text": evil}), mailing_to(Mailbox()))

    wire = message.as_bytes()
    head, _, body = wire.partition(b"\r\n\r\n")
    assert message["bcc"] is None
    assert not [line for line in head.split(b"\r\n") if line.lower().startswith(b"bcc")]
    assert b"\x00" not in wire
    assert wire.isascii()
    assert b"Bcc: x@example.com" in body


def test_a_message_says_who_when_and_which() -> None:
    message = message_of(MAIL, mailing_to(Mailbox(), sender="koi@house.example"))

    assert message["message-id"] == "<0123@house.example>"
    assert message["date"] == "Sun, 05 Apr 2026 12:23:00 +0000"
    assert message["from"] == "koi <koi@house.example>"

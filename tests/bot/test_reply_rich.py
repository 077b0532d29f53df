"""Rich messages on their way: sent as any part is, and as entities if Telegram refuses them (invariant 7)."""

import asyncio

import pytest

from bot.progress import KeptParts, found, fresh, kept, next_step, sent
from bot.reply import BAD_TOKEN_MS, RESEND_MS, Sender
from bot.rich import rich
from infra import keys
from infra.dead import dead_letters
from infra.redis_port import RedisPort
from lanes.outcome import Done, HandBack
from schemas.reply import Button, Reply
from schemas.wire import dump, load
from tests.bot.conftest import CHAT, attempt, die, one, queue, reply, settle
from tests.fakes.telegram import METHODS, FakeTelegram
from tests.fakes.telegram_rich import said
from tests.fakes.telegram_state import Fault, Json

TABLE = "| day | what |\n|---|---|\n| Monday | bins |"
BEHIND = "\n\n".join(f"## Part {n}\n\n{'word ' * 1200}" for n in range(10))
"""Makes two rich messages."""
CODE = "\n".join(f"line_{i} = '{i} ü'" for i in range(400))
MIXED = f"# First\n\n{TABLE}\n\n```python\n{CODE}\n```\n\n# Last\n\nThat is **all**."
"""A rich message, a line, a file, a rich message."""
REFUSALS = [
    "Bad Request: can't parse rich message: odd",
    "Bad Request: RICH_MESSAGE_DEPTH",
    "Bad Request: can't parse entities: x",
]


def wants_rich(
    number: int, text: str, *, topic_id: int = 0, buttons: tuple[tuple[Button, ...], ...] = ()
) -> Reply:
    chat_id = "-100" if topic_id else CHAT
    asked = reply(number, text, chat_id=chat_id, topic_id=topic_id, buttons=buttons)
    return asked.model_copy(update={"rich": True, "v": 3})


def shown(fake: FakeTelegram) -> list[str]:
    """What people see, one line a message."""
    return [_shown(fields) for fields in fake.sent()]


def _shown(fields: Json) -> str:
    if "rich_message" in fields:
        return "rich: " + said(fields["rich_message"]).split("\n")[0]
    if "document" in fields:
        return "file: " + fields["document"]["name"]
    return "text: " + fields["text"].split("\n")[0]


async def again(redis: RedisPort, sender: Sender) -> object:
    await redis.delete(keys.send_pause("777"), keys.send_pause("777", CHAT))
    return await attempt(redis, sender)


# ── as any part ──────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_marked_reply_with_a_table_is_a_rich_message(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, wants_rich(1, TABLE))

    assert isinstance(await attempt(redis, sender), Done)

    (call,) = fake.calls
    (table,) = call.fields["rich_message"]["blocks"]
    assert (call.method, table["type"]) == ("sendRichMessage", "table")
    assert set(call.fields) == {"chat_id", "rich_message"}


async def test_a_marked_reply_that_gains_nothing_and_one_that_is_not_marked_are_ordinary(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    plain = wants_rich(3, TABLE).model_copy(update={"plain": True})
    await queue(redis, wants_rich(1, "It comes on **Wednesday**."), reply(2, TABLE), plain)

    for _ in range(3):
        await attempt(redis, sender)

    assert {call.method for call in fake.calls} == {"sendMessage"}
    assert fake.texts(CHAT)[-1] == TABLE


async def test_its_topic_is_named_and_buttons_stand_under_the_last_part(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(
        redis, wants_rich(1, MIXED, topic_id=77, buttons=((Button(text="Retry", command="/retry"),),))
    )

    await attempt(redis, sender)

    assert shown(fake) == ["rich: First", "text: 📎 code.py", "file: code.py", "rich: Last"]
    assert [str(fields["message_thread_id"]) for fields in fake.sent()] == ["77"] * 4
    assert ["reply_markup" in fields for fields in fake.sent()] == [False, False, False, True]


async def test_its_number_is_known_as_that_of_an_answer(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, wants_rich(1, TABLE))

    await attempt(redis, sender)

    assert await redis.lrange(keys.sent_answers(f"777:{CHAT}:0"), 0, -1) == [
        f"{fake.bot('777').next_message_id} turn1".encode()
    ]


async def test_a_429_keeps_its_place(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:
    await queue(redis, wants_rich(1, MIXED))
    fake.fault(Fault("flood", method="sendRichMessage", retry_after=7))

    assert await attempt(redis, sender) == HandBack(7_000)
    await again(redis, sender)

    assert shown(fake) == ["rich: First", "text: 📎 code.py", "file: code.py", "rich: Last"]


async def test_buttons_that_telegram_refuses_cost_no_rich_message(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, wants_rich(1, TABLE, buttons=((Button(text="Retry", command="/retry"),),)))
    fake.fault(Fault("error", method="sendRichMessage", description="Bad Request: BUTTON_DATA_INVALID"))

    await attempt(redis, sender)

    (fields,) = fake.sent()
    assert ("rich_message" in fields, "reply_markup" in fields) == (True, False)


# ── refused ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("description", REFUSALS)
async def test_what_telegram_refuses_comes_with_entities_once_and_with_its_buttons(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, description: str
) -> None:
    await queue(
        redis, wants_rich(1, f"**Plan**\n\n{TABLE}", buttons=((Button(text="Retry", command="/retry"),),))
    )
    fake.fault(Fault("error", method="sendRichMessage", description=description, times=-1))

    assert isinstance(await attempt(redis, sender), Done)

    (fields,) = fake.sent()
    assert [entity["type"] for entity in fields["entities"]] == ["bold", "pre"]
    assert "Monday" in fields["text"]
    assert "reply_markup" in fields
    assert [call.method for call in fake.calls] == ["sendRichMessage", "sendMessage"]
    assert await dead_letters(redis) == []


async def test_only_the_part_that_is_refused_falls_back(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, wants_rich(1, MIXED))
    fake.fault(Fault("error", method="sendRichMessage", description=REFUSALS[0]))

    await attempt(redis, sender)

    assert shown(fake) == ["text: First", "text: 📎 code.py", "file: code.py", "rich: Last"]


async def test_a_bot_api_server_that_knows_no_rich_messages_gets_ordinary_ones(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(METHODS, "sendRichMessage")
    await queue(redis, wants_rich(1, MIXED))

    assert isinstance(await attempt(redis, sender), Done)

    assert shown(fake) == ["text: First", "text: 📎 code.py", "file: code.py", "text: Last"]


async def test_a_token_that_is_refused_is_no_refusal_of_the_message(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, wants_rich(1, TABLE))
    fake.fault(Fault("error", method="sendRichMessage", status=404, description="Not Found"))

    assert await attempt(redis, sender) == HandBack(BAD_TOKEN_MS)
    await again(redis, sender)

    assert shown(fake) == ["rich: day | what"]


async def test_what_was_refused_is_not_tried_again_after_a_wait(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, wants_rich(1, BEHIND))
    fake.fault(Fault("error", method="sendRichMessage", description=REFUSALS[0]))
    fake.fault(Fault("flood", times=1))

    assert isinstance(await attempt(redis, sender), HandBack)
    assert isinstance(await again(redis, sender), Done)

    assert [call.method for call in fake.calls].count("sendRichMessage") == 2
    seen = " ".join(said(f["rich_message"]) if "rich_message" in f else f["text"] for f in fake.sent())
    assert seen.split().count("word") == 12_000
    assert [word for word in seen.split() if word.isdigit()] == [str(n) for n in range(10)]


# ── nobody knows ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("killed_in", [0, 1])
async def test_after_a_death_in_mid_reply_only_the_open_part_comes_again_and_marked(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, killed_in: int
) -> None:  # C7
    await queue(redis, wants_rich(1, BEHIND))
    claim = await one(redis)
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(sender.run(claim))
        while len(fake.sent()) < killed_in:
            await asyncio.sleep(0)
        fake.fault(Fault("hang", method="sendRichMessage"))
        while len(fake.sent()) < killed_in + 1:
            await asyncio.sleep(0)
        sending.cancel()
    await die(redis, claim)

    await attempt(redis, sender)

    before = fake.sent()[: killed_in + 1]
    after = fake.sent()[killed_in + 1 :]
    assert ["rich_message" in fields for fields in before] == [True] * (killed_in + 1)
    marked = [fields["text"] for fields in after if "text" in fields]
    assert marked
    assert all(text.startswith("↻ ") for text in marked)
    assert sum(text.split().count("word") for text in marked) == said(
        before[-1]["rich_message"]
    ).split().count("word")
    unmarked = [said(fields["rich_message"]) for fields in (*before, *after) if "rich_message" in fields]
    assert " ".join(unmarked).split().count("word") == 12_000


async def test_a_part_of_unknown_fate_comes_once_more_as_an_ordinary_message(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C7
    await queue(redis, wants_rich(1, TABLE))
    fake.fault(Fault("error", method="sendRichMessage", status=500, description="Internal", times=-1))

    assert await attempt(redis, sender) == HandBack(RESEND_MS)
    assert isinstance(await attempt(redis, sender), Done)

    (fields,) = fake.sent()
    assert fields["text"].startswith("↻ day")
    assert await dead_letters(redis) == []


async def test_it_is_marked_before_it_leaves(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:
    await queue(redis, wants_rich(1, TABLE))
    claim = await one(redis)
    fake.fault(Fault("hang", method="sendRichMessage"))

    async with asyncio.TaskGroup() as group:
        sending = group.create_task(sender.run(claim))
        while not fake.sent():
            await asyncio.sleep(0.001)
        progress = found(
            "turn1:answer", {k.decode(): v for k, v in (await redis.hgetall(keys.kept(claim.job_id))).items()}
        )
        sending.cancel()

    assert progress is not None
    assert (progress.mark, progress.part.rich) == ("sending", fake.sent()[0]["rich_message"])


# ── what is kept, and the wire ───────────────────────────────────────────────────────────────────────────────────
def test_parts_are_kept_as_older_releases_read_them_unless_one_is_rich() -> None:
    rich_one, ordinary = fresh(rich(TABLE)), fresh(rich("hello"))

    assert load(KeptParts, kept("r", rich_one, None)["r:parts"]).v == 3
    assert kept("r", ordinary, None)["r:parts"] == (
        b'{"v":1,"parts":[{"text":"hello","entities":[],"again":false}]}'
    )
    with_file = kept("r", fresh(rich(f"```\n{CODE}\n```")), None)["r:parts"]
    assert (load(KeptParts, with_file).v, b"rich" in with_file) == (2, False)


def test_what_was_kept_is_found_again() -> None:
    sending = next_step(fresh(rich(BEHIND)))
    first = kept("r", sending, None)

    assert found("r", first) == sending
    assert found("r", {**first, **kept("r", sent(sending), sending)}) == sent(sending)


def test_a_reply_is_written_as_before_unless_it_is_rich() -> None:
    assert b"rich" not in dump(reply(1, "x"))
    assert load(Reply, dump(wants_rich(1, "x"))).rich
    with pytest.raises(ValueError, match="version 3"):
        Reply(id="t:answer", bot_id="7", chat_id="42", text="x", rich=True)


async def test_a_reply_whose_kept_parts_were_forgotten_is_made_anew(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, wants_rich(1, TABLE))
    claim = await one(redis)
    fake.fault(Fault("flood", method="sendRichMessage"))
    await settle(redis, claim, await sender.run(claim))
    await redis.hdel(keys.kept(claim.job_id), "turn1:answer:parts")

    await again(redis, sender)

    assert shown(fake) == ["rich: day | what"]

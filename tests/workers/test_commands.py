"""Commands: answered without a model, truly, in the person's language."""

from dataclasses import replace

import pytest

from infra import keys
from infra.forget import forget_command, handle_of
from infra.people import save_person
from llm.request import UNKNOWN
from schemas.person import Person
from schemas.reply import Button
from tests.workers.stage import House, call, completion

HELLO_DE = """\
Hallo! Schreib mir einfach; /help zeigt dir, was ich sonst noch kann.
• 24 Std. lang weiß ich noch, worüber wir gesprochen haben, auch wenn du später wiederkommst.
• Meine Antworten kommen von Anthropic: Was du schreibst, wird dorthin gesendet.
• /forget all löscht sofort, was ich mir gemerkt habe."""
HELLO_EN = """\
Hello! Just write to me; /help shows what else I can do.
• For 24 h I remember what we talked about, also when you come back later.
• My answers come from Anthropic: what you write is sent there.
• /forget all deletes at once what I remember."""


@pytest.mark.parametrize(("language", "line"), [("de", HELLO_DE), ("en", HELLO_EN), ("fr", HELLO_EN)])
async def test_start_greets(house: House, language: str, line: str) -> None:
    assert (await house.say("/start", language=language)).startswith(line)
    assert house.chain.requests == []


async def test_start_says_that_nothing_is_sent_anywhere_without_a_model_service(house: House) -> None:
    house.services = replace(house.services, brain=replace(house.services.brain, readers=()))

    assert "• What you write stays on this machine: no model service is set up." in await house.say(
        "/start", language="en"
    )


async def test_help_names_every_command_that_is_answered(house: House) -> None:
    replied = await house.say("/help")

    for command in ("new", "memory", "forget all", "forget last", "why", "whoami", "help"):
        assert f"/{command}" in replied


@pytest.mark.parametrize("fields", [{}, {"user_id": "1"}, {"chat_id": "-100", "chat_kind": "group"}])
async def test_help_explains_when_koi_answers_in_a_group_and_that_privacy_mode_may_stay_on(
    house: House, fields: dict[str, str]
) -> None:
    replied = await house.say("/help", language="en", **fields)

    assert "answer who mentions me, replies to me or sends a command" in replied
    assert "privacy mode keeps the rest from me, and may stay on (@BotFather, /setprivacy)" in replied


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"user_id": "1"}, True),
        ({}, False),
        ({"user_id": "1", "chat_id": "-100", "chat_kind": "group"}, False),
    ],
    ids=["the owner", "a member", "the owner in a group"],
)
async def test_help_names_the_owners_commands_to_the_owner_alone(
    house: House, fields: dict[str, str], *, named: bool
) -> None:
    replied = await house.say("/help", **fields)

    for command in ("status", "people", "approve", "block"):
        assert (f"/{command}" in replied) is named


async def test_an_unknown_command_gets_a_friendly_line(house: House) -> None:
    assert await house.say("/wetter Berlin") == "/wetter kenne ich nicht. /help zeigt dir, was ich kann."


async def test_command_answers_are_plain_text(house: House) -> None:
    await house.say("/foo_bar")

    assert [reply.plain for reply in await house.replies()] == [True]


# ── /new ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_new_says_what_stays_and_what_was_announced_happens(house: House) -> None:  # C34
    await house.say("Wie lange kocht ein Ei?")

    announced = await house.say("/new")
    await house.say("Was habe ich gerade gefragt?")

    assert announced == (
        "Dieses Gespräch ist beendet. Deine nächste Nachricht beginnt ein neues. 1 Eintrag aus den letzten "
        "24 Std. bleibt aber in meinem Gedächtnis und fließt weiter ein: /memory zeigt ihn dir, /forget all löscht ihn."
    )
    assert len(house.chain.requests[-1].messages) == 1
    assert "Wie lange kocht ein Ei?" in house.asked


async def test_new_without_memory_does_not_speak_of_any(house: House) -> None:
    assert await house.say("/new", language="en") == (
        "This conversation is over. Your next message begins a new one. I remember nothing of earlier ones."
    )
    assert await house.redis.get(keys.session("7:42:0")) is None


async def test_new_with_a_text_is_answered_in_a_fresh_session_in_the_same_turn(house: House) -> None:
    await house.say("Alte Frage")

    replied = await house.say("/new Neue Frage")

    assert replied == "answer 2"
    assert len(house.chain.requests[-1].messages) == 1
    assert house.asked.endswith("Aktuelle Nachricht: Neue Frage")
    await house.say("Und weiter?")
    assert [message.role for message in house.chain.requests[-1].messages] == ["user", "assistant", "user"]


async def test_a_refused_new_ends_the_old_session_all_the_same(house: House) -> None:
    await house.say("Alte Frage")
    house.chain.script = [completion("", ending="refused")]

    await house.say("/new Böses")

    assert await house.redis.get(keys.session("7:42:0")) is None


# ── /memory ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_memory_lists_entries_with_their_time_and_what_is_left(house: House) -> None:
    house.chain.script = ["Sieben Minuten."]
    await house.say("Wie lange kocht ein Ei?")
    house.later(minutes=50)

    assert await house.say("/memory") == (
        "In meinem Gedächtnis steht 1 Eintrag. Ich behalte höchstens 20, jeden 24 Std. lang.\n\n"
        "05.04. 14:23 · noch 23 Std. 10 Min.\nDu: Wie lange kocht ein Ei?\nIch: Sieben Minuten.\n\n"
        "Zum Vergessen: /forget last, /forget all oder /forget mit einem Text."
    )
    assert "5 Apr, 14:23 · 23 h 10 min left\nYou: Wie lange" in await house.say("/memory", language="en")


async def test_an_empty_memory_says_so(house: House) -> None:
    assert await house.say("/memory") == "Aus den letzten 24 Std. erinnere ich mich an nichts."


# ── /forget ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("language", "forgot", "line"),
    [
        ("de", 1, "Ich habe 1 Eintrag vergessen. Auch das laufende Gespräch ist beendet, damit nichts davon wiederkommt."),
        ("de", 3, "Ich habe 3 Einträge vergessen. Auch das laufende Gespräch ist beendet, damit nichts davon wiederkommt."),
        ("de", 0, "Daran habe ich mich gar nicht erinnert. Auch das laufende Gespräch ist beendet, damit nichts davon "
                  "wiederkommt."),
        ("en", 1, "I have forgotten 1 entry. The running conversation has ended too, so that nothing of it comes back."),
    ],
)  # fmt: skip
async def test_forget_says_what_was_removed_at_admission(
    house: House, language: str, forgot: int, line: str
) -> None:
    assert await house.say("/forget Chemitek", language=language, forgot=forgot) == line


@pytest.mark.parametrize(("language", "word"), [("de", "alles"), ("en", "everything")])
async def test_forget_alone_explains_its_three_forms(house: House, language: str, word: str) -> None:
    replied = await house.say("/forget", language=language)

    assert f"/forget all – {word}" in replied
    assert len(replied.splitlines()) == 4


# ── /whoami ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_whoami_tells_id_role_store_and_chat(house: House) -> None:
    await save_person(house.redis, Person(user_id="42", name="Jo"))

    assert await house.say("/whoami") == (
        "Deine ID: 42\nDeine Rolle: Mitglied\nGedächtnis: home\nChat: 42 (privat)\nBot: parcels"
    )
    replied = await house.say("/whoami", user_id="1", chat_id="-100", chat_kind="group", language="en")
    assert "Your role: owner" in replied
    assert "Chat: -100 (group)" in replied


# ── /why ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_why_tells_the_model_the_tokens_and_what_was_remembered(house: House) -> None:
    await house.say("Wie lange kocht ein Ei?")
    house.later(minutes=50)
    await house.say("Und ein Straußenei?")

    assert await house.say("/why") == (
        "Meine letzte Antwort, 05.04. 15:13:\nModell: sonnet\nTokens: 90 gelesen, 10 geschrieben\nKosten: unbekannt\n"
        "Außer deiner Nachricht hatte ich vor mir:\n• 05.04. 14:23 Wie lange kocht ein Ei?\n"
        f"Mehr: koi explain {handle_of('test:2')[:8]}"
    )
    (row,) = (await house.replies())[-1].buttons
    assert row == (
        Button(text="Vergessen: 05.04. 14:23 Wie lange kocht ein Ei?", command=forget_command("test:1")),
    )


async def test_why_still_knows_the_block_later_in_the_session(house: House) -> None:
    await house.say("Wie lange kocht ein Ei?")
    house.later(minutes=50)
    await house.say("Und ein Straußenei?")
    await house.say("Sicher?")

    replied = await house.say("/why")

    assert "14:23 Wie lange kocht ein Ei?" in replied
    assert "15:13 Und ein Straußenei?" in replied


async def test_why_tells_a_fallback_and_unknown_tokens(house: House) -> None:
    calls = (call("sonnet", "overloaded", usage=UNKNOWN), call("haiku", usage=UNKNOWN))
    house.chain.script = [completion("Ja.", model="haiku", calls=calls, usage=UNKNOWN)]
    await house.say("Hallo?", language="en")

    replied = await house.say("/why", language="en")

    assert "Model: haiku, because sonnet did not answer" in replied
    assert "Tokens: the model did not say" in replied
    assert "Besides your message I was given nothing." in replied


async def test_why_admits_that_entries_are_gone(house: House) -> None:
    await house.say("Wie lange kocht ein Ei?")
    house.later(minutes=50)
    await house.say("Und ein Straußenei?")
    await house.redis.delete(keys.ring("home:u:42"))

    assert "• 1 Eintrag, den es nicht mehr gibt" in await house.say("/why")


async def test_why_without_an_answer_says_so(house: House) -> None:
    assert await house.say("/why", language="en") == "I gave no answer here in the last 24 h."

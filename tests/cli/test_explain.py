"""`koi explain`."""

import json
from io import StringIO

import pytest
from rich.console import Console

from cli.explained import explained
from infra.clock import system_clock
from infra.redis_port import RedisPort
from infra.settings import MoneySettings
from infra.turns import turn_effects
from memory.store import apply
from schemas.call import CallRecord
from schemas.memory import Exchange
from schemas.turn import LeftOut, Part, TurnRecord
from tests.cli.conftest import Koi
from tests.infra.test_turns import DAY_MS, record
from workers.times import zone_of

CALL = CallRecord(
    id="c1", turn_id="t", lane="7:42:0", user_id="42", at_ms=1, model="sonnet", outcome="overloaded", took_ms=400,
    detail="HTTP 529", service="anthropic", asked="sonnet",
)  # fmt: skip


def full() -> TurnRecord:
    return record(1).model_copy(
        update={
            "model": "haiku",
            "why": "code",
            "cost_microusd": 3100,
            "parts": (
                Part(kind="system", tokens=120),
                Part(kind="exchange", id="e1", tokens=40),
                Part(kind="block", tokens=60, text="<conversation_history>…", entry_ids=("e0",)),
                Part(kind="message", tokens=9, text="Where is \x1b[2J it?"),
            ),
            "left_out": (LeftOut(kind="entry", id="e7", tokens=77, why="no_room"),),
            "calls": (
                CALL,
                CALL.model_copy(update={"id": "c2", "model": "haiku", "outcome": "answered", "detail": ""}),
            ),
        }
    )


def page(language: str) -> str:
    console = Console(width=120, record=True, file=StringIO())
    earlier = [Exchange(id="e1", at_ms=1, user="Hello", reply="Hi!")]
    console.print(
        explained(
            full(), earlier, language, zone_of("Europe/Berlin"), MoneySettings(currency="EUR", rate=0.9)
        )
    )
    return console.export_text().replace("\xa0", " ")


def test_the_page_has_every_part_what_was_left_out_each_call_the_cost_and_the_texts() -> None:
    shown = page("en")

    for words in (
        "haiku, because sonnet did not answer", "there is code or a log in the message", "90 of 6000", "€0.0028",
        "instructions", "earlier in this conversation", "memory of earlier conversations", "remembered entry",
        "no room in the budget", "overloaded HTTP 529", "answered", "Hello", "→ Hi!", "<conversation_history>…",
    ):  # fmt: skip
        assert words in shown, words
    assert "\x1b[2J" not in shown


def test_in_german_too() -> None:
    shown = page("de")

    assert "haiku, weil sonnet nicht antwortete" in shown
    assert "kein Platz im Budget" in shown
    assert "0,0028 €" in shown


async def test_the_command_prints_the_newest_and_as_json_the_whole_record(
    koi: Koi, redis: RedisPort, capsys: pytest.CaptureFixture[str]
) -> None:
    now_ms = system_clock()()
    newest = full().model_copy(update={"at_ms": now_ms, "oldest_ms": now_ms})
    await apply(redis, turn_effects(newest, DAY_MS))

    assert await koi("explain") == 0
    assert "Where is" in capsys.readouterr().out
    assert await koi("explain", newest.id, "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(newest.model_dump_json())


async def test_an_answer_that_is_not_there_is_one_clear_line(
    koi: Koi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await koi("explain", "nothing") == 1
    assert "there is no such answer, or it is gone" in capsys.readouterr().err

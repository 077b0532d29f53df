"""Our own fake of the Bot API server keeps to Telegram's ways."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_rules import document_fault, fault_of, markup_fault
from tests.fakes.telegram_state import Fault


def entity(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.fixture
async def http() -> AsyncIterator[ClientSession]:
    async with ClientSession() as session:
        yield session


async def call(http: ClientSession, base: str, method: str, **fields: Any) -> tuple[int, Any]:
    async with http.post(f"{base}/bot777:x/{method}", json=fields) as response:
        body = await response.json()
        return response.status, body.get("result", body.get("description"))


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("x", []),
        ("🎈bold", [entity("bold", 2, 4)]),
        ("abcd", [entity("bold", 0, 4), entity("italic", 1, 2)]),
        ("abcd", [entity("blockquote", 0, 4), entity("code", 1, 2)]),
        ("abcd", [entity("text_link", 0, 4, url="http://x.y"), entity("bold", 1, 2)]),
        ("x" * 4096, [entity("bold", i, 1) for i in range(100)]),
    ],
)
def test_good_texts(text: str, entities: list[dict[str, Any]]) -> None:
    assert fault_of(text, entities) is None


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("", []),
        (" \u200b\n", []),
        ("x" * 4097, []),
        ("🎈" * 2049, []),
        ("x" * 101, [entity("bold", i, 1) for i in range(101)]),
        ("abc", [entity("bold", 2, 2)]),
        ("abc", [entity("bold", 0, 0)]),
        ("abc", [entity("bold", -1, 1)]),
        ("🎈", [entity("bold", 1, 1)]),
        ("abcd", [entity("bold", 0, 2), entity("italic", 1, 2)]),
        ("abcd", [entity("code", 0, 4), entity("bold", 1, 1)]),
        ("abcd", [entity("bold", 0, 4), entity("code", 1, 1)]),
        ("abcd", [entity("blockquote", 0, 4), entity("blockquote", 1, 1)]),
        ("abcd", [entity("text_link", 0, 4)]),
        ("abcd", [entity("text_link", 0, 4, url="/relative")]),
        ("abcd", [entity("text_link", 0, 4, url="http://localhost/x")]),
        ("abcd", [entity("bold", 0, 4, url="http://x.y")]),
        ("abcd", [entity("pre", 0, 4, language=" ")]),
        ("ab  cd", [entity("bold", 2, 2)]),
        ("abcd", [entity("bold", 0, 4), entity("bold", 1, 2)]),
        ("\u2800", []),
        ("abcd", [entity("sparkle", 0, 4)]),
    ],
)
def test_bad_texts(text: str, entities: list[dict[str, Any]]) -> None:
    assert fault_of(text, entities) is not None


def test_a_document_has_a_name_a_content_and_a_short_caption() -> None:
    good = {"name": "code.py", "content": "x"}

    assert document_fault(good, "↻") is None
    for document, caption in [
        (None, ""), ("x", ""), ({**good, "content": ""}, ""), ({**good, "name": "a/b"}, ""), (good, "x" * 1025)
    ]:  # fmt: skip
        assert document_fault(document, caption) is not None


def button(**differs: Any) -> dict[str, Any]:
    return {"text": "a", "callback_data": "/new", **differs}


def test_good_buttons() -> None:
    assert markup_fault({"inline_keyboard": [[button(), button(callback_data="ü" * 32)], [button()]]}) is None


BAD_MARKUPS: list[object] = [
    [],
    {},
    {"inline_keyboard": []},
    {"inline_keyboard": [[]]},
    {"inline_keyboard": [button()]},
    {"inline_keyboard": [["/new"]]},
    {"inline_keyboard": [[button(text="")]]},
    {"inline_keyboard": [[button(text=" ")]]},
    {"inline_keyboard": [[button(callback_data="")]]},
    {"inline_keyboard": [[button(callback_data="x" * 65)]]},
    {"inline_keyboard": [[button(callback_data="ü" * 33)]]},
    {"inline_keyboard": [[{"text": "a"}]]},
    {"inline_keyboard": [[button()] * 101]},
]


@pytest.mark.parametrize("markup", BAD_MARKUPS)
async def test_bad_buttons(fake: FakeTelegram, http: ClientSession, markup: object) -> None:
    status, why = await call(http, fake.base, "sendMessage", chat_id=4, text="x", reply_markup=markup)

    assert (status, fake.sent()) == (400, [])
    assert why == f"Bad Request: {markup_fault(markup)}"


async def test_a_tap_is_told_to_who_asks_for_taps_and_answered_once(
    fake: FakeTelegram, http: ClientSession
) -> None:
    fake.tap("777", 42, "/new")

    assert (await call(http, fake.base, "getUpdates", allowed_updates=["message"]))[1] == []
    (update,) = (await call(http, fake.base, "getUpdates", allowed_updates=["message", "callback_query"]))[1]
    query_id = update["callback_query"]["id"]
    statuses = [
        (await call(http, fake.base, "answerCallbackQuery", callback_query_id=one))[0]
        for one in (query_id, query_id, "7")
    ]

    assert statuses == [200, 400, 400]


async def test_the_older_of_two_pollers_hears_409(fake: FakeTelegram, http: ClientSession) -> None:
    async with asyncio.TaskGroup() as group:
        older = group.create_task(call(http, fake.base, "getUpdates", timeout=30))
        while fake.bot("777").poller is None:
            await asyncio.sleep(0.001)
        newer = group.create_task(call(http, fake.base, "getUpdates", timeout=30))
        await older
        fake.say("777", 1, "x")

    assert older.result()[0] == 409
    assert len(newer.result()[1]) == 1


async def test_updates_stay_until_they_are_confirmed(fake: FakeTelegram, http: ClientSession) -> None:
    first = fake.say("777", 1, "x")

    for _ in range(2):
        assert len((await call(http, fake.base, "getUpdates"))[1]) == 1
    assert (await call(http, fake.base, "getUpdates", offset=first + 1))[1] == []


async def test_faults_strike_whom_they_should(fake: FakeTelegram, http: ClientSession) -> None:
    fake.fault(Fault("flood", chat_id="5", retry_after=3))
    fake.blocked.add("6")
    fake.gone.add("7")

    statuses = [
        (await call(http, fake.base, "sendMessage", chat_id=chat, text="x"))[0] for chat in (4, 5, 5, 6, 7)
    ]

    assert statuses == [200, 429, 200, 403, 400]
    assert len(fake.sent()) == 2


async def test_it_runs_as_a_process_of_its_own(http: ClientSession) -> None:
    command = [sys.executable, "-m", "tests.fakes.telegram", "--port", "0"]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    base = process.stdout.readline().strip()

    async def control(verb: str, **body: Any) -> Any:
        async with http.post(f"{base}/_control/{verb}", data=json.dumps(body)) as response:
            return await response.json(content_type=None)

    await control("say", bot_id="777", user_id=1, text="hi")
    await control("feed", bot_id="777", updates=[{"update_id": 2000, "poll": {}}])
    await control("fault", kind="error", status=502, description="Bad Gateway")
    _, updates = await call(http, base, "getUpdates")
    status, _ = await call(http, base, "sendMessage", chat_id=1, text="x")
    calls = await control("calls", method="sendMessage")
    state = await control("state")
    process.terminate()
    process.wait(5)
    process.stdout.close()

    assert [update["update_id"] for update in updates] == [1000, 2000]
    assert status == 502
    assert [(c["bot_id"], c["status"], c["delivered"]) for c in calls["calls"]] == [("777", 502, False)]
    assert state == {"waiting": {"777": 2}, "calls": 2}

"""One message and its reply, for scripts."""

import asyncio
from datetime import timedelta

import orjson
import pytest

from cli.once import as_object, ask, patience_s, printed
from cli.replies import Replies
from cli.room import Room
from cli.seat import seat_of
from infra import keys
from infra.redis_port import RedisPort
from infra.settings import Settings, TurnSettings
from schemas.inbound import InboundMessage
from schemas.reply import Button, Reply
from schemas.wire import dump, load
from tests.cli.conftest import BUTTONS, LANE, reply


async def room_of(redis: RedisPort) -> Room:
    replies = Replies(redis, LANE)
    await replies.open()
    return Room(redis, seat_of(Settings(), user="jo", bot="", owner_id=""), lambda: 1_000, replies)


async def waiting_message(redis: RedisPort) -> InboundMessage:
    async with asyncio.timeout(5):
        while not (bodies := await redis.hgetall(keys.bodies(f"in:{LANE}"))):
            await asyncio.sleep(0.005)
    return load(InboundMessage, next(iter(bodies.values())))


async def publish(redis: RedisPort, *replies: Reply) -> None:
    for one in replies:
        await redis.publish(keys.local_channel(LANE), dump(one))


async def test_the_reply_to_the_message_is_given_and_another_goes_to_stderr(
    redis: RedisPort, capsys: pytest.CaptureFixture[str]
) -> None:
    room = await room_of(redis)

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask(room, "hello", patience_s=5, stop=asyncio.Event()))
        message = await waiting_message(redis)
        await publish(redis, reply(1, answers=("local:1-older",)), reply(2, answers=(message.id,)))

    assert asking.result() == reply(2, answers=(message.id,))
    assert capsys.readouterr() == ("", "answer 1\n")
    await room.replies.close()


async def test_without_an_answer_in_time_the_message_stays_and_stderr_says_so(
    redis: RedisPort, capsys: pytest.CaptureFixture[str]
) -> None:
    room = await room_of(redis)

    assert await ask(room, "hello", patience_s=0, stop=asyncio.Event()) is None

    assert "no answer in time" in capsys.readouterr().err
    assert (await waiting_message(redis)).text == "hello"
    assert room.leave_now
    await room.replies.close()


async def test_a_stop_ends_the_wait(redis: RedisPort, capsys: pytest.CaptureFixture[str]) -> None:
    room, stop = await room_of(redis), asyncio.Event()
    stop.set()

    assert await ask(room, "hello", patience_s=60, stop=stop) is None
    assert "stopped" in capsys.readouterr().err
    await room.replies.close()


async def test_forget_is_carried_out_before_the_message_is_stored(redis: RedisPort) -> None:
    room = await room_of(redis)
    await redis.rpush(keys.ring("home:u:local:jo"), b'{"v":1}', b'{"v":1}')

    await room.send(room.message("/forget alles"))

    assert (await waiting_message(redis)).forgot == 2
    assert await redis.exists(keys.ring("home:u:local:jo")) == 0
    await room.replies.close()


async def test_forget_without_saying_what_forgets_nothing(redis: RedisPort) -> None:
    room = await room_of(redis)

    await room.send(room.message("/forget"))

    assert (await waiting_message(redis)).forgot is None
    await room.replies.close()


def test_a_reply_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(reply(text="**hi**\x1b[2J"), as_json=False) == 0
    assert capsys.readouterr() == ("**hi**[2J\n", "")


def test_a_failure_goes_to_stderr_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(reply(failed=True), as_json=False) == 1
    assert capsys.readouterr() == ("", "koi: answer 1\n")


def test_as_json_a_failure_is_printed_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(reply(failed=True), as_json=True) == 1
    assert orjson.loads(capsys.readouterr().out)["failed"] is True


def test_no_reply_fails() -> None:
    assert printed(None, as_json=False) == 1


def test_the_json_says_which_turn_answered_what() -> None:
    one = Reply(id="w:7:answer", bot_id="local", chat_id="local:jo", text="hi", answers=("local:1-a",))

    assert orjson.loads(as_object(one)) == {
        "reply": "hi", "failed": False, "turn": "w:7", "answers": ["local:1-a"], "language": "en",
        "buttons": [],
    }  # fmt: skip


def test_the_json_carries_the_buttons_and_the_plain_form_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    one = reply().model_copy(update={"buttons": BUTTONS})

    assert orjson.loads(as_object(one))["buttons"] == [
        {"text": "Fresh start", "command": "/new"},
        {"text": "Strong model", "command": "/model strong"},
        {"text": "Forget it", "command": "/forget #1"},
    ]
    printed(one, as_json=False)
    assert capsys.readouterr().out == "answer 1\n"


@pytest.mark.parametrize(
    ("buttons", "expected"),
    [
        (((("Rye", "/pick 1a2b3c4d 1"),), (("White\x1b", "/pick 1a2b3c4d 2"),)), "1) Rye\n2) White\n"),
        (((("Confirm", "/confirm 1a2b3c4d"), ("Change", "/change 1a2b3c4d")),),
         "Confirm: /confirm 1a2b3c4d\nChange: /change 1a2b3c4d\n"),
    ],
    ids=["a question", "a preview"],
)  # fmt: skip
def test_how_to_answer_a_question_is_printed_too(
    capsys: pytest.CaptureFixture[str], buttons: tuple[tuple[tuple[str, str], ...], ...], expected: str
) -> None:
    rows = tuple(tuple(Button(text=text, command=command) for text, command in row) for row in buttons)

    printed(reply(text="Which one?").model_copy(update={"buttons": rows}), as_json=False)

    assert capsys.readouterr().out == f"Which one?\n{expected}"


def test_a_reply_may_take_all_attempts_and_the_pauses_between_them() -> None:
    settings = Settings(turn=TurnSettings(attempts=2, deadline=timedelta(seconds=10)))

    assert patience_s(settings) == 140

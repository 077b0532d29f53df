"""`koi dead`."""

import click
import pytest

from cli.dead import age, chosen, words_of
from cli.faults import Failure
from infra import keys
from infra.dead import index_member
from infra.redis_port import RedisPort
from schemas.dead import DeadLetter
from schemas.inbound import InboundMessage
from schemas.wire import dump
from tests.cli.conftest import Koi

OWNER = "home:u:42"


def letter(number: int, text: str = "where is it?") -> DeadLetter:
    message = InboundMessage(
        id=f"7:{number}",
        bot_id="7",
        bot="koi",
        chat_id="42",
        user_id="42",
        user_name="Ann",
        sent_at_ms=1,
        text=text,
    )
    body = dump(message).decode()
    return DeadLetter(
        id=message.id, job_id="in:7:42:0", at_ms=number, reason="no model", body=body, owner=OWNER
    )


async def store(redis: RedisPort, *letters: DeadLetter) -> None:
    for one in letters:
        await redis.hset(keys.dead_of(one.owner), one.id, dump(one))
        await redis.zadd(keys.dead(), {index_member(one): one.at_ms})


async def test_the_list_shows_who_why_and_the_first_words(
    koi: Koi, redis: RedisPort, capsys: pytest.CaptureFixture[str]
) -> None:
    await store(redis, letter(1), letter(2, "line one\nline two \x1b[2J"))

    assert await koi("dead", "list") == 0

    shown = capsys.readouterr().out
    assert all(word in shown for word in ("7:1", "Ann", "no model", "where is it?", "line one line two"))
    assert "\x1b[2J" not in shown


async def test_an_empty_list_says_so(koi: Koi, capsys: pytest.CaptureFixture[str]) -> None:
    assert await koi("dead", "list") == 0
    assert capsys.readouterr().out == "No dead letters.\n"


async def test_retry_puts_a_letter_back_into_its_lane(koi: Koi, redis: RedisPort) -> None:
    await store(redis, letter(1), letter(2))

    assert await koi("dead", "retry", "7:1") == 0

    assert await redis.lrange(keys.items("in:7:42:0"), 0, -1) == [b"1:7:1"]
    assert await redis.hkeys(keys.dead_of(OWNER)) == [b"7:2"]


async def test_drop_all_deletes_every_letter(koi: Koi, redis: RedisPort) -> None:
    await store(redis, letter(1), letter(2))

    assert await koi("dead", "drop", "--all") == 0

    assert await redis.exists(keys.dead(), keys.dead_of(OWNER)) == 0


async def test_an_unknown_id_fails_and_changes_nothing(
    koi: Koi, redis: RedisPort, capsys: pytest.CaptureFixture[str]
) -> None:
    await store(redis, letter(1))

    assert await koi("dead", "drop", "7:1", "7:9") == 1

    assert "7:9" in capsys.readouterr().err
    assert await redis.hlen(keys.dead_of(OWNER)) == 1


@pytest.mark.parametrize(("ids", "everything"), [((), False), (("7:1",), True)], ids=["neither", "both"])
def test_which_letters_must_be_said(ids: tuple[str, ...], everything: bool) -> None:
    with pytest.raises(click.UsageError):
        chosen([letter(1)], ids, everything=everything)


def test_an_id_is_taken_once() -> None:
    assert chosen([letter(1)], ("7:1", "7:1"), everything=False) == (letter(1),)
    with pytest.raises(Failure):
        chosen([], ("7:1",), everything=False)


@pytest.mark.parametrize(
    ("passed_ms", "shown"),
    [(0, "0 min"), (-5, "0 min"), (61_000, "1 min"), (7_200_000, "2 h"), (200_000_000, "2 d")],
)
def test_an_age_is_in_the_largest_unit_that_fits(passed_ms: int, shown: str) -> None:
    assert age(passed_ms) == shown


@pytest.mark.parametrize("body", ["no json", "[1]", '"text"'])
def test_a_body_that_is_no_message_is_shown_as_it_is(body: str) -> None:
    broken = DeadLetter(id="7:1", job_id="in:7:42:0", at_ms=1, reason="", body=body, owner=OWNER)

    assert words_of(broken) == (OWNER, body)

"""The running conversation: when it ends, what leaves it, how large it may become."""

import pytest

from infra import keys
from infra.redis_port import RedisPort
from memory.session import (
    CHARS_PER_TOKEN,
    MOST_BUDGETS,
    end_effects,
    extend,
    new_exchange,
    read_session,
    session_effects,
    session_expiry,
    starts_session,
    suggests_fresh_start,
    without_expired,
)
from memory.store import apply
from memory.trim import trim
from memory.window import exchange_tokens, session_tokens
from schemas.memory import Exchange
from schemas.wire import NewerVersion, NotReadable, dump
from tests.memory.values import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, exchange, session, tool_round
from tests.memory.values import SESSION_LIMITS as LIMITS

LANE = "7:42:0"


def with_block(number: int, *, at_ms: int, block_oldest_ms: int) -> Exchange:
    return new_exchange(f"turn-{number}", at_ms, "hi", "ho", block="<block>", block_oldest_ms=block_oldest_ms)


@pytest.mark.parametrize(
    ("passed_ms", "starts"), [(0, False), (1_800_000, False), (1_800_001, True), (-5, False)]
)
def test_a_conversation_ends_after_half_an_hour_without_a_word(passed_ms: int, starts: bool) -> None:
    assert starts_session(NOW_MS + passed_ms, NOW_MS, LIMITS.idle_ms) is starts
    read = read_session(dump(session(exchange())), NOW_MS + passed_ms, LIMITS)
    assert (read is None) is starts


def test_no_session_is_none() -> None:
    assert read_session(None, NOW_MS, LIMITS) is None


def test_a_session_that_cannot_be_read_is_said_to_be_so() -> None:
    with pytest.raises(NotReadable):
        read_session(b"not json", NOW_MS, LIMITS)
    with pytest.raises(NewerVersion):
        read_session(b'{"v": 99}', NOW_MS, LIMITS)


def test_exchanges_older_than_a_day_leave_a_conversation_that_never_paused() -> None:
    stored = session(
        exchange(1, at_ms=NOW_MS - DAY_MS), exchange(2, at_ms=NOW_MS - DAY_MS + 1), last_ms=NOW_MS
    )

    read = read_session(dump(stored), NOW_MS, LIMITS)

    assert read is not None
    assert [one.id for one in read.exchanges] == ["turn-2"]
    assert read_session(dump(stored), NOW_MS + 1, LIMITS) is None


def test_a_block_leaves_when_the_oldest_entry_it_quotes_expires() -> None:
    quoted_ms = NOW_MS - 23 * HOUR_MS
    stored = session(with_block(1, at_ms=NOW_MS, block_oldest_ms=quoted_ms), last_ms=NOW_MS + 50 * MINUTE_MS)
    raw = dump(stored)

    before = read_session(raw, NOW_MS + HOUR_MS - 1, LIMITS)
    after = read_session(raw, NOW_MS + HOUR_MS, LIMITS)

    assert before is not None
    assert after is not None
    assert before.exchanges[0].block == "<block>"
    assert (after.exchanges[0].block, after.exchanges[0].user) == ("", "hi")


def test_after_the_clock_jumped_back_the_conversation_goes_on_and_still_ends() -> None:
    stored = session(exchange(at_ms=NOW_MS + 90 * DAY_MS))

    read = read_session(dump(stored), NOW_MS, LIMITS)

    assert read is not None
    assert read.last_ms == NOW_MS
    assert read.exchanges[0].at_ms == NOW_MS
    assert read_session(dump(read), NOW_MS + 31 * MINUTE_MS, LIMITS) is None


def test_a_session_begins_with_its_first_exchange_and_grows() -> None:
    first = extend(None, exchange(1), ["a"], NOW_MS + 5, LIMITS)
    second = extend(first, exchange(2, at_ms=NOW_MS + MINUTE_MS), ["a", "b"], NOW_MS + MINUTE_MS + 5, LIMITS)

    assert (first.id, first.started_ms, first.last_ms, first.seen) == ("turn-1", NOW_MS, NOW_MS + 5, ("a",))
    assert (second.id, second.started_ms, second.last_ms) == ("turn-1", NOW_MS, NOW_MS + MINUTE_MS + 5)
    assert [one.id for one in second.exchanges] == ["turn-1", "turn-2"]
    assert second.seen == ("a", "b")


def test_every_exchange_counts_also_those_that_were_dropped() -> None:
    running = None
    for number in range(25):
        kept = running and trim(running, 100, folds=False).session
        running = extend(kept, exchange(number), [], NOW_MS, LIMITS)

    assert running is not None
    assert running.total == 25
    assert len(running.exchanges) == 3


def test_the_kind_of_model_stays_with_the_conversation() -> None:
    running = extend(None, exchange(1), [], NOW_MS, LIMITS).model_copy(update={"tier": "strong"})

    assert extend(running, exchange(2), [], NOW_MS, LIMITS).tier == "strong"


def test_a_session_of_the_first_version_goes_on() -> None:
    stored = (
        b'{"v":1,"id":"t1","started_ms":1,"last_ms":%d,"seen":["a"],"exchanges":[{"v":1,"id":"t1","at_ms":%d,'
        b'"user":"Where is it?","reply":"On its way.","block":"","block_oldest_ms":0}]}' % (NOW_MS, NOW_MS)
    )

    read = read_session(stored, NOW_MS, LIMITS)
    extended = extend(read, exchange(2), [], NOW_MS, LIMITS)

    assert (extended.v, extended.id, extended.total) == (2, "t1", 2)
    assert all(one.tokens == exchange_tokens(one) > 0 for one in extended.exchanges)
    assert session_tokens(extended) == sum(one.tokens for one in extended.exchanges)


@pytest.mark.parametrize(
    ("total", "suggests"), [(0, False), (1, False), (19, False), (20, True), (21, False), (40, True)]
)
def test_a_fresh_start_is_suggested_at_every_twentieth_exchange(total: int, suggests: bool) -> None:
    running = session(exchange()).model_copy(update={"total": total})

    assert suggests_fresh_start(running, 20) is suggests


def test_what_is_stored_is_bounded_whatever_is_said() -> None:
    running = None
    for number in range(4):
        kept = running and trim(running, LIMITS.budget_tokens, folds=True).session
        running = extend(
            kept, exchange(number, user="x y " * 25_000, reply="z" * 100_000), [], NOW_MS, LIMITS
        )

    assert running is not None
    assert [one.id for one in running.exchanges] == ["turn-1", "turn-2", "turn-3"]
    assert running.leaving == ()
    most_chars = MOST_BUDGETS * LIMITS.budget_tokens * CHARS_PER_TOKEN
    assert all(max(len(one.user), len(one.reply)) <= most_chars for one in running.exchanges)


def test_results_of_tools_are_bounded_together() -> None:
    rounds = [tool_round(number, result="row 1\n" * 20_000) for number in range(12)]

    running = extend(None, new_exchange("turn-1", NOW_MS, "q", "a", rounds=rounds), [], NOW_MS, LIMITS)

    kept = running.exchanges[0]
    assert len(kept.rounds) == 12
    assert session_tokens(running) == kept.tokens <= MOST_BUDGETS * LIMITS.budget_tokens * 1.1


def test_the_summary_and_what_waits_for_it_leave_with_the_oldest_thing_they_hold() -> None:
    stored = session(exchange(3)).model_copy(
        update={
            "summary": "They moved.", "summary_oldest_ms": NOW_MS - DAY_MS + 2,
            "leaving": (exchange(1, at_ms=NOW_MS - DAY_MS + 1), exchange(2, at_ms=NOW_MS)),
        }
    )  # fmt: skip

    assert session_expiry(stored, LIMITS) == NOW_MS + 1
    without_one = without_expired(stored, NOW_MS + 1, LIMITS)
    assert [one.id for one in without_one.leaving] == ["turn-2"]
    assert session_expiry(without_one, LIMITS) == NOW_MS + 2
    without_both = without_expired(without_one, NOW_MS + 2, LIMITS)
    assert (without_both.summary, without_both.summary_oldest_ms) == ("", 0)
    assert without_expired(without_both, NOW_MS + 3, LIMITS) is without_both


def test_an_exchange_that_lost_its_block_is_counted_anew() -> None:
    stored = session(with_block(1, at_ms=NOW_MS, block_oldest_ms=NOW_MS - DAY_MS))

    (left,) = without_expired(stored, NOW_MS, LIMITS).exchanges

    assert 0 < left.tokens < stored.exchanges[0].tokens
    assert left.tokens == exchange_tokens(left.model_copy(update={"tokens": 0}))


async def test_a_stored_session_lives_as_long_as_it_can_go_on(redis: RedisPort) -> None:
    stored = extend(None, exchange(), [], NOW_MS, LIMITS)

    await apply(redis, session_effects(LANE, stored, LIMITS))

    key = keys.session(LANE)
    assert read_session(await redis.get(key), NOW_MS, LIMITS) == stored
    assert 29 * MINUTE_MS < await redis.pttl(key) <= 30 * MINUTE_MS
    assert await redis.zscore(keys.expiry(), key) == NOW_MS + LIMITS.idle_ms + 1


async def test_the_end_of_a_session_leaves_nothing_of_it(redis: RedisPort) -> None:  # C34
    await apply(redis, session_effects(LANE, extend(None, exchange(), [], NOW_MS, LIMITS), LIMITS))
    await redis.set(keys.fold(LANE), "summary")
    await redis.zadd(keys.expiry(), {keys.fold(LANE): NOW_MS})

    await apply(redis, end_effects(LANE))

    assert await redis.exists(keys.session(LANE), keys.fold(LANE), keys.expiry()) == 0


def test_a_session_is_due_when_the_first_of_its_texts_is() -> None:
    old_block = with_block(1, at_ms=NOW_MS, block_oldest_ms=NOW_MS - DAY_MS + 7)
    old_exchange = exchange(1, at_ms=NOW_MS - DAY_MS + 9)

    assert session_expiry(session(old_block), LIMITS) == NOW_MS + 7
    assert session_expiry(session(old_exchange, last_ms=NOW_MS), LIMITS) == NOW_MS + 9
    assert session_expiry(session(exchange()), LIMITS) == NOW_MS + LIMITS.idle_ms + 1


def test_odd_characters_can_be_stored() -> None:
    odd = new_exchange("turn-1", NOW_MS, "\ud83d NUL \x00 שלום 👨‍👩‍👧‍👦", "\udc00")

    assert read_session(dump(extend(None, odd, [], NOW_MS, LIMITS)), NOW_MS, LIMITS) is not None
    assert odd.user == "\ufffd NUL  שלום 👨‍👩‍👧‍👦"

"""What is written down of every turn in the step that ends it, and what the counters of the minute come to."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from infra import keys
from infra.forget import forget
from infra.redis_port import RedisPort
from infra.settings import PlanSettings
from lanes.claim import Claim
from lanes.commit import Committed, commit, release
from lanes.outcome import Failed, HandBack
from llm.candidates import Candidate, Service
from llm.chain import Chain
from llm.errors import NoModelAnswered
from llm.failure import Failure
from llm.routing import Models
from memory.limits import SessionLimits
from memory.session import extend, new_exchange
from schemas.life import TurnLife
from schemas.memory import Session
from schemas.wire import load
from tests.contents import contents
from tests.llm.scripted import ScriptedProvider, Step, says
from tests.workers.kill import lease_over
from tests.workers.stage import APRIL_5_14_23, MINUTE_MS, House, call, calls, completion, with_tools
from workers.life import counts_of, exchange_of, minute_of
from workers.plans import plans_from
from workers.services import Brain
from workers.turn import TurnHandler

DAY = "2026-04-05"
NOBODY = NoModelAnswered((), "sonnet: overloaded")
DAY_MS = 24 * 3_600_000
WORDS = ("Quitten", "Hagebutte", "Schlehe", "Mirabelle")


async def lives(house: House) -> list[TurnLife]:
    return [load(TurnLife, fields[b"turn"]) for _, fields in await house.redis.xrange(keys.life())]


async def totals(redis: RedisPort, day: str = DAY) -> dict[str, int]:
    counts = await redis.hgetall(keys.minutes(day))
    return {
        name.decode().partition(":")[2]: int(n) for name, n in counts.items() if name.startswith(b"total:")
    }


async def minutes(redis: RedisPort, day: str = DAY) -> dict[str, int]:
    counts = await redis.hgetall(keys.minutes(day))
    return {name.decode(): int(n) for name, n in counts.items() if not name.startswith(b"total:")}


async def fails(house: House, handler: TurnHandler) -> Failed:
    """An attempt that fails and is given back, as a LaneWorker does it."""
    claim = await house.take()
    outcome = await handler.run(claim)
    assert isinstance(outcome, Failed)
    await release(house.redis, keys.inbox_queue(), claim, failed=True)
    return outcome


async def buried(house: House, handler: TurnHandler, reason: str = "sonnet: overloaded") -> Claim:
    claim = await house.take()
    await commit(house.redis, keys.inbox_queue(), claim, handler.bury(claim, reason))
    return claim


async def dies(house: House, claim: Claim) -> None:
    await lease_over(house.redis, claim.job_id)


def brain_of(*links: tuple[str, str, Sequence[Step]]) -> Brain:
    """Service, model, what it says."""
    ids = iter(range(99))
    chain = Chain(
        [
            (Candidate(Service(service, "http://127.0.0.1:1"), model), ScriptedProvider([script]))  # pyright: ignore[reportArgumentType]
            for service, model, script in links
        ],
        chance=lambda: 0.0,
        new_id=lambda: f"c{next(ids)}",
    )
    return Brain(chain, Models(tuple(dict.fromkeys(model for _, model, _ in links))))


REFUSES: Sequence[Step] = (Failure("unpaid", "HTTP 402"),)


# ── one turn ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_an_answered_turn_says_who_asked_whom_when_and_for_what(house: House) -> None:
    message = house.message("Hallo", sent_at_ms=house.now_ms - 300)
    await house.push(message)
    seen_ms = int((await house.redis.get(keys.claim_of(message.id))) or 0) - 5_000
    await house.redis.set(keys.claim_of(message.id), seen_ms)  # five seconds ago

    await house.turn()

    (life,) = await lives(house)
    (reply,) = await house.replies()
    assert (life.lane, life.owner, life.bot, life.user_id) == ("7:42:0", "home:u:42", "parcels", "42")
    assert (life.message_ids, life.reply_ids) == ((message.id,), (reply.id,))
    assert (life.state, life.asked, life.model, life.why, life.tier) == (
        "answered", "sonnet", "sonnet", "only_model", "strong",
    )  # fmt: skip
    assert life.sent_ms == house.now_ms - 300
    assert house.now_ms - 10_000 < life.received_ms <= house.now_ms - 5_000
    assert life.taken_ms == life.built_ms == life.committed_ms == house.now_ms
    (attempt,) = life.attempts
    assert (attempt.model, attempt.service, attempt.outcome, attempt.took_ms) == (
        "sonnet", "fake", "answered", 12,
    )  # fmt: skip
    assert (life.input_tokens, life.output_tokens, life.cost_microusd) == (90, 10, None)
    assert (life.session_id, life.exchange) == (life.id, 1)


async def test_a_turn_names_its_conversation_and_what_of_memory_it_quoted(house: House) -> None:
    await house.say("eins")
    await house.say("zwei", bot_id="8", bot="mail")
    await house.say("drei")

    one, two, three = await lives(house)
    assert (two.session_id, two.exchange) == (two.id, 1)
    assert one.id in two.entry_ids
    assert (three.session_id, three.exchange) == (one.id, 2)
    assert (await totals(house.redis))["conversations"] == 2


async def test_a_message_that_came_longer_ago_than_is_known_was_received_when_it_was_sent(
    house: House,
) -> None:
    message = house.message("Hallo", sent_at_ms=house.now_ms - 3 * DAY_MS)
    await house.push(message)
    await house.redis.delete(keys.claim_of(message.id))

    await house.turn()

    (life,) = await lives(house)
    assert life.received_ms == life.sent_ms == house.now_ms - 3 * DAY_MS


async def test_a_clock_that_is_shifted_shifts_all_but_telegrams_stamp(house: House) -> None:
    house.services = replace(house.services, ahead_ms=DAY_MS)
    message = house.message("Hallo", sent_at_ms=house.now_ms - DAY_MS - 50)
    await house.push(message)
    await house.redis.delete(keys.claim_of(message.id))

    await house.turn()

    (life,) = await lives(house)
    assert (life.sent_ms, life.received_ms) == (house.now_ms - DAY_MS - 50, house.now_ms - 50)


async def test_an_own_line_is_answered_by_no_model(house: House) -> None:
    await house.say("/help")

    (life,) = await lives(house)
    assert (life.state, life.asked, life.model, life.attempts, life.built_ms) == ("line", "", "", (), 0)
    assert (life.session_id, life.exchange, len(life.reply_ids)) == ("", 0, 1)
    assert await totals(house.redis) == {"messages": 1, "answered": 1, "turns": 1}


async def test_a_stopped_turn_is_answered_and_no_fallback(house: House) -> None:
    house.chain.script = [completion("So weit", ending="stopped", model="haiku", asked="sonnet")]

    await house.say("Hallo")

    (life,) = await lives(house)
    assert life.state == "stopped"
    assert await totals(house.redis) == {
        "messages": 1, "answered": 1, "turns": 1, "exchanges": 1, "conversations": 1,
    }  # fmt: skip


async def test_what_a_model_declines_is_answered_but_no_exchange(house: House) -> None:
    house.chain.script = [completion("", ending="refused")]

    await house.say("Hallo")

    assert await totals(house.redis) == {"messages": 1, "answered": 1, "turns": 1}


async def test_tools_are_named_with_how_they_ended_and_how_long_they_took(house: House) -> None:
    house = with_tools(house)
    house.chain.script = [calls(("create_task", {"title": "Milch"}), ("Quitten", {})), "gut"]

    await house.say("Denk an die Milch")

    (life,) = await lives(house)
    assert [(tool.name, tool.outcome, tool.ended_ms, tool.took_ms) for tool in life.tools] == [
        ("create_task", "done", house.now_ms, 0),
        ("?", "refused", house.now_ms, 0),
    ]
    assert len(life.attempts) == 2


async def test_an_answer_to_a_tapped_button_counts_as_part_of_its_conversation(house: House) -> None:
    house = with_tools(house, confirm=True)
    house.chain.script = [calls(("create_task", {"title": "Milch"})), "gut"]
    await house.say("Denk an die Milch")
    pending = (await house.replies())[-1].buttons[0][0].command

    await house.say(pending)

    first, second = await lives(house)
    assert (second.state, second.session_id, second.exchange) == ("line", first.id, 2)
    assert (await totals(house.redis))["exchanges"] == 1


# ── fallbacks ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("links", "fell_back"),
    [
        pytest.param([("openrouter", "sonnet", says("ja"))], False, id="the first answers"),
        pytest.param(
            [("openrouter", "sonnet", REFUSES), ("openrouter", "haiku", says("ja"))], True, id="another model"
        ),
        pytest.param(
            [("openrouter", "sonnet", REFUSES), ("compatible", "sonnet", says("ja"))],
            True,
            id="the same model elsewhere",
        ),
    ],
)
async def test_a_fallback_is_another_model_or_another_service(
    house: House, links: list[tuple[str, str, Sequence[Step]]], fell_back: bool
) -> None:
    house.services = replace(house.services, brain=brain_of(*links))

    assert await house.say("Hallo") == "ja"

    (life,) = await lives(house)
    assert life.fell_back is fell_back
    assert (life.asked, life.asked_service) == ("sonnet", "openrouter")
    assert (life.model, life.service) == (links[-1][1], links[-1][0])
    assert (await totals(house.redis)).get("fallback", 0) == int(fell_back)
    assert [attempt.outcome for attempt in life.attempts] == ["unpaid"] * fell_back + ["answered"]


async def test_a_model_that_a_plan_does_not_allow_was_not_asked(house: House) -> None:
    plans = plans_from({"free": PlanSettings(people=("*",), models=("haiku",))})
    brain = brain_of(("openrouter", "sonnet", says("nein")), ("openrouter", "haiku", says("ja")))
    house.services = replace(house.services, brain=brain, plans=plans)

    await house.say("Hallo")

    (life,) = await lives(house)
    assert (life.asked, life.model, life.fell_back) == ("haiku", "haiku", False)


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────
async def test_earlier_attempts_of_a_turn_are_its_retries_and_their_calls_belong_to_it(house: House) -> None:
    handler = house.handler
    both = (call(outcome="overloaded"), call())
    house.chain.script = [NOBODY, NOBODY, completion("ja", calls=both)]
    await house.push(house.message("Hallo"))
    for _ in range(2):
        await fails(house, handler)

    claim = await house.take()
    await house.settle(claim, await handler.run(claim))

    (life,) = await lives(house)
    assert (life.state, life.failures, len(life.attempts)) == ("answered", 2, 2)
    assert await totals(house.redis) == {
        "messages": 1, "answered": 1, "turns": 1, "exchanges": 1, "conversations": 1, "retries": 2,
    }  # fmt: skip


async def test_calls_of_failed_attempts_are_part_of_the_life_of_a_dead_letter(house: House) -> None:
    brain = brain_of(("openrouter", "sonnet", REFUSES))
    house.services = replace(house.services, brain=brain)
    handler = house.handler
    await house.push(house.message("Hallo Quitten"))
    await fails(house, handler)
    claim = await house.take()
    outcome = await handler.run(claim)
    assert isinstance(outcome, Failed)

    await commit(house.redis, keys.inbox_queue(), claim, handler.bury(claim, outcome.reason))

    (life,) = await lives(house)
    assert (life.state, life.asked, life.failures) == ("dead", "sonnet", 1)
    assert life.reason
    assert [(one.outcome, one.detail) for one in life.attempts] == [("unpaid", "HTTP 402")] * 2
    assert (life.message_ids, life.cost_microusd) == (tuple(item.id for item in claim.items), 0)
    assert await totals(house.redis) == {"messages": 1, "failed": 1, "turns": 1, "retries": 1}


async def test_a_worker_that_died_is_a_retry_and_another_one_writes_the_life(house: House) -> None:
    await house.push(house.message("Hallo"))
    claim = await house.take()
    outcome = await house.handler.run(claim)
    await dies(house, claim)

    await house.turn()
    late = await house.settle(claim, outcome)  # it was only stalled

    assert late is Committed.ALREADY
    (life,) = await lives(house)
    assert life.failures == 1
    assert (await totals(house.redis))["retries"] == (await totals(house.redis))["turns"] == 1


async def test_what_killed_its_workers_says_how_often_and_that_its_cost_is_not_known(house: House) -> None:
    await house.push(house.message("Hallo"))
    for _ in range(6):
        await dies(house, await house.take())

    await buried(house, house.handler, "the process died 6 times")

    (life,) = await lives(house)
    assert (life.state, life.failures, life.attempts, life.cost_microusd) == ("dead", 6, (), None)
    assert (await totals(house.redis))["retries"] == 6


async def test_a_repeated_commit_counts_once(house: House) -> None:
    await house.push(house.message("Hallo"))
    claim = await house.take()
    outcome = await house.handler.run(claim)

    done = [await house.settle(claim, outcome) for _ in range(3)]

    assert done == [Committed.DONE, Committed.ALREADY, Committed.ALREADY]
    assert len(await lives(house)) == 1
    assert (await totals(house.redis))["messages"] == 1


async def test_messages_that_are_tried_one_by_one_count_once_each(house: House) -> None:
    handler = house.handler
    house.chain.script = [NOBODY, "eins", NOBODY]
    for text in ("A", "B"):
        await house.push(house.message(text))
    claim = await house.take()
    assert isinstance(await handler.run(claim), Failed)
    await release(house.redis, keys.inbox_queue(), claim, split=True)

    alone = await house.take()
    await house.settle(alone, await handler.run(alone))
    dead = await buried(house, handler)

    first, second = await lives(house)
    assert (first.message_ids, second.message_ids) == ((alone.items[0].id,), (dead.items[0].id,))
    assert await totals(house.redis) == {
        "messages": 2, "answered": 1, "failed": 1, "turns": 2, "exchanges": 1, "conversations": 1,
    }  # fmt: skip


async def test_of_a_claim_only_the_messages_of_the_turn_are_in_its_life(house: House) -> None:
    plans = plans_from({"free": PlanSettings(people=("*",), messages_per_day=9)})
    house.services = replace(house.services, plans=plans)
    for text, user_id in (("A1", "42"), ("B1", "43"), ("B2", "43")):
        await house.push(house.message(text, user_id=user_id, chat_id="-100", chat_kind="group"))

    for _ in range(2):
        await house.turn()

    assert [(life.user_id, len(life.message_ids)) for life in await lives(house)] == [("42", 1), ("43", 2)]
    assert (await totals(house.redis))["messages"] == 3


async def test_what_cannot_be_read_is_dead_with_a_reason(house: House) -> None:
    await house.push(house.message("Hallo"), body=b"Quitten")

    await house.turn()

    (life,) = await lives(house)
    assert (life.state, life.owner, life.user_id, life.sent_ms) == ("dead", "home:u:42", "42", 0)
    assert await totals(house.redis) == {"messages": 1, "failed": 1, "turns": 1}


async def test_a_message_that_was_forgotten_is_no_dead_letter_and_not_counted_as_one(house: House) -> None:
    await house.push(house.message("When does the parcel come?"))
    claim = await house.take()
    await forget(house.redis, claim.owner, "parcel")

    await commit(house.redis, keys.inbox_queue(), claim, house.handler.bury(claim, "overloaded"))

    assert await house.redis.zcard(keys.dead()) == 0
    assert await totals(house.redis) == {"messages": 1, "turns": 1}


async def test_an_edit_without_news_is_no_turn(house: House) -> None:
    await house.say("Buy six", message_id=5)

    await house.push(house.message("Buy six", message_id=5, edited=True, v=2))
    await house.turn()

    assert len(await lives(house)) == 1
    assert (await totals(house.redis))["turns"] == 1


async def test_a_turn_that_is_handed_back_or_was_forgotten_writes_nothing(house: House) -> None:
    await house.push(house.message("Hallo"), body=b'{"v":99}')
    claim = await house.take()
    assert await house.settle(claim, await house.handler.run(claim)) is None
    assert isinstance(await house.handler.run(claim), HandBack)

    await house.settle(claim, await house.handler.run(replace(claim, items=())))

    assert await house.redis.exists(keys.life(), keys.minutes(DAY)) == 0


# ── the sum of it ────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_counters_are_the_truth_and_the_sum_of_all_lives(house: House) -> None:
    handler, told = house.handler, Counter[str]()
    for number in range(20):
        house.chain.script = []
        text = "/help" if number % 5 == 0 else f"Nachricht {number}"
        await house.push(house.message(text, chat_id=str(100 + number % 7), user_id=str(100 + number % 7)))
        told["messages"] += 1
        told["turns"] += 1
        if number % 5 and number % 3 == 0:
            house.chain.script = [NOBODY]
            await fails(house, handler)
            told["retries"] += 1
        if number % 7 == 3:
            await buried(house, handler)
            told["failed"] += 1
        else:
            claim = await house.take()
            outcome = await handler.run(claim)
            for _ in range(1 + number % 2):
                await house.settle(claim, outcome)
            told["answered"] += 1
            told["exchanges"] += text != "/help"
        house.later(minutes=1)

    counted, summed = await totals(house.redis), Counter[str]()
    for life in await lives(house):
        summed.update(counts_of(life))
    by_minute = Counter[str]()
    for name, n in (await minutes(house.redis)).items():
        by_minute[name.partition(":")[2]] += n
    assert {name: counted[name] for name in told} == dict(told)
    assert counted == dict(summed) == dict(by_minute)


async def test_each_minute_and_each_day_of_utc_has_its_own_counters(house: House) -> None:
    await house.say("eins")
    house.later(minutes=1)
    await house.say("zwei")
    house.later(hours=11, minutes=35)
    await house.say("drei")

    assert {name: n for name, n in (await minutes(house.redis)).items() if name.endswith(":turns")} == {
        "1223:turns": 1,
        "1224:turns": 1,
        "2359:turns": 1,
    }
    house.later(minutes=1)
    await house.say("vier")
    assert await minutes(house.redis, "2026-04-06") | {"0000:turns": 1} == await minutes(
        house.redis, "2026-04-06"
    )
    for key in (keys.minutes(DAY), keys.life()):
        assert 30 * DAY_MS < await house.redis.pttl(key) <= 32 * DAY_MS


# ── no text ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_lives_hold_no_word_of_anybody_also_after_a_forget(house: House) -> None:
    house = with_tools(house)
    house.chain.script = [
        calls(("create_task", {"title": "Schlehe"}), ("Mirabelle", {}), text="Quitten"),
        "Hagebutte",
    ]
    await house.say("Quitten")
    await house.say("/new Schlehe")
    await house.push(house.message("Mirabelle"))
    await buried(house, house.handler, "sonnet: overloaded")
    await house.push(house.message("Hallo"), body=b"Quitten")
    await house.turn()
    await forget(house.redis, "home:u:42", "all")
    await house.say("Hagebutte?")

    held = await contents(house.redis)
    assert len(await lives(house)) == 5
    for key in (keys.life(), keys.minutes(DAY)):
        assert [word for word in WORDS if word in held[key]] == []


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────
def a_life(**fields: object) -> TurnLife:
    values: dict[str, object] = {
        "id": "t", "lane": "7:42:0", "owner": "home:u:42", "bot": "b", "user_id": "42", "message_ids": ("1", "2"),
        "state": "answered", "sent_ms": 1, "received_ms": 1, "taken_ms": 1, "committed_ms": 1, **fields,
    }  # fmt: skip
    return TurnLife.model_validate(values)


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, {"messages": 2, "answered": 2, "turns": 1}),
        ({"asked": "a", "model": "b"}, {"messages": 2, "answered": 2, "fallback": 2, "turns": 1}),
        ({"asked": "a", "model": "b", "state": "stopped"}, {"messages": 2, "answered": 2, "turns": 1}),
        (
            {"asked": "a", "model": "a", "asked_service": "x", "service": "y"},
            {"messages": 2, "answered": 2, "fallback": 2, "turns": 1},
        ),
        ({"asked": "a", "model": "a", "service": "y"}, {"messages": 2, "answered": 2, "turns": 1}),
        ({"state": "dead", "failures": 2}, {"messages": 2, "failed": 2, "turns": 1, "retries": 2}),
        ({"state": "line", "exchange": 1}, {"messages": 2, "answered": 2, "turns": 1, "conversations": 1}),
        ({"exchange": 2}, {"messages": 2, "answered": 2, "turns": 1, "exchanges": 1}),
    ],
)
def test_what_a_life_counts_as(fields: dict[str, object], counts: dict[str, int]) -> None:
    assert counts_of(a_life(**fields)) == counts


def test_minutes_are_those_of_utc() -> None:
    assert minute_of(APRIL_5_14_23) == minute_of(APRIL_5_14_23 + MINUTE_MS - 1)
    assert minute_of(APRIL_5_14_23) == (keys.minutes(DAY), "1223")
    assert minute_of(0) == (keys.minutes("1970-01-01"), "0000")


@pytest.mark.parametrize("before", [0, 1, 3])
def test_the_number_of_an_exchange_is_the_one_it_gets_in_its_conversation(before: int) -> None:
    session: Session | None = None
    for number in range(before):
        session = extend(session, new_exchange(f"t{number}", 5, "q", "a"), (), 9, SessionLimits())

    name, number = exchange_of(session, "new")

    after = extend(session, new_exchange("new", 5, "q", "a"), (), 9, SessionLimits())
    assert (name, number) == (after.id, after.total)


def test_a_conversation_from_before_they_were_counted_goes_on() -> None:
    exchanges = tuple(new_exchange(f"t{n}", 5, "q", "a") for n in range(2))
    session = Session(id="s", started_ms=1, last_ms=2, exchanges=exchanges)

    assert exchange_of(session, "new") == ("s", 3)

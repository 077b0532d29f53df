"""Reminders that are due: sent once, at their wall time, by whichever worker comes first."""

# ruff: noqa: DTZ001 — wall times have no offset

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from infra import deliver as steps
from infra import keys
from infra.forget import forget
from infra.redis_port import RedisPort
from schemas.profile import Profile
from schemas.reply import Button, Reply
from schemas.things import Reminder
from schemas.wire import dump
from tests.workers.stage import BERLIN, House
from tools import firing
from tools.reminders import CreateReminder, create_reminder
from tools.store import change_effects, expects, load_things
from tools.times import at_ms
from tools.tool import Here
from workers.listing import Edit, Shown
from workers.reminders import AT_ONCE, NOT_MINE_MS, done_answer, fire_due, snooze_answer

OWNER, LANE = "home:u:42", "7:42:0"
MEMBER = f"{OWNER}|r1"


def here(house: House, owner: str = OWNER, language: str = "de", zone: ZoneInfo = BERLIN) -> Here:
    return Here(owner=owner, lane=LANE, language=language, zone=zone, now_ms=house.now_ms)


def at(house: House, *local: int, zone: ZoneInfo = BERLIN) -> None:
    """It is that time."""
    house.now_ms = at_ms(datetime(*local), zone)  # pyright: ignore[reportArgumentType]


async def remind(house: House, text: str = "Tabletten", owner: str = OWNER, **arguments: Any) -> None:
    """As a turn makes one."""
    known = await load_things(house.redis, owner)
    ran = create_reminder(CreateReminder(text=text, **arguments), here(house, owner), known)
    assert await steps.deliver(
        house.redis, expects=expects(owner, known), effects=change_effects(owner, known, ran), pushes=()
    )


async def do(house: House, answer: Edit) -> None:
    """As a command does it."""
    known = await load_things(house.redis, OWNER)
    effects = change_effects(OWNER, known, answer.ran)
    assert await steps.deliver(house.redis, expects=expects(OWNER, known), effects=effects, pushes=())


async def kept(house: House, id_: str = "r1") -> Reminder | None:
    return cast("Reminder | None", (await load_things(house.redis, OWNER)).by_id.get(id_))


async def score(house: House, member: str = MEMBER) -> float | None:
    return await house.redis.zscore(keys.due(), member)


async def texts(house: House) -> list[str]:
    return [reply.text for reply in await house.replies()]


# ── once ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_reminder_is_sent_at_its_time_and_not_before(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 14, 59, 59)
    assert await fire_due(house.services) == 0

    at(house, 2026, 4, 5, 15)
    assert await fire_due(house.services) == 1
    assert await fire_due(house.services) == 0

    (reply,) = await house.replies()
    assert reply.text == "⏰ 15:00 · Tabletten"
    assert (reply.owner, reply.lane, reply.language, reply.plain) == (OWNER, LANE, "de", True)
    assert reply.buttons == (
        (
            Button(text="✓ Erledigt", command="/done r1"),
            Button(text="10 Min.", command="/snooze r1 10m"),
            Button(text="1 Stunde", command="/snooze r1 1h"),
            Button(text="1 Tag", command="/snooze r1 1d"),
        ),
    )


async def test_a_sent_reminder_counts_as_a_change_of_its_owners_things(house: House) -> None:
    """A turn that read them before must read them again."""
    await remind(house, at="2026-04-05T15:00")
    before = await load_things(house.redis, OWNER)
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)

    assert (await load_things(house.redis, OWNER)).version == before.version + 1


@pytest.mark.parametrize("round_", range(5))
async def test_of_two_workers_that_race_one_sends(house: House, round_: int) -> None:
    for number in range(20):
        await remind(house, f"{number}", at="2026-04-05T15:00", rrule="FREQ=DAILY")
    at(house, 2026, 4, 5, 15)

    sent = await asyncio.gather(*(fire_due(house.services) for _ in range(4)))

    assert sum(sent) == 20
    assert sorted(await texts(house)) == sorted(f"⏰ 15:00 · {number}" for number in range(20))
    assert await house.redis.zcard(keys.due()) == 20


async def test_a_worker_that_read_a_reminder_before_another_sent_it_sends_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 15)
    deliver, other = steps.deliver, replace(house.services)

    async def slow(redis: RedisPort, **what: Any) -> bool:
        monkeypatch.setattr("workers.reminders.deliver", deliver)
        assert await fire_due(other) == 1
        return await deliver(redis, **what)

    monkeypatch.setattr("workers.reminders.deliver", slow)

    assert await fire_due(house.services) == 0
    assert await texts(house) == ["⏰ 15:00 · Tabletten"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_worker_that_dies_before_or_after_the_step_leaves_it_whole(
    house: House, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """It is one step: the message, the next time and the reminder change together, or nothing does."""
    await remind(house, at="2026-04-05T15:00", rrule="FREQ=DAILY")
    at(house, 2026, 4, 5, 15)
    deliver = steps.deliver

    async def dying(redis: RedisPort, **what: Any) -> bool:
        if when == "after":
            await deliver(redis, **what)
        raise RedisConnectionError("killed")

    monkeypatch.setattr("workers.reminders.deliver", dying)
    with pytest.raises(RedisConnectionError):
        await fire_due(house.services)
    found = await kept(house)
    assert found is not None
    moved = found.local == "2026-04-06T15:00"
    assert (len(await texts(house)), moved, await score(house) == found.due_ms) == (
        (0, False, True) if when == "before" else (1, True, True)
    )

    monkeypatch.setattr("workers.reminders.deliver", deliver)
    await fire_due(house.services)
    assert await texts(house) == ["⏰ 15:00 · Tabletten"]


async def test_a_reminder_that_was_changed_meanwhile_is_not_sent_as_it_was(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 15)
    deliver = steps.deliver

    async def cancelled_first(redis: RedisPort, **what: Any) -> bool:
        await house.redis.hdel(keys.things(OWNER), "r1")
        return await deliver(redis, **what)

    monkeypatch.setattr("workers.reminders.deliver", cancelled_first)

    assert await fire_due(house.services) == 0
    assert await texts(house) == []


# ── wall time: C50 ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("year", "month", "day", "hours"),
    [(2026, 10, 24, (6, 7, 7)), (2027, 3, 27, (7, 6, 6)), (2027, 10, 30, (6, 7, 7))],
    ids=["autumn 2026", "spring 2027", "autumn 2027"],
)
async def test_a_daily_reminder_keeps_its_wall_time_over_a_change_of_clocks(
    house: House, year: int, month: int, day: int, hours: tuple[int, ...]
) -> None:
    """C50: 08:00 in Berlin is 07:00 UTC in winter, 06:00 in summer; each day once."""
    at(house, 2026, 10, 24, 7)
    await remind(house, at="2026-10-24T08:00", rrule="FREQ=DAILY")
    at(house, year, month, day)
    await fire_due(house.services)  # what was missed till then
    before, fired_at = len(await texts(house)), list[datetime]()
    for _ in hours:
        house.now_ms = int(await score(house) or 0)
        house.now_ms -= 1
        assert await fire_due(house.services) == 0
        house.now_ms += 1
        assert await fire_due(house.services) == 1
        fired_at.append(datetime.fromtimestamp(house.now_ms / 1000, UTC))

    assert tuple(moment.hour for moment in fired_at) == hours
    assert [moment.day for moment in fired_at] == [
        (fired_at[0] + n * timedelta(days=1)).day for n in range(3)
    ]
    assert set((await texts(house))[before:]) == {"⏰ 08:00 · Tabletten"}


async def test_half_past_two_is_half_past_three_on_the_night_that_skips_it(house: House) -> None:
    at(house, 2027, 3, 27)
    await remind(house, at="2027-03-27T02:30", rrule="FREQ=DAILY")
    for _ in range(3):
        found = await kept(house)
        assert found is not None
        house.now_ms = found.due_ms
        await fire_due(house.services)

    assert await texts(house) == [f"⏰ {time} · Tabletten" for time in ("02:30", "03:30", "02:30")]


async def test_a_reminder_speaks_its_own_zone_and_language(house: House) -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    await remind(house, at="2026-04-06T09:00", zone="Asia/Tokyo")
    at(house, 2026, 4, 6, 9, zone=tokyo)
    await fire_due(house.services)

    assert await texts(house) == ["⏰ 09:00 (Tokyo) · Tabletten"]


async def test_who_lives_in_that_zone_is_not_told_its_name(house: House) -> None:
    await house.redis.set(keys.profile("42"), dump(Profile(zone="Asia/Tokyo")))
    await remind(house, at="2026-04-06T09:00", zone="Asia/Tokyo")
    at(house, 2026, 4, 6, 9, zone=ZoneInfo("Asia/Tokyo"))
    await fire_due(house.services)

    assert await texts(house) == ["⏰ 09:00 · Tabletten"]


# ── late ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_one_that_was_due_while_koi_was_down_says_when_it_was_due(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 17, 20)
    await fire_due(house.services)

    assert await texts(house) == [
        "⏰ 15:00 · Tabletten\nSie war fällig: So., 05.04., 15:00; koi lief da nicht."
    ]


async def test_one_that_a_busy_worker_sends_is_not_called_late(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 15, 1, 59)
    await fire_due(house.services)

    assert await texts(house) == ["⏰ 15:00 · Tabletten"]


@pytest.mark.parametrize(
    ("language", "days", "told"),
    [
        ("de", 1, "\nSeitdem war sie noch 1-mal fällig."),
        ("de", 3, "\nSeitdem war sie noch 3-mal fällig."),
    ],
)
async def test_a_recurring_one_that_missed_several_fires_once_and_says_how_many(
    house: House, language: str, days: int, told: str
) -> None:
    await remind(house, at="2026-04-05T15:00", rrule="FREQ=DAILY")
    at(house, 2026, 4, 5 + days, 15, 30)

    assert await fire_due(house.services) == 1
    assert await fire_due(house.services) == 0

    (text,) = await texts(house)
    assert text == f"⏰ 15:00 · Tabletten\nSie war fällig: So., 05.04., 15:00; koi lief da nicht.{told}"
    found = await kept(house)
    assert found is not None
    assert found.local == f"2026-04-{6 + days:02}T15:00"


# ── after it fired ───────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_reminder_that_fired_can_be_snoozed_for_a_week_and_is_then_deleted(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)
    found = await kept(house)
    assert found is not None
    assert (found.due_ms, found.fired_ms) == (0, house.now_ms)

    house.now_ms += firing.KEPT_MS - 1
    await fire_due(house.services)
    assert await kept(house) is not None

    house.now_ms += 1
    await fire_due(house.services)
    assert await kept(house) is None
    assert await score(house) is None
    assert len(await texts(house)) == 1


async def test_a_snoozed_reminder_comes_again_after_its_span(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)
    at(house, 2026, 4, 5, 15, 2)

    answer = snooze_answer(await load_things(house.redis, OWNER), "r1 10m", here(house))

    assert isinstance(answer, Edit)
    assert answer.text == "⏰ So., 05.04., 15:12 · Tabletten"
    await do(house, answer)
    at(house, 2026, 4, 5, 15, 11)
    assert await fire_due(house.services) == 0
    at(house, 2026, 4, 5, 15, 12)
    assert await fire_due(house.services) == 1
    assert await texts(house) == ["⏰ 15:00 · Tabletten", "⏰ 15:12 · Tabletten"]


async def test_a_snooze_of_a_recurring_one_does_not_cost_the_next_occurrence(house: House) -> None:
    await remind(house, at="2026-04-05T15:00", rrule="FREQ=DAILY")
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)

    for span, time in (("1h", "05.04., 16:00"), ("2d", "06.04., 15:00")):
        answer = snooze_answer(await load_things(house.redis, OWNER), f"r1 {span}", here(house))
        assert isinstance(answer, Edit)
        assert time in answer.text
    await do(house, cast("Edit", snooze_answer(await load_things(house.redis, OWNER), "r1 1h", here(house))))
    for hour, day in ((16, 5), (15, 6), (15, 7)):
        at(house, 2026, 4, day, hour)
        assert await fire_due(house.services) == 1
    assert [text[:7] for text in await texts(house)] == ["⏰ 15:00", "⏰ 16:00", "⏰ 15:00", "⏰ 15:00"]


async def test_a_reminder_that_is_done_is_deleted(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)

    answer = done_answer(await load_things(house.redis, OWNER), "r1", here(house))

    assert isinstance(answer, Edit)
    assert answer.text == "✓ Erledigt: Tabletten"
    await do(house, answer)
    assert await kept(house) is None
    assert await score(house) is None


async def test_a_recurring_one_that_is_done_stays_and_says_when_it_comes_next(house: House) -> None:
    await remind(house, at="2026-04-05T15:00", rrule="FREQ=DAILY")
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)
    await do(house, cast("Edit", snooze_answer(await load_things(house.redis, OWNER), "r1 1h", here(house))))

    answer = done_answer(await load_things(house.redis, OWNER), "r1", here(house))

    assert isinstance(answer, Edit)
    assert answer.text == "✓ Erledigt: Tabletten. Nächstes Mal: Mo., 06.04., 15:00."
    await do(house, answer)
    assert await score(house) == at_ms(datetime(2026, 4, 6, 15), BERLIN)


@pytest.mark.parametrize("argument", ["", "r9", "t1", "r1 soon"])
async def test_a_snooze_of_nothing_changes_nothing(house: House, argument: str) -> None:
    await remind(house, at="2026-04-05T15:00")

    answer = snooze_answer(await load_things(house.redis, OWNER), argument, here(house))

    assert isinstance(answer, Shown)
    assert answer.text


async def test_the_last_of_a_counted_rule_ends_like_a_single_one(house: House) -> None:
    await remind(house, at="2026-04-05T15:00", rrule="FREQ=DAILY;COUNT=2")
    for day in (5, 6):
        at(house, 2026, 4, day, 15)
        await fire_due(house.services)

    found = await kept(house)
    assert found is not None
    assert found.due_ms == 0
    assert await score(house) == house.now_ms + firing.KEPT_MS


# ── what is not as it should be ──────────────────────────────────────────────────────────────────────────────────
async def test_a_reminder_that_is_gone_is_looked_for_no_more(house: House) -> None:
    await house.redis.zadd(keys.due(), {MEMBER: 1, "nonsense": 1})

    assert await fire_due(house.services) == 0
    assert await score(house) is None


async def test_a_reminder_that_is_no_reminder_stays_where_it_is_and_is_not_tried_again(house: House) -> None:
    await house.redis.hset(keys.things(OWNER), "r1", b"{not JSON")
    await house.redis.zadd(keys.due(), {MEMBER: 1})

    await fire_due(house.services)

    assert await score(house) is None
    assert await house.redis.hget(keys.things(OWNER), "r1") == b"{not JSON"


@pytest.mark.parametrize("broken", ["newer", "rule", "lane"])
async def test_a_reminder_that_this_process_cannot_send_holds_up_no_other(house: House, broken: str) -> None:
    await remind(house, at="2026-04-05T15:00")
    await remind(house, "Müll", at="2026-04-05T15:00")
    found = await kept(house)
    assert found is not None
    new = {
        "newer": dump(found).replace(b'"v":1', b'"v":9'),
        "rule": dump(found.model_copy(update={"rrule": "FREQ=LUNAR", "first": "2026-04-05T15:00"})),
        "lane": dump(found),
    }[broken]
    await house.redis.hset(keys.things(OWNER), "r1", new)
    if broken == "lane":
        await house.redis.zadd(keys.due(), {"home:u:43|r1": 1})
        await house.redis.set(keys.things("home:u:43"), "no hash")
    at(house, 2026, 4, 5, 15)

    await fire_due(house.services)

    assert "⏰ 15:00 · Müll" in await texts(house)
    left = "home:u:43|r1" if broken == "lane" else MEMBER
    assert await score(house, left) == house.now_ms + NOT_MINE_MS
    assert await house.redis.hget(keys.things(OWNER), "r1") == new or broken == "lane"


async def test_a_reminder_in_a_zone_that_this_machine_does_not_know_fires_in_utc(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    found = await kept(house)
    assert found is not None
    await house.redis.hset(keys.things(OWNER), "r1", dump(found.model_copy(update={"zone": "Mars/Olympus"})))
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)

    assert await texts(house) == ["⏰ 13:00 (UTC) · Tabletten"]


async def test_a_score_that_is_wrong_is_put_right_and_nothing_is_sent(house: House) -> None:
    await remind(house, at="2026-04-05T15:00")
    await house.redis.zadd(keys.due(), {MEMBER: 1})

    assert await fire_due(house.services) == 0
    assert await score(house) == at_ms(datetime(2026, 4, 5, 15), BERLIN)


async def test_at_most_a_hundred_are_sent_at_once_and_the_others_next(house: House) -> None:
    for number in range(AT_ONCE + 5):
        await remind(house, f"{number}", owner=f"home:u:{number}", at="2026-04-05T15:00")
    at(house, 2026, 4, 5, 15)

    assert [await fire_due(house.services) for _ in range(3)] == [AT_ONCE, 5, 0]
    replies: list[Reply] = await house.replies()
    assert len({reply.id for reply in replies}) == AT_ONCE + 5


async def test_a_message_that_waits_for_its_bot_is_forgotten_with_its_owner_and_the_reminder_stays(
    house: House,
) -> None:
    await remind(house, at="2026-04-05T15:00", rrule="FREQ=DAILY")
    at(house, 2026, 4, 5, 15)
    await fire_due(house.services)

    await forget(house.redis, OWNER, "all")

    assert await texts(house) == []
    assert await kept(house) is not None

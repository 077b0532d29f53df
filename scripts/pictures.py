"""Makes the pictures of the README, docs/img/dashboard-now-….png: a real dashboard over an invented family's day.

python -m scripts.pictures [FOLDER]          needs Chromium
"""

import asyncio
import random
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import batched
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from bench.house import ADMIN, is_ready
from bench.stack import Stack, free_port
from infra import health, keys
from infra.effect import Effect, Push
from infra.lives import written
from infra.people import save_person
from infra.redis_port import RedisPort
from lanes.ingest import ingest
from schemas.inbound import InboundMessage
from schemas.life import Attempt, SentLife, TurnLife
from schemas.memory import RingEntry
from schemas.person import Group, Person
from schemas.wire import dump
from tests.dashboard.browser.watched import CHROMIUM
from tests.system.koi import until
from workers.life import life_effects

FOLDER = Path("docs/img")
MOST_BYTES = 200_000
FIRST, SECOND = "claude-sonnet-5-5", "claude-haiku-5-5"
ANNA, DAD, ME = "101", "102", "100"
GROUP = "-500"
LANES = {ANNA: f"7:{ANNA}:0", DAD: f"7:{DAD}:0", ME: f"7:{ME}:0", GROUP: f"7:{GROUP}:0"}
SAID = (
    (DAD, "What is left on the shopping list?"),
    (ANNA, "It should come Wednesday"),
    (GROUP, "Who picks up the children today?"),
    (ME, "What did I tell you about the boiler service?"),
    (DAD, "Remind me to take the bins out tonight"),
    (ANNA, "Can you move the dentist to Thursday?"),
    (GROUP, "What do we still need for Saturday?"),
    (ME, "Summarise the letter from the school"),
)
MINUTE_MS = 60_000
LOOKS = (("light", 1440, 900), ("dark", 1440, 900), ("phone", 390, 844))


def day(now_ms: int, chance: random.Random) -> Iterator[TurnLife]:
    """The last hour, oldest first: a quiet afternoon in which one model is rate-limited for a while."""
    exchanges = dict.fromkeys(LANES, 0)
    at_ms = now_ms - 59 * MINUTE_MS
    for nth in range(10_000):
        at_ms += round(chance.expovariate(1 / 40_000))
        if at_ms > now_ms - 20_000:
            return
        who, _ = SAID[nth % len(SAID)]
        exchanges[who] += 1
        yield turn(nth, who, at_ms, exchanges[who], chance, throttled=now_ms - at_ms < 9 * MINUTE_MS)


def turn(
    nth: int, who: str, at_ms: int, exchange: int, chance: random.Random, *, throttled: bool
) -> TurnLife:
    """One answer; while the first model is throttled, two of three come from the second."""
    took = chance.randint(1400, 4200)
    attempts = [
        Attempt(model=FIRST, service="anthropic", outcome="answered", ended_ms=at_ms - 60, took_ms=took)
    ]
    is_fallback = throttled and nth % 3 != 0
    if is_fallback:
        took //= 2
        attempts = [
            Attempt(
                model=FIRST, service="anthropic", outcome="rate_limited", ended_ms=at_ms - 80 - took, took_ms=240
            ),
            Attempt(model=SECOND, service="anthropic", outcome="answered", ended_ms=at_ms - 60, took_ms=took),
        ]  # fmt: skip
    built_ms = attempts[0].ended_ms - attempts[0].took_ms
    read, wrote = chance.randint(900, 3400), chance.randint(60, 380)
    lane = LANES[who]
    return TurnLife(
        id=f"home-1-{nth}", lane=lane, owner=owner_of(who), bot="home", user_id=ANNA if who == GROUP else who,
        message_ids=(f"7:{nth}",), state="answered", sent_ms=built_ms - 900, received_ms=built_ms - 700,
        taken_ms=built_ms - 260, built_ms=built_ms, committed_ms=at_ms, attempts=tuple(attempts), asked=FIRST,
        asked_service="anthropic", model=attempts[-1].model, service="anthropic", why="demanding", tier="strong",
        input_tokens=read, output_tokens=wrote, cost_microusd=read // 2 + wrote * 6, session_id=f"s-{who}-{exchange // 6}",
        exchange=exchange % 6 + 1, reply_ids=(f"home-1-{nth}:answer",),
    )  # fmt: skip


def owner_of(who: str) -> str:
    """Of a memory."""
    return f"home:g:{who}:0" if who == GROUP else f"home:u:{who}"


async def furnish(redis: RedisPort, now_ms: int) -> None:
    """As bots and workers would have written it."""
    chance = random.Random(11)
    await save_person(redis, Person(user_id=ME, name="Me", role="owner"))
    for user_id, name in ((ANNA, "Anna"), (DAD, "Dad")):
        await save_person(redis, Person(user_id=user_id, name=name))
    await redis.hset(keys.groups(), GROUP, dump(Group(chat_id=GROUP, title="Family")))
    lives = list(day(now_ms, chance))
    for nth, life in enumerate(lives):
        await _apply(redis, life_effects(life))
        sent_ms = life.committed_ms + 350
        sent = SentLife(
            reply_id=life.reply_ids[0], lane=life.lane, bot_id="7", taken_ms=sent_ms - 300, sent_ms=(sent_ms,), ended_ms=sent_ms
        )  # fmt: skip
        await _apply(redis, written("sent", sent))
        await redis.rpush(keys.ring(life.owner), dump(entry_of(life, SAID[nth % len(SAID)][1])))
    await spend(redis, lives, now_ms)
    for nth, (who, text) in enumerate(((ANNA, "And on Friday?"),)):
        message = InboundMessage(
            id=f"7:9{nth}", bot_id="7", bot="home", chat_id=who, user_id=who, sent_at_ms=now_ms, text=text
        )
        job = keys.inbox_job(message.lane)
        await ingest(redis, [Push(job, keys.inbox_queue(), message.id, dump(message), message.owner)])


def entry_of(life: TurnLife, text: str) -> RingEntry:
    """What is remembered of a turn."""
    return RingEntry(
        id=life.id, at_ms=life.committed_ms, user_message=text, summary="Done.", reply="Done.", bot="home", lane=life.lane
    )  # fmt: skip


async def spend(redis: RedisPort, lives: Iterable[TurnLife], now_ms: int) -> None:
    """The counters of people: today, and a month of such days."""
    day_name = time.strftime("%Y-%m-%d", time.gmtime(now_ms / 1000))
    for life in lives:
        cost = life.cost_microusd or 0
        for period, times in ((day_name, 1), (day_name[:7], 20)):
            await _apply(
                redis, [Effect("HINCRBY", keys.spent(life.user_id, period), ("microusd", times * cost))]
            )


async def _apply(redis: RedisPort, effects: Iterable[Effect]) -> None:
    async with redis.pipeline(transaction=False) as pipe:
        for effect in effects:
            many = effect.command == "HINCRBY"  # of which a commit takes several at once
            for args in batched(effect.args, 2) if many else (effect.args,):
                pipe.execute_command(effect.command, effect.key, *args)
        await pipe.execute()


async def beat(redis: RedisPort) -> None:
    """A worker of four slots and a bot live."""
    while True:
        await health.beat(redis, "worker", "home-1")
        await health.beat(redis, "bot", "home-2")
        await redis.set(keys.slots("home-1"), "4", px=60_000)
        await asyncio.sleep(health.BEAT_S)


async def picture(browser: Browser, url: str, file: Path, look: str, width: int, height: int) -> None:
    """Now, as somebody sees it."""
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="light" if look == "light" else "dark", locale="en-GB"
    )  # fmt: skip
    page = await context.new_page()
    await page.goto(f"{url}/login")
    await page.fill("#password", ADMIN)
    await page.click("button.primary")
    await page.locator("#pill .dot", has_text="Live").wait_for()
    await page.locator(".u-over").wait_for(state="attached")
    await page.screenshot(path=file)
    await context.close()


async def make(folder: Path) -> None:
    with Stack() as stack:
        redis = await stack.redis_ready()
        await furnish(redis, time.time_ns() // 1_000_000)
        address = f"127.0.0.1:{free_port()}"
        stack.koi(
            "dashboard", "dashboard", KOI_DASHBOARD_BIND=address, KOI_DASHBOARD_PASSWORD=ADMIN, TZ="UTC"
        ).start()
        beating = asyncio.create_task(beat(redis))
        await until(lambda: is_ready(f"http://{address}"), what="the dashboard")
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM)
            for look, width, height in LOOKS:
                await picture(
                    browser, f"http://{address}", folder / f"dashboard-now-{look}.png", look, width, height
                )
            await browser.close()
        beating.cancel()
        await redis.aclose(close_connection_pool=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(make(target))
    for picture_file in target.glob("dashboard-now-*.png"):
        if picture_file.stat().st_size > MOST_BYTES:
            raise SystemExit(f"{picture_file} has more than {MOST_BYTES} bytes")

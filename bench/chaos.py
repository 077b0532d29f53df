"""Nothing lost, doubled or reordered, whichever process dies.

Two bots and two workers under load, for a minute or so: bots and workers are killed (−9) and stopped for longer than a
lease, Valkey is killed and restarted from its append-only file, answers of scripts are lost, updates are fed twice,
Telegram accepts messages and drops the connection. In the end everything is counted.
"""

import argparse
import asyncio
import random
import re
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import orjson
from rich.progress import Progress

from bench.flaky_proxy import FlakyProxy
from bench.report import Report, arguments
from bench.stack import Process, Stack, free_port
from infra import keys
from infra.redis_port import RedisPort
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault

TOKEN = re.compile(r"\bm(\d+)\b")
LEASE_S = 2.0
BOTS = ("7001", "7002")


@dataclass
class Faults:
    """What was done to it."""

    counts: Counter[str] = field(default_factory=Counter[str])
    started_s: float = field(default_factory=time.monotonic)


@dataclass
class Sent:
    """What was fed: for each lane the numbers of its messages, in order."""

    lanes: dict[tuple[str, int], list[int]] = field(default_factory=dict[tuple[str, int], list[int]])
    number: int = 0
    duplicates: int = 0


def say(fake: FakeTelegram, sent: Sent, bot_id: str, user_id: int, duplicate: float) -> None:
    """One message of one person; sometimes Telegram delivers it twice."""
    sent.number += 1
    sent.lanes.setdefault((bot_id, user_id), []).append(sent.number)
    update = {"message": fake.message(bot_id, user_id, f"m{sent.number}")}
    fake.feed(bot_id, update)
    if random.random() < duplicate:
        sent.duplicates += 1
        fake.feed(bot_id, dict(update))


async def feed(fake: FakeTelegram, sent: Sent, options: argparse.Namespace, progress: Progress) -> None:
    """Messages at a steady rate, in random order of people and bots."""
    task = progress.add_task("feeding", total=options.messages)
    people = [(bot_id, 100 + person) for bot_id in BOTS for person in range(options.lanes // len(BOTS))]
    while sent.number < options.messages:
        await asyncio.sleep(random.expovariate(options.messages / options.seconds))
        say(fake, sent, *random.choice(people), duplicate=0.1)
        progress.update(task, completed=sent.number)


async def break_things(
    stack: Stack,
    proxy: FlakyProxy,
    bots: list[Process],
    workers: list[Process],
    options: argparse.Namespace,
    faults: Faults,
) -> None:
    """Every few seconds something dies or stands still, until cancelled."""
    while True:
        await asyncio.sleep(random.uniform(0.5, 1.5) * options.every)
        match random.choices(["kill worker", "stop worker", "kill bot", "stop bot", "kill valkey", "lose answers"],
                             weights=[5, 3, 3, 2, 1, 3])[0]:  # fmt: skip
            case "kill worker" as what:
                await restart(random.choice(workers))
            case "kill bot" as what:
                await restart(random.choice(bots))
            case "stop worker" as what:
                await freeze(random.choice(workers))
            case "stop bot" as what:
                await freeze(random.choice(bots))
            case "kill valkey" as what:
                await restart(stack.valkey, pause_s=0.5)
            case what:
                before = proxy.lost
                proxy.lose = 0.02
                await asyncio.sleep(1)
                proxy.lose = 0
                faults.counts["answers lost"] += proxy.lost - before
                continue
        faults.counts[what] += 1


async def restart(process: Process, pause_s: float = 0) -> None:
    process.send(signal.SIGKILL)
    await asyncio.to_thread(process.wait)
    await asyncio.sleep(pause_s)
    process.start()


async def freeze(process: Process) -> None:
    process.send(signal.SIGSTOP)
    await asyncio.sleep(1.75 * LEASE_S)
    process.send(signal.SIGCONT)


async def drained(redis: RedisPort, fake: FakeTelegram, timeout_s: float) -> bool:
    """Nothing waits anywhere any more."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        waiting = [key async for key in redis.scan_iter(match=keys.items("*"))]
        unconfirmed = sum(len(bot.updates) for bot in fake.bots.values())
        if not waiting and not unconfirmed:
            return True
        await asyncio.sleep(0.2)
    return False


@dataclass
class Counts:
    """What must be zero, and what is only told."""

    lost: int = 0
    misordered_lanes: int = 0
    doubled_replies_unmarked: int = 0
    missing_in_memory: int = 0
    doubled_in_memory: int = 0
    misordered_in_memory: int = 0
    marked: int = 0
    replies: int = 0


def count_replies(fake: FakeTelegram, sent: Sent, counts: Counts) -> None:
    """What people saw against what they wrote."""
    seen: dict[tuple[str, int], list[int]] = {}
    texts: Counter[tuple[str, int, str]] = Counter()
    for call in fake.calls:
        if not call.delivered:
            continue
        lane, text = (call.bot_id, int(call.fields["chat_id"])), str(call.fields["text"])
        counts.replies += 1
        marked = "↻" in text
        counts.marked += marked
        numbers = [int(number) for number in TOKEN.findall(text)]
        texts[(*lane, " ".join(map(str, numbers)))] += not marked
        seen.setdefault(lane, []).extend(numbers)
    counts.doubled_replies_unmarked = sum(count - 1 for count in texts.values() if count > 1)
    for lane, wanted in sent.lanes.items():
        answered = list(dict.fromkeys(seen.get(lane, [])))
        counts.lost += len(set(wanted) - set(answered))
        counts.misordered_lanes += answered != [number for number in wanted if number in set(answered)]


async def count_memory(redis: RedisPort, sent: Sent, counts: Counts) -> None:
    """What is remembered: people share their memory over both bots, so order is looked at per lane."""
    for user_id in {user_id for _, user_id in sent.lanes}:
        entries = [orjson.loads(raw) for raw in await redis.lrange(keys.ring(f"home:u:{user_id}"), 0, -1)]
        for bot_id in BOTS:
            wanted = sent.lanes.get((bot_id, user_id), [])
            lane = f"{bot_id}:{user_id}:0"
            texts = [entry["user_message"] for entry in entries if entry["lane"] == lane]
            found = [int(number) for text in texts for number in TOKEN.findall(text)]
            counts.missing_in_memory += len(set(wanted) - set(found))
            counts.doubled_in_memory += len(found) - len(set(found))
            counts.misordered_in_memory += found != sorted(found)


async def run(options: argparse.Namespace) -> int:
    sent, faults, counts = Sent(), Faults(), Counts()
    fake = FakeTelegram()
    environment = {
        "KOI_MEMORY__ENTRIES": "1000", "KOI_QUEUE__LEASE": f"{LEASE_S:g}s", "KOI_TELEGRAM__MESSAGES_PER_SECOND": "1000",
        "KOI_TELEGRAM__CHAT_MESSAGES_PER_SECOND": "1000",
        "KOI_TELEGRAM__PERSON_MESSAGES_PER_MINUTE": "1000000", "KOI_TELEGRAM__PERSON_MESSAGES_PER_HOUR": "1000000",
        "TELEGRAM_ALLOWED_USERS": ",".join(str(100 + person) for person in range(options.lanes)),
    }  # fmt: skip
    with Stack(environment) as stack, Progress(transient=True) as progress:
        redis = await stack.redis_ready()
        model_port = _model(stack, options)
        async with fake.running(), FlakyProxy(stack.redis_port) as proxy:
            bots = [
                stack.koi(f"bot-{bot_id}", "bot", REDIS_URL=f"redis://127.0.0.1:{proxy.port}/0", TELEGRAM_BOT_TOKEN=f"{bot_id}:secret",
                          TELEGRAM_API_BASE=fake.base)
                for bot_id in BOTS
            ]  # fmt: skip
            workers = [
                stack.koi(f"worker-{number}", "worker", REDIS_URL=f"redis://127.0.0.1:{proxy.port}/0", ANTHROPIC_API_KEY="x", KOI_MODEL="echo",
                          ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model_port}")
                for number in (1, 2)
            ]  # fmt: skip
            for process in bots + workers:
                process.start()
            await warm_up(fake, sent, progress)
            fake.fault(Fault("drop_after", times=-1, chance=0.01))
            async with asyncio.TaskGroup() as group:
                breaker = group.create_task(break_things(stack, proxy, bots, workers, options, faults))
                await feed(fake, sent, options, progress)
                breaker.cancel()
            _revive(stack)
            fake.faults.clear()
            ended_s = time.monotonic()
            empty = await drained(redis, fake, timeout_s=options.drain)
            drain_s = time.monotonic() - ended_s
            count_replies(fake, sent, counts)
            await count_memory(redis, sent, counts)
            report = await write(redis, sent, faults, counts, drain_s)
            report.must_be_zero["lanes that never drained"] = int(not empty)
            code = report.finish(options.json)
            if code and options.keep:
                sys.exit("stopped with the counts above; logs in " + str(stack.folder))
            return code


def _model(stack: Stack, options: argparse.Namespace) -> int:
    port = free_port()
    stack.python(
        "model", "-m", "tests.fakes.model_server", "--port", str(port), "--delay", str(options.think)
    ).start()
    return port


def _revive(stack: Stack) -> None:
    """Whatever was left standing still or dead by a cancelled fault."""
    for process in stack.processes:
        if process.child is not None and process.child.poll() is not None:
            process.start()
        else:
            process.send(signal.SIGCONT)


async def warm_up(fake: FakeTelegram, sent: Sent, progress: Progress) -> None:
    """Wait until both bots answer."""
    task = progress.add_task("starting", total=None)
    for bot_id in BOTS:
        say(fake, sent, bot_id, 100, duplicate=0)
    async with asyncio.timeout(90):
        while {call.bot_id for call in fake.calls if call.delivered} != set(BOTS):
            await asyncio.sleep(0.1)
    progress.remove_task(task)


async def write(redis: RedisPort, sent: Sent, faults: Faults, counts: Counts, drain_s: float) -> Report:
    report = Report("chaos", ["what", "count"])
    report.row("messages", sent.number)
    report.row("of these fed twice", sent.duplicates)
    report.row("lanes", len(sent.lanes))
    for what, count in sorted(faults.counts.items()):
        report.row(what, count)
    report.row("replies people saw", counts.replies)
    report.row("of these resent and marked", counts.marked)
    report.row("drained after the last message, s", round(drain_s, 1))
    dead = await redis.zcard(keys.dead())
    swept = int(await redis.get(keys.count("swept")) or 0)
    report.must_be_zero = {
        "lost": counts.lost, "lanes answered out of order": counts.misordered_lanes,
        "doubled replies without a mark": counts.doubled_replies_unmarked,
        "missing in memory": counts.missing_in_memory, "doubled in memory": counts.doubled_in_memory,
        "lanes out of order in memory": counts.misordered_in_memory,
        "healthy messages among the dead letters": dead, "lanes repaired by the sweep": swept,
    }  # fmt: skip
    report.figures = {str(what): count for what, count in report.rows} | {"drain_s": drain_s}
    return report


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--messages", type=int, default=1800)
    parser.add_argument("--lanes", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=90, help="over which the messages are fed")
    parser.add_argument("--every", type=float, default=3, help="seconds between two faults")
    parser.add_argument("--think", type=float, default=0.4, help="seconds the model takes")
    parser.add_argument("--drain", type=float, default=120)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="keep the logs when a count is not zero")
    options = parser.parse_args()
    random.seed(options.seed)
    return asyncio.run(run(options))


if __name__ == "__main__":
    sys.exit(main())

"""What the records of messages' lives cost: two pipelines, one with and one without them, take turns at small batches."""

import argparse
import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import median

from bench.latency import BOT, LIMITS
from bench.report import Report, arguments
from bench.stack import Process, Stack
from bench.throughput import FIRST_USER, answered, through
from infra import keys
from tests.fakes.telegram import FakeTelegram


@dataclass
class Pipeline:
    """Telegram, bot, worker and Valkey of its own."""

    name: str
    fake: FakeTelegram
    stack: Stack
    processes: list[Process]
    """Those whose CPU is counted."""
    sent: int = 0

    async def start(self) -> None:
        for process in self.processes[:2]:
            process.start()
        self.fake.say(BOT, FIRST_USER, "warm up")
        await answered(self.fake, 1)
        self.sent += 1

    async def batch(self, messages: int) -> tuple[float, float]:
        """Messages per second, and CPU µs for each."""
        found = await through(self.fake, self.processes, messages)
        self.sent += messages + 1
        return found

    async def counted(self) -> int:
        """Turns, as the counters know them."""
        redis = self.stack.redis()
        days = [key.decode() async for key in redis.scan_iter(match=keys.minutes("*"))]
        turns = sum([int(await redis.hget(day, "total:turns") or 0) for day in days])
        await redis.aclose()
        return turns


async def pipeline(over: AsyncExitStack, name: str, users: str, *, records: bool) -> Pipeline:
    stack, fake = over.enter_context(Stack(LIMITS | {"TELEGRAM_ALLOWED_USERS": users})), FakeTelegram()
    await (await stack.redis_ready()).aclose()
    await over.enter_async_context(fake.running())
    bot = stack.koi("bot", "bot", TELEGRAM_BOT_TOKEN=f"{BOT}:secret", TELEGRAM_API_BASE=fake.base)
    worker = stack.koi("worker", "worker")
    if not records:
        for process in (bot, worker):
            process.command = [sys.executable, "-m", "bench.records_off", *process.command[1:]]
    return Pipeline(name, fake, stack, [bot, worker, stack.valkey])


async def run(options: argparse.Namespace) -> int:
    report = Report("records", ["pipeline", "per second", "CPU µs each"])
    users = ",".join(str(FIRST_USER + number) for number in range(options.messages + 1))
    async with AsyncExitStack() as over:
        kept = await pipeline(over, "with records", users, records=True)
        bare = await pipeline(over, "without", users, records=False)
        found: dict[str, list[tuple[float, float]]] = {kept.name: [], bare.name: []}
        for one in (kept, bare):
            await one.start()
            await one.batch(options.messages)
        for number in range(options.rounds):
            for one in (kept, bare) if number % 2 else (bare, kept):
                found[one.name].append(await one.batch(options.messages))
        report.must_be_zero["turns that are not in the counters"] = kept.sent - await kept.counted()
        report.must_be_zero["turns that are, though nobody was to count them"] = await bare.counted()
    for name, values in found.items():
        report.row(name, median(per_s for per_s, _ in values), median(cpu for _, cpu in values))
    pairs = list(zip(found[kept.name], found[bare.name], strict=True))
    lost = 1 - median(with_[0] / without[0] for with_, without in pairs)
    more = median(with_[1] / without[1] for with_, without in pairs) - 1
    report.figures = {"throughput_lost": lost, "cpu_more": more, "pairs": len(pairs)}
    report.notes.append(
        f"records cost {lost:.1%} of the throughput (goal < 10 %) and {more:.1%} more CPU; medians of {len(pairs)} pairs"
    )
    return report.finish(options.json)


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--messages", type=int, default=200, help="of a batch")
    parser.add_argument("--rounds", type=int, default=20, help="batches of each")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

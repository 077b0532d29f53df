"""Messages per second through one bot and one worker process, one message per lane; peers do no-op jobs."""

import argparse
import asyncio
import sys
import time

from bench.latency import BOT, LIMITS
from bench.peers.run import ARQ, SAQ, TASKIQ, peer
from bench.report import Report, arguments
from bench.stack import Process, Stack
from tests.fakes.telegram import FakeTelegram

FIRST_USER = 100_000


async def answered(fake: FakeTelegram, count: int, timeout_s: float = 300) -> None:
    """Wait until so many messages were delivered."""
    seen, delivered = 0, 0
    async with asyncio.timeout(timeout_s):
        while delivered < count:
            await asyncio.sleep(0.02)
            calls = fake.calls[seen:]
            finished = [call for call in calls if call.status or call.delivered]
            if len(finished) < len(calls):  # a poll that hangs is the last one: look at it again
                calls = calls[
                    : next(i for i, call in enumerate(calls) if not (call.status or call.delivered))
                ]
            seen += len(calls)
            delivered += sum(call.delivered for call in calls)


async def through(fake: FakeTelegram, processes: list[Process], messages: int) -> tuple[float, float]:
    """Messages per second and CPU µs per message of the given processes."""
    fake.calls.clear()
    for number in range(messages):
        fake.bot(BOT).updates.append(_update(fake, number))
    cpu_before, started = sum(process.cpu_s() for process in processes), time.monotonic()
    fake.feed(BOT, _update(fake, messages))
    while sum(call.delivered for call in fake.calls) < messages + 1:
        await asyncio.sleep(0.05)
    took_s = time.monotonic() - started
    cpu_s = sum(process.cpu_s() for process in processes) - cpu_before
    return messages / took_s, cpu_s / messages * 1e6


def _update(fake: FakeTelegram, number: int) -> dict[str, object]:
    bot = fake.bot(BOT)
    bot.next_update_id += 1
    return {"update_id": bot.next_update_id, "message": fake.message(BOT, FIRST_USER + number, "hello koi")}


async def run(options: argparse.Namespace) -> int:
    report = Report("throughput", ["what", "per second", "CPU µs each"])
    users = ",".join(str(FIRST_USER + number) for number in range(options.messages + 1))
    fake = FakeTelegram()
    with Stack(LIMITS | {"TELEGRAM_ALLOWED_USERS": users}) as stack:
        await stack.redis_ready()
        url = f"redis://127.0.0.1:{stack.redis_port}/5"
        arq = peer("arq_noop.py", ARQ, url, str(options.messages))
        async with fake.running():
            bot = stack.koi("bot", "bot", TELEGRAM_BOT_TOKEN=f"{BOT}:secret", TELEGRAM_API_BASE=fake.base)
            worker = stack.koi("worker", "worker")
            bot.start()
            worker.start()
            fake.say(BOT, FIRST_USER, "warm up")
            await answered(fake, 1)
            await through(fake, [bot, worker], min(200, options.messages))
            best = max([await through(fake, [bot, worker], options.messages) for _ in range(options.rounds)])
        peers = [peer("saq_noop.py", SAQ, url, str(options.messages)),
                 peer("taskiq_noop.py", TASKIQ, url, str(options.messages))]  # fmt: skip
        again = peer("arq_noop.py", ARQ, url, str(options.messages))
    report.row("koi: message in, answer sent", *best)
    for found in (arq, again, *peers):
        if found:
            report.row(f"no-op job: {found['peer']}", found["jobs_s"], found["cpu_us"])
    report.figures = {"messages_s": best[0], "cpu_us": best[1]}
    if arq and again:
        jobs_s, cpu_us = max(arq["jobs_s"], again["jobs_s"]), min(arq["cpu_us"], again["cpu_us"])
        report.figures |= {"of_arq_noop": best[0] / jobs_s, "cpu_over_arq_noop": best[1] / cpu_us}
        report.notes.append(
            f"koi / stock arq no-op: {best[0] / jobs_s:.2f}× per second, {best[1] / cpu_us:.2f}× CPU (bot and worker together)"
        )
    return report.finish(options.json)


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2)
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

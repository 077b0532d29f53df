"""How much koi adds: from the moment Telegram hands over an update to the moment sendMessage reaches it, idle."""

import argparse
import asyncio
import sys

from bench.peers.run import ARQ, peer
from bench.report import Report, arguments, quantile
from bench.stack import Stack
from tests.fakes.telegram import FakeTelegram

BOT = "7001"
LIMITS = {
    "KOI_MODEL": "offline",
    "KOI_TELEGRAM__MESSAGES_PER_SECOND": "100000",
    "KOI_TELEGRAM__CHAT_MESSAGES_PER_SECOND": "100000",
    "KOI_TELEGRAM__PERSON_MESSAGES_PER_MINUTE": "1000000",
    "KOI_TELEGRAM__PERSON_MESSAGES_PER_HOUR": "1000000",
}


async def one(fake: FakeTelegram, user_id: int, text: str, timeout_s: float = 90) -> float:
    """Milliseconds until the (first) reply to one message arrives."""
    before = len(fake.calls)
    fed_ms = fake.now() * 1000
    fake.say(BOT, user_id, text)
    async with asyncio.timeout(timeout_s):
        while True:
            for call in fake.calls[before:]:
                if call.delivered and call.fields["chat_id"] in {user_id, str(user_id)}:
                    return call.at_ms - fed_ms
            await asyncio.sleep(0.0005)


async def measure(fake: FakeTelegram, messages: int, text: str) -> list[float]:
    latencies: list[float] = []
    for number in range(messages):
        latencies.append(await one(fake, 1000 + number, text))
        await asyncio.sleep(0.02)
    return latencies


async def run(options: argparse.Namespace) -> int:
    report = Report("latency", ["path", "messages", "p50 ms", "p90 ms", "p99 ms"])
    users = ",".join(str(1000 + number) for number in range(options.messages))
    fake = FakeTelegram()
    with Stack(LIMITS | {"TELEGRAM_ALLOWED_USERS": users}) as stack:
        await stack.redis_ready()
        async with fake.running():
            stack.koi("bot", "bot", TELEGRAM_BOT_TOKEN=f"{BOT}:secret", TELEGRAM_API_BASE=fake.base).start()
            stack.koi("worker", "worker").start()
            await one(fake, 1000, "warm up")
            await measure(fake, 20, "hello koi")
            koi = await measure(fake, options.messages, "hello koi")
            long = await measure(fake, 10, "x" * 4050)
        arq = peer("arq_chain.py", ARQ, f"redis://127.0.0.1:{stack.redis_port}/5", "40")
    for name, values in (("koi, plain text", koi), ("koi, 4,050 characters (waits 700 ms for more)", long)):
        report.row(name, len(values), quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99))
    report.figures = {"p50_ms": quantile(koi, 0.5), "p99_ms": quantile(koi, 0.99)}
    if arq:
        report.row("stock arq, two jobs, poll 0.5 s", len(arq), *(quantile(arq, q) for q in (0.5, 0.9, 0.99)))
        ratio = quantile(arq, 0.5) / quantile(koi, 0.5)
        report.figures["arq_p50_over_koi_p50"] = ratio
        report.notes.append(f"stock arq / koi at p50: {ratio:.0f}×")
    return report.finish(options.json)


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--messages", type=int, default=300)
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

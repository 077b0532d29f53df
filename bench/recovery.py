"""How long after kill −9 of a worker in mid-turn the turn runs again elsewhere."""

import argparse
import asyncio
import sys
import time

from bench.latency import BOT, LIMITS
from bench.report import Report, arguments, quantile
from bench.stack import Process, Stack
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram

USER = 1000
THINKING_S = 3600
ARQ_S = 310
"""Stock arq: the in-progress key lives job timeout (300 s) + 10 s and is never renewed; 309.4 s were measured once."""


async def asked(model: ModelServer, times: int, timeout_s: float = 120) -> float:
    """Wait for the n-th request; gives the monotonic time of seeing it."""
    async with asyncio.timeout(timeout_s):
        while len(model.requests) < times:
            await asyncio.sleep(0.005)
    return time.monotonic()


async def run(options: argparse.Namespace) -> int:
    report = Report("recovery", ["kill −9 in mid-turn", "seconds until it runs again"])
    fake, model = FakeTelegram(), ModelServer()
    found_s: list[float] = []
    environment = LIMITS | {"TELEGRAM_ALLOWED_USERS": str(USER), "KOI_QUEUE__LEASE": f"{options.lease:g}s"}
    with Stack(environment) as stack:
        await stack.redis_ready()
        await model.start()
        async with fake.running():
            stack.koi("bot", "bot", TELEGRAM_BOT_TOKEN=f"{BOT}:secret", TELEGRAM_API_BASE=fake.base).start()
            model.always(Answer(delay_s=THINKING_S))
            worker = _worker(stack, model, 0)
            worker.start()
            fake.say(BOT, USER, "think")
            await asked(model, 1)
            for number in range(1, options.times + 1):
                spare = _worker(stack, model, number)
                spare.start()
                await asyncio.sleep(options.warm)  # it is idle and listens
                killed_at = time.monotonic()
                worker.kill()
                found_s.append(await asked(model, number + 1) - killed_at)
                report.row(f"{number}", found_s[-1])
                worker = spare
        await model.stop()
    worst = max(found_s)
    report.row("median", quantile(found_s, 0.5))
    report.row(f"stock arq ({ARQ_S} s: job timeout + 10 s)", float(ARQ_S))
    report.figures = {"worst_s": worst, "lease_s": options.lease, "worst_over_lease": worst / options.lease}
    report.notes.append(f"worst / lease: {worst / options.lease:.2f} (goal ≤ 1.5)")
    return report.finish(options.json)


def _worker(stack: Stack, model: ModelServer, number: int) -> Process:
    return stack.koi(f"worker-{number}", "worker", ANTHROPIC_API_KEY="x", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="slow",
                     KOI_TURN__DEADLINE="3h")  # fmt: skip


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--lease", type=float, default=10)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--warm", type=float, default=12, help="seconds for the next worker to start")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

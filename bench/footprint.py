"""Resident memory, idle, after one answered message."""

import argparse
import asyncio
import sys

import psutil

from bench.latency import BOT, LIMITS, one
from bench.report import Report, arguments
from bench.stack import Process, Stack
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram

USER = 1000
SETTLE_S = 3


def with_children_mb(process: Process) -> float:
    """RSS of a process and what it started."""
    root = psutil.Process(process.pid)
    return sum(one.memory_info().rss for one in (root, *root.children(recursive=True))) / 1e6


async def run(options: argparse.Namespace) -> int:
    report = Report("footprint", ["what", "MB resident", "goal"])
    fake, model = FakeTelegram(), ModelServer()
    await model.start()
    keys = {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": model.url, "KOI_MODEL": "echo"}
    telegram = {"TELEGRAM_BOT_TOKEN": f"{BOT}:secret", "TELEGRAM_ALLOWED_USERS": str(USER)}
    async with fake.running():
        telegram["TELEGRAM_API_BASE"] = fake.base
        with Stack(LIMITS) as stack:
            await stack.redis_ready()
            bot, worker = stack.koi("bot", "bot", **telegram), stack.koi("worker", "worker", **keys)
            bot.start()
            worker.start()
            await one(fake, USER, "hello")
            await asyncio.sleep(SETTLE_S)
            apart = {"koi bot": (bot.rss_mb(), 200), "koi worker": (worker.rss_mb(), 130)}
        with Stack(LIMITS) as stack:
            up = stack.koi(
                "up", "up", **telegram, **keys, REDIS_URL="", KOI_DATA_DIR=str(stack.folder / "data")
            )
            up.start()
            await one(fake, USER, "hello")
            await asyncio.sleep(SETTLE_S)
            valkey_mb = sum(
                _rss(found)
                for found in psutil.process_iter()
                if _is_valkey_of(found, str(stack.folder / "data"))
            )
            together = with_children_mb(up) + valkey_mb * (not _is_child(up, str(stack.folder / "data")))
    await model.stop()
    for name, (found_mb, goal_mb) in {**apart, "koi up with its Valkey": (together, 280)}.items():
        report.row(name, found_mb, goal_mb)
        report.figures[name] = found_mb
    report.figures["valkey alone"] = valkey_mb
    return report.finish(options.json)


def _rss(process: psutil.Process) -> float:
    return process.memory_info().rss / 1e6


def _is_valkey_of(process: psutil.Process, folder: str) -> bool:
    try:
        return "valkey" in process.name() and folder in " ".join(process.cmdline())
    except psutil.Error:
        return False


def _is_child(up: Process, folder: str) -> bool:
    return any(_is_valkey_of(child, folder) for child in psutil.Process(up.pid).children(recursive=True))


def main() -> int:
    return asyncio.run(run(arguments(__doc__ or "").parse_args()))


if __name__ == "__main__":
    sys.exit(main())

"""A koi with its dashboard, all of real processes: bot, worker and dashboard on a Valkey of its own, a fake Telegram, a model
server that does as it is told.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import httpx

from bench.stack import Process, Stack, free_port
from infra.redis_port import RedisPort
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system.koi import ENVIRONMENT, token, until

ADMIN, READER = "carp", "roach"
"""The passwords of the dashboard."""
OWNER = 900


@dataclass(frozen=True, slots=True)
class House:
    """Started; `koi.toml` is the caller's."""

    stack: Stack
    telegram: FakeTelegram
    model: ModelServer
    redis: RedisPort
    bot: Process
    worker: Process
    dashboard: Process
    url: str
    """Of the dashboard, which keeps its port when it is started again."""

    @asynccontextmanager
    async def browsing(self, password: str = ADMIN) -> AsyncGenerator[httpx.AsyncClient]:
        """Asks the dashboard, logged in."""
        own = {"Origin": self.url}
        async with httpx.AsyncClient(
            base_url=self.url, headers=own, timeout=30, follow_redirects=True
        ) as client:
            answer = await client.post("/login", data={"password": password})
            answer.raise_for_status()
            yield client


@asynccontextmanager
async def house(
    stack: Stack, bots: Mapping[str, str], people: str, **environment: str
) -> AsyncGenerator[House]:
    """Bot, worker and dashboard run. bots: name → id, as in koi.toml. people: whose ids are let in."""
    telegram, model = FakeTelegram(), ModelServer()
    url = f"127.0.0.1:{free_port()}"
    stack.environment |= (
        ENVIRONMENT | {"KOI_LOG": "info", "TZ": "UTC", "KOI_TURN__DEBOUNCE": "50ms"} | environment
    )
    redis = await stack.redis_ready()
    async with telegram.running(), model, aclosing(redis):
        known = {"TELEGRAM_OWNER": str(OWNER), "TELEGRAM_ALLOWED_USERS": people}
        tokens = {f"{name.upper()}_TOKEN": token(bot_id) for name, bot_id in bots.items()}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **tokens, **known)
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="first", **known)
        dashboard = stack.koi(
            "dashboard", "dashboard", KOI_DASHBOARD_BIND=url, KOI_DASHBOARD_PASSWORD=ADMIN,
            KOI_DASHBOARD_READER_PASSWORD=READER, **known,
        )  # fmt: skip
        for process in (bot, worker, dashboard):
            process.start()
        found = House(stack, telegram, model, redis, bot, worker, dashboard, f"http://{url}")
        await until(lambda: is_ready(found.url), what="the dashboard")
        yield found


async def is_ready(url: str) -> bool:
    """The dashboard answers, sees Redis, and a worker."""
    try:
        async with httpx.AsyncClient() as client:
            return (await client.get(f"{url}/readyz")).is_success
    except httpx.TransportError:
        return False

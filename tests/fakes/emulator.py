"""A Bot API server that we did not write: lo-bot-api-emulator, polling and webhook (its gaps: it knows private chats
only, checks no entities, and calls every bot 7).
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import lo_bot_api_emulator as lo
from aiohttp import web
from lo_bot_api_emulator.updates import ALLOWED_UPDATE_TYPES

for method in lo.CONTRACT["methods"].values():
    method["allowUnknownParameters"] = True
ALLOWED_UPDATE_TYPES.add("stopped_message_generation")  # of Bot API 10.3

PERSON = 42


class Emulator(lo.LoBotApiEmulator):
    """Remembers what was sent, and how webhooks answered."""

    def __init__(self) -> None:
        super().__init__(allow_insecure_loopback_webhooks=True)
        self.sent: list[dict[str, Any]] = []
        self.posted: list[int] = []
        """HTTP status of each delivery to a webhook; 0: no connection."""
        self._numbers = 0

    def validate(self, method: str, fields: dict[str, Any], uploads: dict[str, Any]) -> Any:
        result = cast("Any", super()).validate(method, fields, uploads)
        if method == "sendMessage":
            self.sent.append(dict(fields))
        return result

    def _record(self, item: dict[str, Any]) -> None:
        if item.get("event") == "webhook":
            self.posted.append(item["status"])

    def asked(self, method: str) -> int:
        """How often a method was answered (a getUpdates is, when its long poll ends)."""
        requests: list[Any] = self.requests
        return sum(request["method"] == method for request in requests)

    async def say(self, token: str, text: str) -> dict[str, Any]:
        """PERSON writes to a bot in private, in German; with a webhook it is posted before this returns.

        Gives the update. What a webhook did not take stays: `deliver_updates(token=…)` posts it again.
        """
        self._numbers += 1
        person = {"id": PERSON, "is_bot": False, "first_name": "Jo", "language_code": "de"}
        chat = {"id": PERSON, "type": "private", "first_name": "Jo"}
        update: dict[str, Any] = {
            "message": {
                "message_id": self._numbers, "date": int(time.time()), "chat": chat, "from": person, "text": text,
            },
        }  # fmt: skip
        update["update_id"] = await self.enqueue_update(update, token=token)
        return update

    async def tap(self, token: str, data: str) -> None:
        """PERSON taps a button under a message of the bot."""
        self._numbers += 1
        person = {"id": PERSON, "is_bot": False, "first_name": "Jo", "language_code": "de"}
        under = {
            "message_id": self._numbers, "date": int(time.time()), "chat": {"id": PERSON, "type": "private"},
            "text": "tap here",
        }  # fmt: skip
        tap = {
            "id": f"q{self._numbers}",
            "from": person,
            "chat_instance": "1",
            "data": data,
            "message": under,
        }
        await self.enqueue_update({"callback_query": tap}, token=token)


@asynccontextmanager
async def emulator() -> AsyncGenerator[tuple[Emulator, str]]:
    """The server and its address."""
    server = Emulator()
    runner = web.AppRunner(server.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield server, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()

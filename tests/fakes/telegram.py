"""A small, strict Bot API server: in the test's own process, or apart with `python -m tests.fakes.telegram --port P`.

Any token `<digits>:<anything>` is a bot. It keeps updates until an offset confirms them, answers 409 to the older of
two pollers, refuses what Telegram refuses (tests/fakes/telegram_rules.py), commits the faults it is told to, and
records every call. Control over HTTP, bodies and answers JSON:

    POST /_control/say      {bot_id, user_id, text, …}  (see `FakeTelegram.say`)  → {update_id}
    POST /_control/tap      {bot_id, user_id, data, …}  (see `FakeTelegram.tap`)  → {update_id}
    POST /_control/feed     {bot_id, updates: [{…}]}      update ids are given unless they stand in it → {update_ids}
    POST /_control/fault    {kind, method?, bot_id?, chat_id?, times?, chance?, retry_after?, status?, description?, delay_s?}
    POST /_control/calls    {since?: 0, method?}         → {calls: [{at_ms, bot_id, method, fields, status}], next}
    POST /_control/state    {}                           → {waiting: {bot_id: updates not confirmed}, calls: how many}
    POST /_control/revoke   {bot_id}                     its token is not valid any more
    POST /_control/reset    {}
"""

import argparse
import asyncio
import contextlib
import random
import re
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict
from itertools import islice
from typing import Any

import orjson
from aiohttp import web

from tests.fakes.telegram_rich import rich_fault
from tests.fakes.telegram_rules import MAX_COMMANDS, command_fault, document_fault, fault_of, markup_fault
from tests.fakes.telegram_state import BotState, Call, Fault, Json, RawAnswer, Refusal, after, before
from tests.fakes.telegram_updates import bot_message, button_tap, private_message

MAX_FILE_BYTES = 20_000_000
"""core.telegram.org/bots/api#getfile"""


class FakeTelegram:
    """`async with FakeTelegram().running() as fake: … fake.base …`"""

    def __init__(self, *, seed: int = 0, now: Callable[[], float] = time.time) -> None:
        self.base = ""
        self.now = now
        self.chance = random.Random(seed)
        self.reset()

    def reset(self) -> None:
        self.bots: dict[str, BotState] = {}
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.revoked: set[str] = set()
        self.blocked: set[str] = set()
        """Chats whose person blocked the bot: 403."""
        self.gone: set[str] = set()
        """Chats that do not exist: 400."""
        self.files: dict[str, bytes] = {}
        """By file_id; what getFile and the download behind it give to any bot."""

    # ── what a test does ─────────────────────────────────────────────────────────────────────────────────────────
    def bot(self, bot_id: str) -> BotState:
        return self.bots.setdefault(bot_id, BotState())

    def feed(self, bot_id: str, update: Json) -> int:
        """Queue an update; it gets the next update id unless it has one. Gives its id."""
        bot = self.bot(bot_id)
        update_id = int(update.setdefault("update_id", bot.next_update_id))
        bot.next_update_id = max(bot.next_update_id, update_id + 1)
        bot.updates.append(update)
        if bot.poller is not None and not bot.poller.done():
            bot.poller.set_result(None)
        return update_id

    def say(self, bot_id: str, user_id: int, text: str, **more: Any) -> int:
        """A person writes in private; `more` is merged into the message (chat, entities, …). Gives the update id."""
        return self.feed(bot_id, {"message": self.message(bot_id, user_id, text, **more)})

    def message(self, bot_id: str, user_id: int, text: str, **more: Any) -> Json:
        bot = self.bot(bot_id)
        bot.next_message_id += 1
        return private_message(bot.next_message_id, int(self.now()), user_id, text, **more)

    def tap(self, bot_id: str, user_id: int, data: str, **more: Any) -> int:
        """A person taps a button: by default under a message of the bot in private. Gives the update id.

        message: fields of the message that differ (chat, message_thread_id, …); None: it comes without one. The rest
        of `more` is merged into the CallbackQuery.
        """
        bot = self.bot(bot_id)
        query_id = str(10**17 + bot.next_update_id)
        bot.spinning.add(query_id)
        differs = more.pop("message", {})
        under = (
            None if differs is None else {**bot_message(bot_id, user_id, int(self.now()) - 3600), **differs}
        )
        return self.feed(bot_id, {"callback_query": button_tap(query_id, user_id, data, under, **more)})

    def fault(self, fault: Fault) -> None:
        self.faults.append(fault)

    def sent(self, chat_id: int | str | None = None) -> list[Json]:
        """Fields of the messages that people see, in order."""
        wanted = None if chat_id is None else str(chat_id)
        return [c.fields for c in self.calls if c.delivered and wanted in {None, str(c.fields["chat_id"])}]

    def texts(self, chat_id: int | str | None = None) -> list[str]:
        return [fields["text"] for fields in self.sent(chat_id) if "text" in fields]

    def documents(self, chat_id: int | str | None = None) -> list[Json]:
        """{name, content} of the files that people see, in order."""
        return [fields["document"] for fields in self.sent(chat_id) if "document" in fields]

    # ── the server ───────────────────────────────────────────────────────────────────────────────────────────────
    def app(self) -> web.Application:
        app = web.Application(client_max_size=8 * 2**20)
        app.router.add_route("*", "/bot{token}/{method}", self._handle)
        app.router.add_get("/file/bot{token}/{path:.+}", self._download)
        app.router.add_post("/_control/{verb}", self._control)
        return app

    @contextlib.asynccontextmanager
    async def running(self, port: int = 0) -> AsyncGenerator["FakeTelegram"]:
        runner = web.AppRunner(self.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        self.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            for bot in self.bots.values():
                if bot.poller is not None:
                    bot.poller.cancel()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        token, method = request.match_info["token"], request.match_info["method"]
        call = Call(self.now() * 1000, token.partition(":")[0], method, await _fields(request))
        self.calls.append(call)
        try:
            result = await self._answer(call)
        except Refusal as refusal:
            call.status = refusal.status
            body: Json = {"ok": False, "error_code": refusal.status, "description": refusal.description}
            if refusal.parameters:
                body["parameters"] = refusal.parameters
            return _json(body, refusal.status)
        except RawAnswer as raw:
            return web.Response(body=str(raw), content_type="application/json")
        except ConnectionAbortedError:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        call.status = 200
        return _json({"ok": True, "result": result})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """The file itself; a fault of method "download" strikes here."""
        file_id = request.match_info["path"].rpartition("/")[2].partition(".")[0]
        call = Call(
            self.now() * 1000, request.match_info["token"].partition(":")[0], "download", {"file_id": file_id}
        )
        self.calls.append(call)
        fault = next((f for f in self.faults if f.matches(call)), None)
        try:
            if fault is not None:
                fault.times -= 1
                before(fault)
                await after(fault)
        except Refusal as refusal:
            return _json(
                {"ok": False, "error_code": refusal.status, "description": refusal.description},
                refusal.status,
            )
        except ConnectionAbortedError:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        if file_id not in self.files:
            return _json({"ok": False, "error_code": 404, "description": "Not Found"}, 404)
        call.status = 200
        return web.Response(body=self.files[file_id], content_type="application/octet-stream")

    async def _answer(self, call: Call) -> Any:
        if call.bot_id in self.revoked or not call.bot_id.isdigit():
            raise Refusal(401, "Unauthorized")
        fault = next((f for f in self.faults if f.matches(call) and self.chance.random() < f.chance), None)
        if fault is not None:
            fault.times -= 1
            before(fault)
        handler = METHODS.get(call.method)
        if handler is None:
            raise Refusal(404, "Not Found: method not found")
        result = await handler(self, call)
        if fault is not None:
            await after(fault)
        return result

    async def _control(self, request: web.Request) -> web.Response:
        body = orjson.loads(await request.read() or b"{}")
        match request.match_info["verb"]:
            case "say" | "tap" as verb:
                return _json({"update_id": (self.say if verb == "say" else self.tap)(**body)})
            case "feed":
                return _json({"update_ids": [self.feed(body["bot_id"], u) for u in body["updates"]]})
            case "fault":
                self.fault(Fault(**body))
            case "calls":
                since, method = body.get("since", 0), body.get("method")
                found = [asdict(c) for c in self.calls[since:] if method in {None, c.method}]
                return _json({"calls": found, "next": len(self.calls)})
            case "state":
                waiting = {bot_id: len(bot.updates) for bot_id, bot in self.bots.items()}
                return _json({"waiting": waiting, "calls": len(self.calls)})
            case "revoke":
                self.revoked.add(body["bot_id"])
            case "reset":
                self.reset()
            case verb:
                return _json({"error": f"no {verb}"}, 404)
        return _json({})

    # ── methods ──────────────────────────────────────────────────────────────────────────────────────────────────
    async def get_me(self, call: Call) -> Json:
        return {
            "id": int(call.bot_id), "is_bot": True, "first_name": f"Bot {call.bot_id}",
            "username": f"koi{call.bot_id}_bot", "can_join_groups": True,
            "can_read_all_group_messages": False, "supports_inline_queries": False,
        }  # fmt: skip

    async def get_updates(self, call: Call) -> list[Json]:
        bot = self.bot(call.bot_id)
        if bot.webhook.get("url"):
            raise Refusal(409, "Conflict: can't use getUpdates method while webhook is active")
        offset, timeout = int(call.fields.get("offset") or 0), float(call.fields.get("timeout") or 0)
        while bot.updates and bot.updates[0]["update_id"] < offset:
            bot.updates.popleft()
        if bot.poller is not None:
            bot.poller.cancel()
        mine = bot.poller = asyncio.get_running_loop().create_future()
        try:
            if not bot.updates and timeout > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(timeout):
                        await mine
        except asyncio.CancelledError:
            if bot.poller is mine:
                raise  # the client went away  # fmt: skip
            raise Refusal(
                409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
            ) from None  # fmt: skip
        finally:
            if bot.poller is mine:
                bot.poller = None
        limit = int(call.fields.get("limit") or 100)
        taps = "callback_query" in (_value(call, "allowed_updates", None) or ("callback_query",))
        return list(islice((u for u in bot.updates if taps or "callback_query" not in u), limit))

    async def send_message(self, call: Call) -> Json:
        text = str(call.fields.get("text", ""))
        self._check_chat(call)
        if wrong := fault_of(text, _value(call, "entities", [])):
            raise Refusal(400, f"Bad Request: {wrong}")
        self._check_markup(call)
        return self._message_sent(call, {"text": text})

    async def send_rich_message(self, call: Call) -> Json:
        message = _value(call, "rich_message", None)
        self._check_chat(call)
        if wrong := rich_fault(message):
            raise Refusal(400, f"Bad Request: {wrong}")
        self._check_markup(call)
        return self._message_sent(call, {"rich_message": message})

    async def send_document(self, call: Call) -> Json:
        document = call.fields.get("document")
        self._check_chat(call)
        if wrong := document_fault(document, str(call.fields.get("caption", ""))):
            raise Refusal(400, f"Bad Request: {wrong}")
        self._check_markup(call)
        return self._message_sent(call, {"document": {"file_name": document["name"]}} if document else {})

    def _check_chat(self, call: Call) -> None:
        chat_id = str(call.fields.get("chat_id", ""))
        if chat_id in self.blocked:
            raise Refusal(403, "Forbidden: bot was blocked by the user")
        if chat_id in self.gone or not chat_id.lstrip("-").isdigit():
            raise Refusal(400, "Bad Request: chat not found")

    def _check_markup(self, call: Call) -> None:
        if "reply_markup" in call.fields and (wrong := markup_fault(_value(call, "reply_markup", None))):
            raise Refusal(400, f"Bad Request: {wrong}")

    def _message_sent(self, call: Call, content: Json) -> Json:
        call.delivered = True
        bot, chat_id = self.bot(call.bot_id), int(call.fields["chat_id"])
        bot.next_message_id += 1
        return {
            "message_id": bot.next_message_id, "date": int(self.now()), **content,
            "chat": {"id": chat_id, "type": "private" if chat_id > 0 else "supergroup"},
        }  # fmt: skip

    async def send_chat_action(self, call: Call) -> bool:
        if str(call.fields.get("chat_id")) in self.blocked:
            raise Refusal(403, "Forbidden: bot was blocked by the user")
        return True

    async def send_message_draft(self, call: Call) -> bool:
        """Shows nothing; the calls are looked at."""
        self._check_chat(call)
        if int(call.fields["chat_id"]) <= 0:
            raise Refusal(400, "Bad Request: chat must be a private chat")
        if not 0 < int(call.fields.get("draft_id") or 0) < 2**31:
            raise Refusal(400, "Bad Request: DRAFT_ID_INVALID")
        text = str(call.fields.get("text", ""))
        if text and (wrong := fault_of(text, _value(call, "entities", []))):
            raise Refusal(400, f"Bad Request: {wrong}")
        return True

    def press_stop(self, bot_id: str, user_id: int, draft_id: int, topic_id: int = 0) -> int:
        """A person presses the button under a draft. Gives the update id."""
        stopped: Json = {"chat": {"id": user_id, "type": "private", "first_name": "x"}, "draft_id": draft_id}
        if topic_id:
            stopped["message_thread_id"] = topic_id
        return self.feed(bot_id, {"stopped_message_generation": stopped})

    async def answer_callback_query(self, call: Call) -> bool:
        spinning, query_id = self.bot(call.bot_id).spinning, str(call.fields.get("callback_query_id", ""))
        if query_id not in spinning:
            raise Refusal(400, "Bad Request: query is too old or its ID is invalid")
        spinning.remove(query_id)
        return True

    async def get_file(self, call: Call) -> Json:
        file_id = str(call.fields.get("file_id", ""))
        if file_id not in self.files:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        size = len(self.files[file_id])
        if size > MAX_FILE_BYTES:
            raise Refusal(400, "Bad Request: file is too big")
        path = f"files/{file_id}.jpg"
        return {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": size, "file_path": path}

    async def set_my_commands(self, call: Call) -> bool:
        commands = _value(call, "commands", [])
        if not 1 <= len(commands) <= MAX_COMMANDS:
            raise Refusal(400, "Bad Request: BOT_COMMANDS_TOO_MUCH")
        if wrong := next((wrong for one in commands if (wrong := command_fault(one))), None):
            raise Refusal(400, f"Bad Request: {wrong}")
        self.bot(call.bot_id).menus[self._menu_place(call)] = {
            one["command"]: one["description"] for one in commands
        }
        return True

    async def delete_my_commands(self, call: Call) -> bool:
        self.bot(call.bot_id).menus.pop(self._menu_place(call), None)
        return True

    def _menu_place(self, call: Call) -> tuple[str, str]:
        scope = _value(call, "scope", {"type": "default"})
        language = str(call.fields.get("language_code", ""))
        if not re.fullmatch("([a-z]{2})?", language):
            raise Refusal(400, "Bad Request: invalid language code specified")
        if scope["type"] != "chat":
            return scope["type"], language
        if str(scope["chat_id"]) in self.gone:
            raise Refusal(400, "Bad Request: chat not found")
        return f"chat:{scope['chat_id']}", language

    async def set_webhook(self, call: Call) -> bool:
        self.bot(call.bot_id).webhook = dict(call.fields)
        return True

    async def delete_webhook(self, call: Call) -> bool:
        self.bot(call.bot_id).webhook = {}
        return True


METHODS = {
    "getFile": FakeTelegram.get_file,
    "getMe": FakeTelegram.get_me,
    "getUpdates": FakeTelegram.get_updates,
    "sendMessage": FakeTelegram.send_message,
    "sendRichMessage": FakeTelegram.send_rich_message,
    "sendDocument": FakeTelegram.send_document,
    "sendChatAction": FakeTelegram.send_chat_action,
    "sendMessageDraft": FakeTelegram.send_message_draft,
    "answerCallbackQuery": FakeTelegram.answer_callback_query,
    "setMyCommands": FakeTelegram.set_my_commands,
    "deleteMyCommands": FakeTelegram.delete_my_commands,
    "setWebhook": FakeTelegram.set_webhook,
    "deleteWebhook": FakeTelegram.delete_webhook,
}


def _value(call: Call, name: str, default: Any) -> Any:
    """A field that is no plain text: as it stands in a JSON body, or as JSON in a form."""
    value = call.fields.get(name, default)
    return orjson.loads(value) if isinstance(value, str) else value


async def _fields(request: web.Request) -> Json:
    if request.content_type == "application/json":
        return orjson.loads(await request.read())
    return {**request.query, **{name: _field(value) for name, value in (await request.post()).items()}}


def _field(value: Any) -> Any:
    """A field of a form; a file as {name, content}."""
    if not isinstance(value, web.FileField):
        return str(value)
    return {"name": value.filename, "content": value.file.read().decode(errors="replace")}


def _json(body: Json, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


async def main() -> None:
    options = argparse.ArgumentParser(prog="tests.fakes.telegram")
    options.add_argument("--port", type=int, default=0)
    async with FakeTelegram().running(options.parse_args().port) as fake:
        print(fake.base, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())

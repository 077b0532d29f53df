"""One bot's door to the Bot API: aiogram's client and errors, with a lean way for the calls that make up nearly all traffic.

aiogram builds a form out of a model with 20 fields and parses the message that Telegram sends back; a sendMessage costs
twice the CPU that way. `send`, `poll`, `typing` and `tapped` go as JSON and come back as plain values.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, cast

import orjson
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import AiogramError, ClientDecodeError, TelegramNetworkError, TelegramRetryAfter
from aiogram.methods import TelegramMethod
from aiogram.utils.token import TokenValidationError
from aiohttp import ClientError, ClientTimeout
from yarl import URL

ALLOWED = ("message", "callback_query")
"""Kinds of updates that we ask for."""
JSON_HEADERS = {"Content-Type": "application/json"}
CONNECT_S = 10
SEND = ClientTimeout(total=20, sock_connect=CONNECT_S)
"""After it nobody knows whether the message was sent."""
BRIEF = ClientTimeout(total=5)
"""For what may be lost."""
UNTOLD_WAIT_S = 1
"""After a 429 that does not say how long to wait (a proxy's own, or one that says 0): certainly not sent all the same."""
POLL_S = 25
"""How long Telegram may hold a getUpdates back when nothing arrives."""
POLL = ClientTimeout(total=POLL_S + 10, sock_connect=CONNECT_S)

type Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Me:
    """Which bot this is."""

    bot_id: str
    """Digits before the colon of its token."""
    username: str
    name: str
    """Its name in koi.toml, else its username."""
    store: str = "home"
    """Its memory store."""
    language: str = "en"
    """Spoken with people whose Telegram names no language."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What aiogram's errors say they are about."""

    __api_method__: ClassVar[str] = ""
    __returning__: ClassVar[Any] = Any

    chat_id: int | None = None


class _Session(AiohttpSession):
    async def close(self) -> None:
        """Without aiogram's quarter of a second: aiohttp waits for its TLS connections itself."""
        if self._session is not None and not self._session.closed:
            await self._session.close()


class BotApi:
    """All that koi asks of Telegram for one bot. Every call raises aiogram's errors (bot.faults tells them apart); what
    broke the connection is the `__cause__` of a TelegramNetworkError.
    """

    def __init__(self, token: str, api_base: str) -> None:
        """Raises: ValueError: not a token: digits, a colon, letters."""
        self._session = _Session(api=TelegramAPIServer.from_base(api_base))
        try:
            self._bot = Bot(token, session=self._session)
        except TokenValidationError as error:
            raise ValueError("not a bot token: it must be digits, a colon and letters") from error
        self.bot_id = bot_id_of(token)
        self._urls = {
            method: URL(self._session.api.api_url(token, method), encoded=True)
            for method in ("sendMessage", "sendChatAction", "getUpdates", "answerCallbackQuery")
        }

    async def close(self) -> None:
        await self._session.close()

    async def send(
        self,
        chat_id: int,
        text: str,
        entities: list[Json],
        topic_id: int = 0,
        buttons: Sequence[Sequence[Json]] = (),
    ) -> None:
        """sendMessage. topic_id 0: none, or General; then no thread is named (Telegram refuses General's).

        buttons: rows of Bot API InlineKeyboardButtons.
        """
        fields: Json = {"chat_id": chat_id, "text": text}
        if entities:
            fields["entities"] = entities
        if topic_id:
            fields["message_thread_id"] = topic_id
        if buttons:
            fields["reply_markup"] = {"inline_keyboard": buttons}
        await self._lean("sendMessage", fields, SEND)

    async def typing(self, chat_id: int, topic_id: int = 0) -> None:
        """sendChatAction: "typing…" for about five seconds."""
        fields: Json = {"chat_id": chat_id, "action": "typing"}
        if topic_id:
            fields["message_thread_id"] = topic_id
        await self._lean("sendChatAction", fields, BRIEF)

    async def tapped(self, query_id: str) -> None:
        """answerCallbackQuery: the button that was tapped stops spinning."""
        await self._lean("answerCallbackQuery", {"callback_query_id": query_id}, BRIEF)

    async def poll(self, offset: int = 0) -> list[Json]:
        """getUpdates: confirms what is before `offset`, waits for more. 0: from the first that was not confirmed.

        Updates are plain dicts, so that one which aiogram cannot read harms no other.
        """
        fields: Json = {"timeout": POLL_S, "limit": 100, "allowed_updates": ALLOWED}
        if offset:
            fields["offset"] = offset
        return await self._lean("getUpdates", fields, POLL)

    async def username(self) -> str:
        """getMe: proves that the token is good."""
        return (await self._bot.get_me()).username or ""

    async def stop_webhook(self) -> None:
        """deleteWebhook; keeps what waits."""
        await self._bot.delete_webhook()

    async def start_webhook(self, url: str, secret: str) -> None:
        """setWebhook, one connection, so that order holds."""
        await self._bot.set_webhook(
            url, secret_token=secret, max_connections=1, allowed_updates=list(ALLOWED)
        )

    async def _lean(self, method: str, fields: Json, timeout: ClientTimeout) -> Any:  # noqa: ASYNC109 — aiohttp's limits
        http = await self._session.create_session()
        call = cast("TelegramMethod[Any]", _Call(fields.get("chat_id")))
        try:
            async with http.post(
                self._urls[method], data=orjson.dumps(fields), headers=JSON_HEADERS, timeout=timeout
            ) as response:
                content = await response.read()
        except TimeoutError as error:
            raise TelegramNetworkError(method=call, message="no answer in time") from error
        except ClientError as error:
            raise TelegramNetworkError(method=call, message=type(error).__name__) from error
        if response.status == HTTPStatus.OK:
            answer = _read(content)
            if answer.get("ok") is True:
                return answer.get("result")
        try:
            return self._session.check_response(
                self._bot, call, response.status, content.decode(errors="replace")
            ).result
        except TelegramRetryAfter as error:
            error.retry_after = max(UNTOLD_WAIT_S, error.retry_after)
            raise
        except AiogramError as error:
            if response.status != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            raise TelegramRetryAfter(
                method=call, message="429 without a wait", retry_after=UNTOLD_WAIT_S
            ) from error


def _read(content: bytes) -> Json:
    """A JSON object.

    Raises: ClientDecodeError: not a JSON object.
    """
    try:
        answer = parse(content)
    except ValueError as error:
        raise ClientDecodeError("not JSON", error, content[:100]) from error
    if not isinstance(answer, dict):
        raise ClientDecodeError("not an object", TypeError(), content[:100])
    return cast("Json", answer)


def parse(content: bytes) -> Any:
    """JSON. Half a character (a lone surrogate) in one message must not cost the others: json reads what orjson refuses,
    and `translate` mends it.

    Raises: ValueError: not JSON.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return json.loads(content)


def bot_id_of(token: str) -> str:
    """The bot's id: what stands before the colon."""
    return token.partition(":")[0]

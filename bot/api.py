"""One bot's door to the Bot API: aiogram, with a lean way for the calls that make up nearly all traffic.

aiogram builds a form out of a model with 20 fields and parses the message that Telegram sends back; a sendMessage costs
0.85 ms of CPU that way. `LeanMethod`s go as JSON and come back as plain values; every error is aiogram's own.
"""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, cast

import orjson
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import ClientDecodeError, TelegramNetworkError
from aiogram.methods import TelegramMethod
from aiogram.utils.token import TokenValidationError
from aiohttp import ClientError, ClientTimeout
from yarl import URL

JSON_HEADERS = {"Content-Type": "application/json"}
ALLOWED = ("message",)
"""Kinds of updates that we ask for."""
CONNECT_S = 10
SEND_S = 20
"""After it nobody knows whether the message was sent."""
ACTION_S = 5
POLL_S = 25
"""How long Telegram may hold a getUpdates back when nothing arrives."""


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


class LeanMethod(TelegramMethod[Any]):
    """A call whose fields are plain JSON values and whose result is not parsed."""

    __returning__ = Any
    timeout_s: ClassVar[float]

    def payload(self) -> dict[str, Any]:
        raise NotImplementedError


class Send(LeanMethod):
    """sendMessage. Gives Telegram's message as a dict."""

    __api_method__ = "sendMessage"
    timeout_s = SEND_S

    chat_id: int
    text: str
    entities: list[dict[str, Any]]
    topic_id: int = 0
    """0: none, or General; then no thread is named (Telegram refuses General's)."""

    def payload(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"chat_id": self.chat_id, "text": self.text}
        if self.entities:
            fields["entities"] = self.entities
        if self.topic_id:
            fields["message_thread_id"] = self.topic_id
        return fields


class Action(LeanMethod):
    """sendChatAction: "typing…" for about five seconds."""

    __api_method__ = "sendChatAction"
    timeout_s = ACTION_S

    chat_id: int
    topic_id: int = 0

    def payload(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"chat_id": self.chat_id, "action": "typing"}
        if self.topic_id:
            fields["message_thread_id"] = self.topic_id
        return fields


class Poll(LeanMethod):
    """getUpdates. Gives updates as dicts, so that one which aiogram cannot read harms no other."""

    __api_method__ = "getUpdates"
    timeout_s = POLL_S + CONNECT_S

    offset: int = 0
    """0: from the first one that was not confirmed."""
    wait_s: int = POLL_S

    def payload(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"timeout": self.wait_s, "limit": 100, "allowed_updates": ALLOWED}
        if self.offset:
            fields["offset"] = self.offset
        return fields


class LeanSession(AiohttpSession):
    """aiogram's session; `LeanMethod`s take the short way."""

    async def make_request(
        self,
        bot: Bot,
        method: TelegramMethod[Any],
        timeout: int | None = None,  # noqa: ASYNC109 — aiogram's signature
    ) -> Any:
        """Raises: aiogram's errors; what broke the connection is the `__cause__` of a TelegramNetworkError."""
        if not isinstance(method, LeanMethod):
            return await super().make_request(bot, method, timeout)
        http = await self.create_session()
        try:
            async with http.post(
                URL(self.api.api_url(bot.token, method.__api_method__), encoded=True),
                data=orjson.dumps(method.payload()),
                headers=JSON_HEADERS,
                timeout=ClientTimeout(total=method.timeout_s, sock_connect=CONNECT_S),
            ) as response:
                content = await response.read()
        except TimeoutError as error:
            raise TelegramNetworkError(method=method, message="no answer in time") from error
        except ClientError as error:
            raise TelegramNetworkError(method=method, message=type(error).__name__) from error
        if response.status == HTTPStatus.OK:
            answer: Any = _read(content)
            if answer.get("ok") is True:
                return answer.get("result")
        return self.check_response(bot, method, response.status, content.decode(errors="replace")).result

    async def close(self) -> None:
        """Without aiogram's quarter of a second: aiohttp waits for its TLS connections itself."""
        if self._session is not None and not self._session.closed:
            await self._session.close()


def _read(content: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises: ClientDecodeError: not a JSON object.
    """
    try:
        answer = parse(content)
    except ValueError as error:
        raise ClientDecodeError("not JSON", error, content[:100]) from error
    if not isinstance(answer, dict):
        raise ClientDecodeError("not an object", TypeError(), content[:100])
    return cast("dict[str, Any]", answer)


def parse(content: bytes) -> Any:
    """JSON. Half a character (a lone surrogate) in one message must not cost the others: json reads what orjson refuses,
    and `translate` mends it.

    Raises: ValueError: not JSON.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return json.loads(content)


def open_bot(token: str, api_base: str) -> Bot:
    """A client for one token; close it with `await bot.session.close()`.

    Raises: ValueError: not a token: digits, a colon, letters.
    """
    try:
        return Bot(token, session=LeanSession(api=TelegramAPIServer.from_base(api_base)))
    except TokenValidationError as error:
        raise ValueError("not a bot token: it must be digits, a colon and letters") from error


def bot_id_of(token: str) -> str:
    """The bot's id: what stands before the colon."""
    return token.partition(":")[0]

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
from aiogram.exceptions import (
    AiogramError,
    ClientDecodeError,
    TelegramBadRequest,
    TelegramNetworkError,
    TelegramRetryAfter,
)
from aiogram.methods import TelegramMethod
from aiogram.utils.token import TokenValidationError
from aiohttp import ClientError, ClientResponse, ClientTimeout, FormData
from yarl import URL

ALLOWED = ("message", "edited_message", "message_reaction", "callback_query", "stopped_message_generation")
"""Kinds of updates that we ask for."""
JSON_HEADERS = {"Content-Type": "application/json"}
CONNECT_S = 10
SEND = ClientTimeout(total=20, sock_connect=CONNECT_S)
"""After it nobody knows whether the message was sent."""
UPLOAD = ClientTimeout(total=60, sock_connect=CONNECT_S)
"""The same for a file."""
BRIEF = ClientTimeout(total=5)
"""For what may be lost."""
UNTOLD_WAIT_S = 1
"""After a 429 that does not say how long to wait (a proxy's own, or one that says 0): certainly not sent all the same."""
POLL_S = 25
"""How long Telegram may hold a getUpdates back when nothing arrives."""
POLL = ClientTimeout(total=POLL_S + 10, sock_connect=CONNECT_S)

FETCH = ClientTimeout(total=60, sock_connect=CONNECT_S, sock_read=20)
CHUNK_BYTES = 2**16

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
    people: frozenset[str] | None = None
    """Whom it talks to besides the owner, by id; None: everybody who was let in."""
    is_own: bool = False
    """Its persona or models are its own (InboundMessage.of_its_own)."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file of Telegram's."""

    content: bytes
    name: str
    """Where Telegram keeps it: "photos/file_0.jpg"."""


class FileTooLarge(Exception):
    """The file has more bytes than asked for. `size_bytes`: so many, or at least so many."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"{size_bytes} bytes")
        self.size_bytes = size_bytes


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
            for method in (
                "sendMessage",
                "sendRichMessage",
                "sendDocument",
                "sendMessageDraft",
                "sendChatAction",
                "getUpdates",
                "answerCallbackQuery",
                "getFile",
                "setMyCommands",
                "deleteMyCommands",
            )
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
    ) -> int:
        """sendMessage; gives the number of the message, 0 if Telegram did not say. topic_id 0: none, or General; then no thread is named (Telegram refuses General's).

        buttons: rows of Bot API InlineKeyboardButtons.
        """
        fields: Json = {"chat_id": chat_id, "text": text}
        if entities:
            fields["entities"] = entities
        return await self._message("sendMessage", fields, topic_id, buttons)

    async def send_rich(
        self, chat_id: int, message: Json, topic_id: int = 0, buttons: Sequence[Sequence[Json]] = ()
    ) -> int:
        """sendRichMessage (Bot API 10.1; blocks since 10.2); as `send`. message: InputRichMessage."""
        fields: Json = {"chat_id": chat_id, "rich_message": message}
        return await self._message("sendRichMessage", fields, topic_id, buttons)

    async def send_document(
        self,
        chat_id: int,
        name: str,
        content: bytes,
        topic_id: int = 0,
        *,
        caption: str = "",
        buttons: Sequence[Sequence[Json]] = (),
    ) -> None:
        """sendDocument: a file of this name. topic_id, buttons: as for `send`. caption: plain, at most 1,024 UTF-16 units."""
        form = FormData({"chat_id": str(chat_id), "disable_content_type_detection": "true"})
        if caption:
            form.add_field("caption", caption)
        if topic_id:
            form.add_field("message_thread_id", str(topic_id))
        if buttons:
            form.add_field("reply_markup", orjson.dumps({"inline_keyboard": buttons}).decode())
        form.add_field("document", content, filename=name, content_type="application/octet-stream")
        await self._posted("sendDocument", form, {}, UPLOAD, chat_id)

    async def typing(self, chat_id: int, topic_id: int = 0) -> None:
        """sendChatAction: "typing…" for about five seconds."""
        fields: Json = {"chat_id": chat_id, "action": "typing"}
        if topic_id:
            fields["message_thread_id"] = topic_id
        await self._lean("sendChatAction", fields, BRIEF)

    async def draft(self, chat_id: int, draft_id: int, text: str, topic_id: int = 0) -> None:
        """sendMessageDraft: what is written so far, shown for 30 s with a button to stop (Bot API 10.3; servers before it
        show it without). A further draft of the same id, not 0, takes its place; so does the next message.
        """
        fields: Json = {
            "chat_id": chat_id, "draft_id": draft_id, "text": text, "can_stop": True, "keep_on_stop": True,
        }  # fmt: skip
        if topic_id:
            fields["message_thread_id"] = topic_id
        await self._lean("sendMessageDraft", fields, BRIEF)

    async def set_commands(self, commands: Sequence[Json], scope: Json, language: str = "") -> None:
        """setMyCommands; without commands deleteMyCommands: what a wider scope says is shown again.

        commands: Bot API BotCommands; scope: a BotCommandScope. language: two letters; "": all that have none of their own.
        """
        fields: Json = {"scope": scope, **({"language_code": language} if language else {})}
        if commands:
            await self._lean("setMyCommands", {**fields, "commands": list(commands)}, SEND)
        else:
            await self._lean("deleteMyCommands", fields, SEND)

    async def tapped(self, query_id: str) -> None:
        """answerCallbackQuery: the button that was tapped stops spinning."""
        await self._lean("answerCallbackQuery", {"callback_query_id": query_id}, BRIEF)

    async def download(self, file_id: str, max_bytes: int) -> Downloaded:
        """getFile, and the file behind it.

        Raises: FileTooLarge; nothing of the rest was read then.
        """
        told = await self._lean("getFile", {"file_id": file_id}, SEND)
        size, path = int(told.get("file_size") or 0), str(told.get("file_path") or "")
        if size > max_bytes:
            raise FileTooLarge(size)
        call = cast("TelegramMethod[Any]", _Call())
        if not path:
            raise TelegramBadRequest(method=call, message="no file_path")
        http = await self._session.create_session()
        try:
            async with http.get(
                self._session.api.file_url(self._bot.token, path), timeout=FETCH, allow_redirects=False
            ) as response:
                if 400 <= response.status < 500 and response.status != HTTPStatus.TOO_MANY_REQUESTS:
                    raise TelegramBadRequest(method=call, message=f"file: HTTP {response.status}")
                if response.status != HTTPStatus.OK:
                    raise TelegramNetworkError(method=call, message=f"file: HTTP {response.status}")
                return Downloaded(await _at_most(response, max_bytes), path)
        except TimeoutError as error:
            raise TelegramNetworkError(method=call, message="no file in time") from error
        except ClientError as error:
            raise TelegramNetworkError(method=call, message=type(error).__name__) from error

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

    async def _message(
        self, method: str, fields: Json, topic_id: int, buttons: Sequence[Sequence[Json]]
    ) -> int:
        """The number of the message that is sent; 0 if Telegram did not say."""
        if topic_id:
            fields["message_thread_id"] = topic_id
        if buttons:
            fields["reply_markup"] = {"inline_keyboard": buttons}
        result = await self._lean(method, fields, SEND)
        number = cast("Json", result).get("message_id") if isinstance(result, dict) else None
        return number if isinstance(number, int) else 0

    async def _lean(self, method: str, fields: Json, timeout: ClientTimeout) -> Any:  # noqa: ASYNC109 — aiohttp's limits
        return await self._posted(method, orjson.dumps(fields), JSON_HEADERS, timeout, fields.get("chat_id"))

    async def _posted(
        self,
        method: str,
        body: bytes | FormData,
        headers: dict[str, str],
        timeout: ClientTimeout,  # noqa: ASYNC109 — aiohttp's limits
        chat_id: int | None,
    ) -> Any:
        """The result of one call."""
        http = await self._session.create_session()
        call = cast("TelegramMethod[Any]", _Call(chat_id))
        try:
            async with http.post(self._urls[method], data=body, headers=headers, timeout=timeout) as response:
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


async def _at_most(response: ClientResponse, max_bytes: int) -> bytes:
    """The whole body.

    Raises: FileTooLarge.
    """
    content = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        content += chunk
        if len(content) > max_bytes:
            raise FileTooLarge(len(content))
    return bytes(content)


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

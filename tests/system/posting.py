"""What people send beside text, in a system test: photos, documents, albums, and what models were shown of them."""

import base64
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image

from tests.fakes.model_rules import blocks_of, text_of
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Json
from tests.system.koi import until


def mention(bot_id: str, text: str) -> Json:
    """A caption that begins with the bot's name."""
    name = f"@koi{bot_id}_bot"
    return {
        "caption": f"{name} {text}",
        "caption_entities": [{"type": "mention", "offset": 0, "length": len(name)}],
    }


@dataclass(frozen=True, slots=True)
class Post:
    """To one bot."""

    telegram: FakeTelegram
    model: ModelServer
    bot_id: str

    def photo(self, user_id: int, content: bytes, **more: Any) -> Json:
        """A message. more: caption, chat, media_group_id, …"""
        file_id = self._file(content)
        small = {"file_id": f"{file_id}s", "file_unique_id": f"u{file_id}s", "width": 90, "height": 60}
        large = {"file_id": file_id, "file_unique_id": f"u{file_id}", "width": 3000, "height": 2000}
        return self._message(user_id, photo=[small, {**large, "file_size": len(content)}], **more)

    def document(self, user_id: int, name: str, content: bytes, *, size_bytes: int = 0, **more: Any) -> Json:
        """size_bytes: what Telegram says; 0: the truth."""
        file_id = self._file(content)
        document = {
            "file_id": file_id,
            "file_unique_id": f"u{file_id}",
            "file_name": name,
            "file_size": size_bytes or len(content),
        }
        return self._message(user_id, document=document, **more)

    def _file(self, content: bytes) -> str:
        file_id = f"F{len(self.telegram.files)}"
        self.telegram.files[file_id] = content
        return file_id

    def _message(self, user_id: int, **more: Any) -> Json:
        message = self.telegram.message(self.bot_id, user_id, "", **more)
        del message["text"]
        return message

    def feed(self, *messages: Json) -> None:
        """All in one getUpdates."""
        for message in messages:
            self.telegram.feed(self.bot_id, {"message": message})

    async def send(self, *messages: Json) -> str:
        """Gives the next reply in their chat."""
        chat_id = messages[0]["chat"]["id"]
        before = len(self.telegram.texts(chat_id))
        self.feed(*messages)
        return await self.reply(chat_id, before)

    async def reply(self, chat_id: int, before: int) -> str:
        """The one after so many."""
        await until(lambda: len(self.telegram.texts(chat_id)) > before, what=f"a reply in chat {chat_id}")
        return self.telegram.texts(chat_id)[before]

    async def taken(self) -> None:
        """The bot has confirmed all updates."""
        await until(lambda: not self.telegram.bot(self.bot_id).updates, what="the end of all updates")

    def asked_last(self, text: str) -> list[Asked]:
        """Requests whose newest message of a person has this text."""
        return [asked for asked in self.model.requests if text in text_of(asked.body["messages"][-1])]


def shown(asked: Asked) -> list[Image.Image]:
    """Pictures of a request, in order, of all its messages."""
    blocks = [block for message in asked.body["messages"] for block in blocks_of(message["content"])]
    return [
        Image.open(BytesIO(base64.b64decode(block["source"]["data"])))
        for block in blocks
        if block["type"] == "image"
    ]


def said(asked: Asked) -> str:
    """All texts of the newest message."""
    return text_of(asked.body["messages"][-1])

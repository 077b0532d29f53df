"""Which files a message brings. Pure."""

from collections.abc import Sequence
from typing import Any, Literal, cast

from aiogram.types import Message, PhotoSize

from bot.sent import one_line
from infra.clean import clean
from infra.files import MOST_BYTES
from schemas.inbound import Attachment

type Kind = Literal["photo", "document", "voice", "audio", "video", "video_note", "animation", "sticker"]

KINDS: Sequence[Kind] = ("animation", "document", "voice", "audio", "video", "video_note", "sticker")
"""Fields of a Message with one file. An animation fills `document` too, for old clients: it comes first."""
NAME_CHARS = 120


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """The files of one message: one, or none; of a photo its largest size that may be handed on."""
    if message.photo:
        return (_photo(message.photo),)
    for kind in KINDS:
        if (found := getattr(message, kind)) is not None:
            return (_file(kind, found),)
    return ()


def album_of(message: Message) -> str:
    """Which album it is an item of; "" for none."""
    return message.media_group_id or ""


def _photo(sizes: Sequence[PhotoSize]) -> Attachment:
    """Telegram names them from small to large, but does not promise it. All too large: the smallest of them."""
    by_area = sorted(sizes, key=lambda size: size.width * size.height)
    fitting = [size for size in by_area if (size.file_size or 0) <= MOST_BYTES]
    best = (fitting or by_area[:1])[-1]
    return Attachment(
        kind="photo",
        file_id=best.file_id,
        unique_id=best.file_unique_id,
        size_bytes=best.file_size or 0,
        mime="image/jpeg",
    )


def _file(kind: Kind, found: Any) -> Attachment:
    """aiogram's types of files differ in what they have beside an id."""
    name = cast("str | None", getattr(found, "emoji" if kind == "sticker" else "file_name", None))
    return Attachment(
        kind=kind,
        file_id=found.file_id,
        unique_id=found.file_unique_id,
        size_bytes=found.file_size or 0,
        mime=one_line(getattr(found, "mime_type", None) or "", NAME_CHARS),
        name=_short(" ".join(clean(name or "").split())),
    )


def _short(name: str) -> str:
    """What a file name ends with says what it is: a long one is cut in its middle."""
    half = NAME_CHARS // 2
    return name if len(name) <= NAME_CHARS else f"{name[: half - 1]}…{name[-half:]}"

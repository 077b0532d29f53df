"""A picture as models take it: small enough, upright, and without what its file says beside the picture (where it was
taken, by what).

Pillow is imported when the first picture comes, and works in one thread: one picture in memory at a time.
"""

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Literal

import structlog

from llm.request import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

LONG_SIDE = 1568
"""Pixels; services scale larger ones down themselves, and bill them alike: Anthropic, "Vision", read 2026-11-30."""
MOST_BYTES = 3_750_000
"""5 MB in base64, the most that Anthropic takes of one picture."""
MOST_PIXELS = 50_000_000
"""Of a JPEG: what the sensors of telephones give."""
MOST_WHOLE_PIXELS = 25_000_000
"""Of the others, which are decoded at full size: 100 MB in memory, for a moment."""
JPEGS = frozenset({"JPEG", "MPO"})
QUALITIES = (88, 70, 50)
FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")

log = structlog.get_logger()

type Fault = Literal["broken", "pixels"]


@dataclass(frozen=True, slots=True)
class Scaled:
    """For the model, and how large the picture was, in pixels, upright."""

    image: Image
    width: int
    height: int


def is_picture(content: bytes) -> bool:
    """By its first bytes, one of FORMATS."""
    return content.startswith(SIGNATURES) or (content[:4] == b"RIFF" and content[8:12] == b"WEBP")


async def scaled(content: bytes) -> Scaled | Fault:
    """Of an animation its first frame."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), scale, content)


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "pictures")


def scale(content: bytes) -> Scaled | Fault:
    """Blocks, up to seconds."""
    from PIL import Image as Pillow  # noqa: PLC0415 — 20 MB that most days nobody needs

    Pillow.MAX_IMAGE_PIXELS = None  # MOST_PIXELS is less, and holds before anything is decoded
    try:
        with Pillow.open(BytesIO(content), formats=FORMATS) as picture:
            most = MOST_PIXELS if picture.format in JPEGS else MOST_WHOLE_PIXELS
            if picture.width * picture.height > most:
                return "pixels"
            return _scaled(picture)
    except Exception as error:  # noqa: BLE001 — decoders meet the world here
        log.info("picture_unreadable", error=type(error).__name__)
        return "broken"


def _scaled(picture: "Picture") -> Scaled:
    from PIL import ImageOps  # noqa: PLC0415

    full = (picture.width, picture.height)
    if picture.format in JPEGS:
        most = LONG_SIDE / max(full)
        picture.draft(
            None, (math.ceil(full[0] * most), math.ceil(full[1] * most))
        )  # decoded at about that size
    else:
        picture = _plain(picture)
    picture.thumbnail((LONG_SIDE, LONG_SIDE))
    upright = ImageOps.exif_transpose(picture)
    turned = upright.size != picture.size
    width, height = full[::-1] if turned else full
    flat = _on_white(upright)
    flat.info.clear()  # a comment would be written again
    return Scaled(Image("image/jpeg", _encoded(flat), flat.width, flat.height), width, height)


def _plain(picture: "Picture") -> "Picture":
    """8 bits a channel and no palette: else it could not be scaled smoothly."""
    if picture.mode in {"RGB", "RGBA", "L"} and "transparency" not in picture.info:
        return picture
    if picture.mode.startswith("I"):
        return picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _on_white(picture: "Picture") -> "Picture":
    from PIL import Image as Pillow  # noqa: PLC0415

    if picture.mode != "RGBA":
        return picture.convert("RGB")
    white = Pillow.new("RGB", picture.size, "white")
    white.paste(picture, mask=picture.getchannel("A"))
    return white


def _encoded(picture: "Picture") -> bytes:
    content = b""
    for quality in QUALITIES:
        written = BytesIO()
        picture.save(written, "JPEG", quality=quality)
        content = written.getvalue()
        if len(content) <= MOST_BYTES:
            break
    return content

"""Pictures for tests, made by Pillow."""

import random
from io import BytesIO
from typing import Any

from PIL import Image

RED, BLUE = (200, 20, 20), (20, 20, 200)


def picture(
    width: int, height: int, kind: str = "JPEG", *, mode: str = "RGB", color: Any = RED, **options: Any
) -> bytes:
    """All of one color. options: of Pillow's save."""
    written = BytesIO()
    Image.new(mode, (width, height), color).save(written, kind, **options)
    return written.getvalue()


def noise(width: int, height: int, kind: str = "JPEG", **options: Any) -> bytes:
    """What no format can make small."""
    written = BytesIO()
    pixels = random.Random(0).randbytes(3 * width * height)
    Image.frombytes("RGB", (width, height), pixels).save(written, kind, **options)
    return written.getvalue()


def opened(content: bytes) -> Image.Image:
    return Image.open(BytesIO(content))

"""Pictures are made small, upright and bare; what is no picture, or too much of one, is refused."""

import asyncio
import struct
import zlib

import pytest
from PIL import Image

from tests.pictures import BLUE, RED, noise, opened, picture
from workers.pictures import LONG_SIDE, MOST_BYTES, MOST_WHOLE_PIXELS, Scaled, is_picture, scale, scaled

ORIENTATION, GPS, SOFTWARE = 0x0112, 0x8825, 0x0131


def taken(content: bytes) -> tuple[Scaled, Image.Image]:
    """What it became, and the same as Pillow reads it."""
    found = scale(content)
    assert isinstance(found, Scaled)
    image = opened(found.image.content)
    assert (found.image.width, found.image.height) == image.size
    assert (found.image.media_type, image.format, image.mode) == ("image/jpeg", "JPEG", "RGB")
    return found, image


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_every_kind_of_picture_comes_out_as_a_jpeg_of_the_same_look(kind: str) -> None:
    content = picture(40, 30, kind)

    found, image = taken(content)

    assert is_picture(content)
    assert (found.width, found.height) == image.size == (40, 30)
    assert all(abs(a - b) < 8 for a, b in zip(image.getpixel((20, 15)) or (), RED, strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [(4000, 3000, (1568, 1176)), (600, 4000, (235, 1568)), (1568, 10, (1568, 10)), (9000, 3, (1568, 1))],
)
def test_the_long_side_is_what_services_take(
    width: int, height: int, expected: tuple[int, int]
) -> None:  # C29
    found, image = taken(picture(width, height))

    assert image.size == expected
    assert (found.width, found.height) == (width, height)


def test_a_picture_of_more_than_five_megabytes_fits() -> None:  # C29
    content = noise(2000, 1600, quality=100)
    assert len(content) > 5_000_000

    found, image = taken(content)

    assert len(found.image.content) <= MOST_BYTES
    assert max(image.size) == LONG_SIDE


def test_a_photo_that_lies_on_its_side_is_turned() -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # the camera was turned by a quarter

    found, image = taken(picture(400, 200, exif=exif.tobytes()))

    assert image.size == (200, 400)
    assert (found.width, found.height) == (200, 400)


def test_where_and_with_what_it_was_taken_goes_no_further() -> None:
    exif = Image.Exif()
    exif[SOFTWARE] = "SpyCam"
    exif.get_ifd(GPS)[2] = (48.0, 8.0, 0.0)
    content = picture(40, 30, exif=exif.tobytes(), comment=b"at home")
    assert b"SpyCam" in content

    found, image = taken(content)

    assert not image.getexif()
    assert b"SpyCam" not in found.image.content
    assert b"at home" not in found.image.content


@pytest.mark.parametrize(
    ("mode", "color", "kind", "expected"),
    [
        ("RGBA", (*BLUE, 0), "PNG", (255, 255, 255)),
        ("RGBA", (*BLUE, 255), "WEBP", BLUE),
        ("LA", (0, 255), "PNG", (0, 0, 0)),
        ("P", 0, "PNG", None),
        ("P", 0, "GIF", None),
        ("1", 1, "PNG", (255, 255, 255)),
        ("I;16", 0x8000, "PNG", (127, 127, 127)),
        ("CMYK", (0, 0, 0, 0), "JPEG", (255, 255, 255)),
        ("L", 90, "JPEG", (90, 90, 90)),
    ],
    ids=[
        "see-through",
        "opaque",
        "gray with alpha",
        "palette",
        "palette GIF",
        "black and white",
        "16 bits",
        "print",
        "gray",
    ],
)
def test_every_way_to_store_colors_is_understood(
    mode: str, color: int, kind: str, expected: tuple[int, ...] | None
) -> None:
    _, image = taken(picture(40, 30, kind, mode=mode, color=color))

    if expected:
        assert all(abs(a - b) < 8 for a, b in zip(image.getpixel((20, 15)) or (), expected, strict=True))  # type: ignore[arg-type]


def test_of_an_animation_the_first_frame_is_shown() -> None:
    frames = [Image.new("RGB", (20, 20), color) for color in (BLUE, RED, RED)]
    content = picture(20, 20, "GIF", color=BLUE, save_all=True, append_images=frames[1:])

    _, image = taken(content)

    red, _, blue = image.getpixel((5, 5))  # type: ignore[misc]
    assert blue > red


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says it is that large."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 10_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [5_001, 20_000, 2**31 - 1])
def test_a_picture_that_would_fill_the_memory_is_not_even_decoded(side: int) -> None:
    assert side * side > MOST_WHOLE_PIXELS
    assert scale(bomb(side, side)) == "pixels"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"RIFF\0\0\0\0WEBP",
        picture(400, 300)[:700],
        noise(100, 100, "PNG")[:3000],
        bomb(100, 100)[:60],
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"BM" + b"\0" * 100,
    ],
    ids=["empty", "JPEG", "PNG", "GIF", "WebP", "cut JPEG", "cut PNG", "cut head", "SVG", "BMP"],
)
def test_what_cannot_be_decoded_is_broken(content: bytes) -> None:
    assert scale(content) == "broken"


async def test_the_loop_goes_on_while_a_picture_is_scaled() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(tick())
        assert isinstance(await scaled(picture(1500, 1000, "PNG")), Scaled)
        ticking.cancel()

    assert ticks > 1

"""Which files a message brings."""

from typing import Any

import pytest
from aiogram.types import Message

from bot.attached import album_of, attachments_of
from infra.files import MOST_BYTES
from schemas.inbound import Attachment
from tests.fakes.telegram_updates import private_message


def message(**fields: Any) -> Message:
    return Message.model_validate(private_message(5, 1_800_000_000, 42, "", **fields))


def size(name: str, width: int, height: int, size_bytes: int | None) -> dict[str, Any]:
    found = {"file_id": name, "file_unique_id": f"u-{name}", "width": width, "height": height}
    return found if size_bytes is None else {**found, "file_size": size_bytes}


def some(kind: str, **fields: Any) -> dict[str, Any]:
    return {kind: {"file_id": "f", "file_unique_id": "u", "file_size": 9, **fields}}


SIDES = {"width": 10, "height": 10}
STICKER = {**SIDES, "type": "regular", "is_animated": False, "is_video": False, "emoji": "🐟"}


def test_of_a_photo_the_largest_size_is_taken_in_whatever_order() -> None:
    sizes = [size("big", 1280, 960, 250_000), size("small", 90, 67, 1_000), size("middle", 320, 240, 20_000)]

    (found,) = attachments_of(message(photo=sizes))

    assert found == Attachment(
        kind="photo", file_id="big", unique_id="u-big", size_bytes=250_000, mime="image/jpeg"
    )


def test_a_size_that_may_not_be_handed_on_is_passed_over() -> None:
    sizes = [size("middle", 1280, 960, 500_000), size("huge", 5000, 4000, MOST_BYTES + 1)]

    assert attachments_of(message(photo=sizes))[0].file_id == "middle"


def test_if_all_sizes_are_too_large_it_is_a_photo_all_the_same() -> None:
    sizes = [size("huge", 5000, 4000, MOST_BYTES + 2), size("large", 4000, 3000, MOST_BYTES + 1)]

    assert attachments_of(message(photo=sizes))[0].file_id == "large"


def test_a_size_of_unknown_weight_may_be_taken() -> None:
    assert attachments_of(message(photo=[size("a", 10, 10, None), size("b", 20, 20, None)]))[0].file_id == "b"


@pytest.mark.parametrize(
    ("fields", "kind", "mime", "name"),
    [
        (
            some("document", file_name="a b.pdf", mime_type="application/pdf"),
            "document",
            "application/pdf",
            "a b.pdf",
        ),
        (some("document"), "document", "", ""),
        (some("voice", duration=3, mime_type="audio/ogg"), "voice", "audio/ogg", ""),
        (some("audio", duration=3, file_name="x.mp3"), "audio", "", "x.mp3"),
        (some("video", duration=3, **SIDES, file_name="v.mp4"), "video", "", "v.mp4"),
        (some("video_note", duration=3, length=9), "video_note", "", ""),
        (some("sticker", **STICKER), "sticker", "", "🐟"),
        (some("animation", duration=3, **SIDES) | some("document"), "animation", "", ""),
    ],
    ids=[
        "document",
        "bare",
        "voice",
        "audio",
        "video",
        "video note",
        "sticker",
        "animation, also as document",
    ],
)
def test_each_kind_of_file_is_named(fields: dict[str, Any], kind: str, mime: str, name: str) -> None:
    (found,) = attachments_of(message(**fields))

    assert (found.kind, found.mime, found.name) == (kind, mime, name)
    assert (found.file_id, found.unique_id, found.size_bytes) == ("f", "u", 9)


def test_a_name_is_one_clean_line_whose_end_stays() -> None:
    named = message(**some("document", file_name="a\n\x00" + "b" * 300 + ".pdf"))

    (found,) = attachments_of(named)

    assert "\n" not in found.name
    assert "\0" not in found.name
    assert found.name.endswith(".pdf")
    assert len(found.name) == 120


def test_a_text_brings_nothing() -> None:
    assert attachments_of(message()) == ()
    assert album_of(message()) == ""


def test_an_item_knows_its_album() -> None:  # C40
    assert album_of(message(photo=[size("a", 1, 1, 1)], media_group_id="123")) == "123"

"""What is stored with an entry to choose its sentences by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.entry import make_entry
from memory.features import (
    SENTENCE_CHARS,
    entry_tokens,
    features_of,
    find,
    pack,
    sentences,
    unpack,
)
from memory.flat import read_flat, write_flat
from schemas.memory import RingEntry
from schemas.wire import dump, load
from tests.memory.values import BERLIN, LIMITS, NOW_MS, PARCEL, UPS, entry, exchange


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He said it. Then she left!", ["He said it.", "Then she left!"]),
        ('"It\'s here." Then silence followed.', ['"It\'s here."', "Then silence followed."]),
        ("Lieferung am 9. April, z. B. morgens.", ["Lieferung am 9. April, z. B. morgens."]),
        ("Es kostet ca. zwei Euro. Mehr nicht.", ["Es kostet ca. zwei Euro.", "Mehr nicht."]),
        ("Dr. Smith came home. He slept.", ["Dr. Smith came home.", "He slept."]),
        ("Посылка в пути. Ждите её завтра.", ["Посылка в пути.", "Ждите её завтра."]),
        ("包裹在路上。明天到！好吗？", ["包裹在路上。", "明天到！", "好吗？"]),
        ("「着いた。」と言った。", ["「着いた。」", "と言った。"]),
        ("- one\n- two\n\n- three", ["- one", "- two", "- three"]),
        ("See https://ups.com/track?id=1.5 now", ["See https://ups.com/track?id=1.5 now"]),
        (" \n ", []),
    ],
)
def test_a_text_is_parted_into_its_sentences(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@given(st.text(max_size=900), st.text(max_size=900))
def test_only_white_space_is_left_out_and_what_is_packed_is_unpacked(user: str, reply: str) -> None:
    assert "".join("".join(parts(reply)).split()) == "".join(reply.split())
    assert all(len(part) <= SENTENCE_CHARS for part in parts(reply))
    features = find(user, reply)

    assert unpack(pack(features)) == features


def test_a_long_sentence_is_parted_at_a_space() -> None:
    text = "word " * 200

    assert len(parts(text)) > 3
    assert all(part.startswith("word") and part.endswith("word") for part in parts(text))


def test_an_entry_is_stored_with_its_features() -> None:
    stored = load(RingEntry, dump(make_entry(exchange(), LIMITS)))

    assert unpack(stored.features) == find(PARCEL, UPS)


def test_an_imported_entry_has_features_too() -> None:
    found, _ = read_flat(write_flat([entry()], BERLIN, with_replies=True), BERLIN, NOW_MS, LIMITS)

    assert found[0].entry.features == entry().features != ""


@pytest.mark.parametrize(
    "stored",
    ["", "2 1 1 0\n\n\n\n", "1", "1 a b c\n\n\n\n", "1 1 1 3\n0\n1\n1\n\nx", "1 1 1 0\n0 1\n1\n1\n\nx"],
)
def test_features_that_cannot_be_read_are_found_again(stored: str) -> None:
    damaged = entry().model_copy(update={"features": stored})

    assert unpack(stored) is None
    assert features_of(damaged) == find(PARCEL, UPS)


def test_the_tokens_of_an_entry_are_known_with_and_without_features() -> None:
    bare = entry().model_copy(update={"features": ""})

    assert entry_tokens(entry()) == pytest.approx(entry_tokens(bare), abs=2)


def test_a_value_of_version_one_has_no_features_and_is_chosen_from_like_any_other() -> None:
    old = b'{"v":1,"id":"turn-1","at_ms":1,"user_message":"Hi there","summary":"Hello."}'

    assert features_of(load(RingEntry, old)) == find("Hi there", "Hello.")

"""Bytes of a terminal as keys."""

import pytest

from cli.keyboard import Key, Keyboard, Pressed, Typed


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        pytest.param(b"hi\r", [Typed("hi"), Pressed("enter")], id="text and enter"),
        pytest.param("grüße".encode(), [Typed("grüße")], id="umlauts"),
        pytest.param(b"\x1b[A\x1b[D\x1bOC", [Pressed("up"), Pressed("left"), Pressed("right")], id="arrows"),
        pytest.param(b"a\x1b\rb", [Typed("a"), Typed("\n"), Typed("b")], id="alt-enter is a line end"),
        pytest.param(b"\x1b[200~a\rb\r\nc\x1b[201~\r", [Typed("a\nb\nc"), Pressed("enter")], id="a paste stays one piece"),
        pytest.param(b"\x1b[200~\x1b[A\x03\x1b[201~", [Typed("\x1b[A\x03")], id="keys within a paste are text"),
        pytest.param(b"\x1b[99;5u", [], id="an unknown sequence is nothing"),
        pytest.param(b"\xff", [Typed("�")], id="what is not UTF-8 shows as such"),
    ],
)  # fmt: skip
def test_bytes_become_keys(data: bytes, keys: list[Key]) -> None:
    assert Keyboard().feed(data) == keys


def test_keys_may_arrive_in_pieces() -> None:
    keyboard, data = Keyboard(), "ü\x1b[200~läng\x1b[201~\x1b[3~".encode()

    keys = [key for byte in data for key in keyboard.feed(bytes([byte]))]

    assert keys == [Typed("ü"), Typed("läng"), Pressed("delete")]


def test_a_paste_of_100_000_characters_is_one_piece() -> None:
    keyboard, text = Keyboard(), "x" * 100_000
    data = f"\x1b[200~{text}\x1b[201~".encode()

    keys = [key for at in range(0, len(data), 4096) for key in keyboard.feed(data[at : at + 4096])]

    assert keys == [Typed(text)]

"""What people see of a model's Markdown, under Telegram's rules (tests/fakes/telegram_rules.py)."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import render as module
from bot.entities import legal
from bot.markdown import show
from bot.render import MARKUP, render
from bot.split import PART_ENTITIES, PART_UNITS, PLACEHOLDER, Part, split, units_of
from infra.clean import clean
from tests.fakes.telegram_rules import fault_of

BROKEN_FORMS = [
    "**my_var** is set",
    "_unclosed *mixed** `code",
    "# Title `x`\n\n**bold `code` more** [link **`c`**](http://x.example/y)",
    "> a\n>> nested\n>> `deep`\n\nafter",
    "```python\nprint('<b>')\n```",
    "| a | b |\n|---|---|\n| 1 | <b>2</b> |",
    "||spoiler **bold**||",
    "a <div>x</div> b <!-- note -->",
    "[1]: http://x.example/lost\nwords",
    "$5 and $6, \\(\\frac{a}{b}\\)",
    "👨‍👩‍👧‍👦 **family** שלום _עולם_ 🇩🇪",
    "~~gone~~ ~5 %",
    "- [x] done\n- [ ] open\n1. one\n2. two",
    "![alt](http://x.example/p.png)",
    "[empty]()",
    "\x00nul \ud83d half",
]


@pytest.mark.parametrize("text", BROKEN_FORMS)
def test_telegram_takes_every_part(text: str) -> None:
    parts = render(text)

    assert [fault_of(part.text, part.entities) for part in parts] == [None] * len(parts)


def test_unbalanced_markup_stays_readable() -> None:  # C16
    (part,) = render("**my_var** is set")

    assert part.text == "my_var is set"
    assert part.entities == ({"type": "bold", "offset": 0, "length": 6},)


def test_tags_are_shown_as_they_were_written() -> None:
    text = (
        "Use <div class='x'>a</div>, <br/> or <!-- this -->.\n\n<p>\nblock **bold**\n</p>\n\n    <indented>"
    )

    shown = "\n".join(part.text for part in render(text))

    for tag in ("<div class='x'>", "</div>", "<br/>", "<!-- this -->", "<p>", "</p>", "<indented>"):
        assert tag in shown
    assert "\\" not in shown


def test_size_is_measured_as_people_see_it() -> None:  # C19
    (part,) = render("<" * 3900)

    assert part == Part("<" * 3900)


def test_a_text_of_exactly_the_limit_is_one_message() -> None:
    assert len(render("x" * PART_UNITS)) == 1
    assert len(render("🎈" * (PART_UNITS // 2))) == 1
    assert len(render("x" * (PART_UNITS + 1))) == 2


def test_dense_formatting_is_split_at_a_hundred_entities() -> None:
    parts = render(" ".join(f"**w{i}**" for i in range(781)))

    assert all(len(part.entities) <= PART_ENTITIES for part in parts)
    assert sum(len(part.entities) for part in parts) == 781
    assert " ".join(part.text for part in parts).split() == [f"w{i}" for i in range(781)]


def test_a_code_block_longer_than_a_message_becomes_a_file_where_it_stands() -> None:
    code = "\n".join(f"line_{i} = {i}" for i in range(600))

    parts = render(f"Here:\n\n```python\n{code}\n```\n\nand\n\n```py\n{code}\n```\nRun it.")

    assert parts == (
        Part("Here:\n\n📎 code.py"), Part(code, file="code.py"),
        Part("and\n\n📎 code-2.py"), Part(code, file="code-2.py"),
        Part("Run it."),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("language", "name"),
    [("python", "code.py"), ("C++", "code.cpp"), ("", "code.txt"), ("../../etc", "code.txt")],
)
def test_a_file_is_named_after_its_language(language: str, name: str) -> None:
    (line, file) = render(f"```{language}\n{'x = 1; ' * 800}\n```")

    assert line.text.endswith(f"📎 {name}")
    assert file.file == name


def test_a_code_block_that_fits_into_a_message_is_not_cut() -> None:
    code = "\n".join(f"line_{i} = {i}" for i in range(200))

    parts = render(f"{'word ' * 600}\n\n```python\n{code}\n```\n\n{'word ' * 600}")

    assert code in [part.text[e["offset"] :][: e["length"]] for part in parts for e in part.entities]


def test_a_text_without_a_space_is_cut_between_graphemes() -> None:
    family = "👨‍👩‍👧‍👦"

    parts = split(family * 1000)

    assert "".join(part.text for part in parts) == family * 1000
    assert all(part.text.count(family) * units_of(family) == units_of(part.text) for part in parts)


def test_words_are_kept_whole_where_there_are_spaces() -> None:
    parts = split("lorem " * 1500)

    assert {word for part in parts for word in part.text.split()} == {"lorem"}


@pytest.mark.parametrize("text", ["", "   \n", "\x00", "\u200b\u2060", "**", "[](http://x.example)"])
def test_no_part_is_ever_empty(text: str) -> None:
    for part in render(text):
        assert fault_of(part.text, part.entities) is None


def test_nothing_visible_becomes_a_placeholder() -> None:
    assert render(" \n\u200b") == (Part(PLACEHOLDER),)


def test_a_heading_gets_no_symbol_of_the_library() -> None:
    (part,) = render("# Parcel\n\nIt comes on Wednesday.")

    assert part.text == "Parcel\n\nIt comes on Wednesday."


def test_an_address_that_markup_would_break_is_sent_plain() -> None:
    (part,) = render("see https://x.example/_c_d_ now")

    assert part.text == "see https://x.example/_c_d_ now"


def test_a_definition_that_nobody_uses_is_not_lost() -> None:
    shown = render("**Sources**\n\n[9]: https://x.example/source")[0].text

    assert "https://x.example/source" in shown


@pytest.mark.parametrize("text", ["~~~~word", "```word", "1984. x\n2001. y", "| a |\n|---|\n| b | word |"])
def test_what_the_parser_would_swallow_is_sent_plain(text: str) -> None:
    assert render(text) == (Part(text),)


def test_a_code_block_may_carry_hints_behind_its_language() -> None:
    (part,) = render("```rust,ignore\nfn main() {}\n```")

    assert part == Part("fn main() {}", ({"type": "pre", "offset": 0, "length": 12, "language": "rust"},))


def test_plain_text_is_left_as_it_is() -> None:
    (part,) = render("**not** <b>markdown</b> _here_", plain=True)

    assert part == Part("**not** <b>markdown</b> _here_")


@pytest.mark.parametrize(
    "text", ["Es kommt am Mittwoch.", "my_var is 5 * 3 (see #12) & $5 [ok]", "a - b\nc > d"]
)
def test_text_without_markdown_never_meets_the_converter(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_parser(_: str) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(module, "show", no_parser)

    assert render(text) == (Part(text),)


def test_half_characters_and_nul_are_mended() -> None:
    assert clean("a\x00b\ud83dc") == "ab\ufffdc"


def test_styles_stop_where_code_begins() -> None:
    bold, code = {"type": "bold", "offset": 0, "length": 9}, {"type": "code", "offset": 3, "length": 2}

    assert legal([bold, code]) == [
        {"type": "bold", "offset": 0, "length": 3},
        code,
        {"type": "bold", "offset": 5, "length": 4},
    ]


# ── any text ─────────────────────────────────────────────────────────────────────────────────────────────────────
WORDS = st.sampled_from(["Paket", "kommt", "naïve", "مرحبا", "日本語", "👩🏽‍🚀", "my_var", "a1", "x"])
GLUE = st.sampled_from([" ", "\n", "\n\n", "**", "*", "_", "`", "~~", "||", "> ", "- ", "1. ", "# ", "[", "](http://x.y)", "|",
                        "<b>", "</b>", "<", "&amp;", "\\", "$", "```\n", "    ", "(", ")", "!", "---\n", "\ud800", "\x00"])  # fmt: skip
MARKED_TEXT = st.lists(st.one_of(WORDS, GLUE), max_size=60).map("".join)


@given(st.one_of(MARKED_TEXT, st.text(max_size=200)))
@settings(max_examples=100, deadline=None)
def test_the_fast_way_takes_only_texts_that_no_markdown_changes(text: str) -> None:
    text = clean(text)
    if MARKUP.search(text) or not text.strip():
        return

    shown = show(text)

    assert shown is not None
    assert shown.entities == []
    assert shown.text.split() == text.split()


@given(
    st.text(alphabet="ab \n🎈é", max_size=400),
    st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60)), max_size=40),
    st.integers(10, 60),
    st.integers(1, 6),
)
@settings(max_examples=100, deadline=None)
def test_parts_keep_to_both_limits_and_lose_nothing(
    text: str, ranges: list[tuple[int, int]], units: int, most: int
) -> None:
    size = units_of(text)
    whole = text.encode("utf-16-le")
    bounds = [b for b in range(size + 1) if b == size or not 0xDC <= whole[2 * b + 1] <= 0xDF]
    spans = [(a, b) for a, n in ranges for b in [a + n] if a in bounds and b in bounds]
    spans = [s for i, s in enumerate(sorted(spans)) if all(s[0] >= e for _, e in sorted(spans)[:i])]
    entities = [{"type": "bold", "offset": a, "length": b - a} for a, b in spans]

    parts = split(text, entities, units=units, most=most)

    assert all(units_of(part.text) <= units and len(part.entities) <= most for part in parts)
    assert all(fault_of(part.text, part.entities) is None for part in parts)
    if text.strip():
        assert "".join("".join(part.text.split()) for part in parts) == "".join(text.split())


@pytest.mark.parametrize("pattern", ["1. ", "- 1. ", "> - ", "~~", "$", "||"])
def test_a_pattern_of_markup_becomes_neither_hundreds_of_messages_nor_seconds_of_work(pattern: str) -> None:
    text = pattern * (20_000 // len(pattern))

    began = time.process_time()
    parts = render(text)

    assert time.process_time() - began < 2
    assert len(parts) <= 1 + len(text) // 4000

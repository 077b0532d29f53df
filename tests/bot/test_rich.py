"""Markdown into rich messages: within Telegram's limits, no word lost, in order; what does not fit leaves as before."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.render import render
from bot.rich import MOST_BYTES, rich
from bot.split import PART_UNITS, Part
from tests.bot.test_any_markdown import BLOCK, GLUE, LINES, PIECES, examples, numbered, refusal
from tests.bot.test_any_markdown import said as said_of_part
from tests.fakes.telegram_rich import rich_fault, said

TABLE = "| day | what |\n|---|--:|\n| Monday | **bins** |\n| Tuesday | `tax` |"


def only(text: str) -> list[dict[str, Any]]:
    """The blocks of a text that makes one rich message."""
    (part,) = rich(text)
    assert rich_fault(part.rich) is None
    return part.rich["blocks"]


def kinds(text: str) -> list[str]:
    return ["rich" if part.rich else part.file or "ordinary" for part in rich(text)]


# ── acceptance ───────────────────────────────────────────────────────────────────────────────────────────────────
def check(text: str) -> None:
    """Every part accepted; every word there, once and in order; also if Telegram takes none of the rich ones."""
    parts = rich(text)
    plain = [one for part in parts for one in (render(part.text) if part.rich else (part,))]

    assert parts
    for some in (parts, plain):
        languages: set[str] = set()
        seen = "\n".join(said(p.rich) if p.rich else said_of_part(p, languages) for p in some)
        assert [rich_fault(p.rich) if p.rich else refusal(p) for p in some] == [None] * len(some)
        assert re.findall(r"w(\d+)w", seen) == re.findall(r"w(\d+)w", text)
        assert set(re.findall(r"h\d+h", seen)) == set(re.findall(r"h\d+h", text))


@given(st.lists(st.tuples(st.sampled_from([*LINES, TABLE, "# {}"]), GLUE), min_size=1, max_size=9))
@examples(200)
def test_documents(blocks: list[tuple[str, str]]) -> None:
    check(numbered("".join(block + glue for block, glue in blocks)))


@given(st.lists(BLOCK, min_size=1, max_size=5))
@examples(40)
def test_long_documents(blocks: list[str]) -> None:
    check(numbered("\n\n".join(["# {}", *blocks])))


@given(
    st.lists(st.one_of(PIECES, st.text(st.characters(exclude_characters="wh{}"), max_size=6)), max_size=40)
)
@examples(200)
def test_broken_markup(pieces: list[str]) -> None:
    check(numbered("# {}\n\n" + "".join(pieces)))


@pytest.mark.parametrize(
    ("blocks", "words", "columns"), [(499, 1, 20), (700, 1, 1), (60, 200, 21), (30, 500, 19)]
)
def test_many_blocks_are_cut_between_them(blocks: int, words: int, columns: int) -> None:
    head, row = "|" + "{h} |" * columns + "\n", "|" + "{} |" * columns + "\n"
    check(numbered("# {}\n\n" + ("{} " * words + "\n\n") * blocks + head + "|-" * columns + "|\n" + row))


# ── what is shown how ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        "# Plan",
        "Plan\n====",
        "- a\n  - b",
        "1. a\n   - b",
        "so $x_1$ is",
        "$$\\frac{a}{b}$$",
        "> - a\n>   - b",
    ],
)
def test_what_an_ordinary_message_can_only_imitate_is_rich(text: str) -> None:
    assert kinds(text) == ["rich"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes.",
        "**bold** and `code`",
        "- a\n- b",
        "> quote",
        "```py\nx\n```",
        "[a](https://b.example)",
        "$5 or $6",
        "---",
    ],
)
def test_what_looks_the_same_stays_an_ordinary_message(text: str) -> None:
    assert rich(text) == render(text)


def test_a_table_keeps_its_cells_sides_and_styles() -> None:
    (table,) = only(TABLE)

    assert table["is_bordered"] is True
    assert [[said(cell["text"]) for cell in row] for row in table["cells"]] == [
        ["day", "what"], ["Monday", "bins"], ["Tuesday", "tax"],
    ]  # fmt: skip
    assert [cell.get("is_header", False) for row in table["cells"] for cell in row] == [
        True,
        True,
        *[False] * 4,
    ]
    assert table["cells"][1] == [
        {"text": "Monday", "align": "left", "valign": "middle"},
        {"text": {"type": "bold", "text": "bins"}, "align": "right", "valign": "middle"},
    ]


def test_items_keep_the_numbers_of_the_source_and_their_boxes() -> None:
    (numbers, boxes) = only("7. a\n9. b\n   - c\n\n<!-- -->\n\n- [x] d\n- [ ] e")[0::2]

    assert [(item["value"], item["type"]) for item in numbers["items"]] == [(7, "1"), (9, "1")]
    assert numbers["items"][1]["blocks"][1]["type"] == "list"
    assert [(item["has_checkbox"], item.get("is_checked", False)) for item in boxes["items"]] == [
        (True, True), (True, False),
    ]  # fmt: skip


def test_a_formula_is_latex_within_a_line_and_a_block_between_lines() -> None:
    assert only("Take $x_1$ and\n$$\n\\frac{a}{b}\n$$\nthen.") == [
        {
            "type": "paragraph",
            "text": ["Take ", {"type": "mathematical_expression", "expression": "x_1"}, " and"],
        },
        {"type": "mathematical_expression", "expression": "\\frac{a}{b}"},
        {"type": "paragraph", "text": "then."},
    ]


@pytest.mark.parametrize(
    "text",
    ["![cat](https://evil.example/t.png)", "[![cat](https://evil.example/t.png)](https://l.example)", "![cat][1]\n\n[1]: https://evil.example/t.png",
     "![cat](tg://photo?id=evil)", "![](https://evil.example/t.png)", "<img src='https://evil.example/t.png'>", "<tg-map evil='1' long='2'/>",
     "<video src=\"https://evil.example/v.mp4\"></video>", "<details open><summary>evil</summary></details>", "| ![cat](https://evil.example/t.png) |\n|---|"],
)  # fmt: skip
def test_no_media_and_no_html_of_the_model_reaches_telegram(text: str) -> None:
    parts = rich(f"# Here\n\n{text}\n\nend")

    assert kinds(f"# Here\n\n{text}\n\nend") == ["rich"]
    assert rich_fault(parts[0].rich) is None  # knows no block with media
    assert "evil" in said(parts[0].rich)


@pytest.mark.parametrize(
    "url", ["/here", "http://localhost/x", "javascript:alert(1)", "mailto:a@b.example", "#top"]
)
def test_an_address_that_telegram_does_not_open_is_written_beside_its_text(url: str) -> None:
    assert only(f"# See [this]({url})") == [{"type": "heading", "text": f"See this ({url})", "size": 1}]


def test_links_that_name_addresses_further_down_keep_them() -> None:
    first, _, _ = rich_blocks = only("[docs][1]\n\n# Plan\n\nend\n\n[1]: https://docs.example/x")

    assert first["text"] == {"type": "url", "text": "docs", "url": "https://docs.example/x"}
    assert [block["type"] for block in rich_blocks] == ["paragraph", "heading", "paragraph"]


def test_arabic_runs_from_right_to_left() -> None:
    (arabic,), (english,) = rich("# مرحبا بالعالم"), rich("# hello")

    assert (arabic.rich.get("is_rtl"), english.rich.get("is_rtl")) == (True, None)


# ── what does not fit ────────────────────────────────────────────────────────────────────────────────────────────
WIDE = "|" + "a |" * 21 + "\n" + "|-" * 21 + "|\n"
DEEP = "".join("  " * n + f"- level {n}\n" for n in range(9))
CODE = "```py\n" + "x = 1\n" * 1000 + "```"
ROWS = "| a |\n|---|\n" + "| b |\n" * 600


@pytest.mark.parametrize(
    ("block", "as_"),
    [(WIDE, ["ordinary"]), (DEEP, ["ordinary"]), (CODE, ["ordinary", "code.py"]), (ROWS, ["ordinary"]), ("a ||secret|| b", ["ordinary"]),
     ("-\n- a", ["ordinary"])],
    ids=["columns", "depth", "long code", "rows", "spoiler", "empty item"],
)  # fmt: skip
def test_a_block_that_a_rich_message_cannot_hold_leaves_in_its_place_as_ever(
    block: str, as_: list[str]
) -> None:
    parts = rich(f"{TABLE}\n\n{block}\n\n# End")

    assert kinds(f"{TABLE}\n\n{block}\n\n# End") == ["rich", *as_, "rich"]
    assert parts[1:-1] == render(block)


def test_a_hidden_text_is_never_shown() -> None:
    (_, hidden) = rich("# Quiz\n\nIt is ||Paris||.")

    assert [entity["type"] for entity in hidden.entities] == ["spoiler"]


def test_what_is_left_of_a_rich_answer_is_rich_only_if_it_gains() -> None:
    assert kinds(f"# A\n\n{CODE}\n\nThat is all.") == ["rich", "ordinary", "code.py", "ordinary"]


def test_a_long_answer_is_cut_between_blocks() -> None:
    text = "\n\n".join(f"## Chapter {n}\n\n{'word ' * 1500}" for n in range(12))

    parts = rich(text)

    assert kinds(text) == ["rich"] * len(parts)
    assert 2 <= len(parts) <= 3
    assert all(len(said(part.rich).encode()) <= MOST_BYTES for part in parts)


def test_more_blocks_than_a_rich_message_holds_make_several() -> None:
    parts = rich("\n\n".join(f"## Chapter {n}" for n in range(700)))

    assert [len(part.rich["blocks"]) for part in parts] == [500, 200]


def test_a_table_of_which_the_parser_drops_a_cell_is_shown_whole() -> None:
    text = "# Plan\n\n| day |\n|---|\n| Monday | bins |"

    assert kinds(text) == ["rich", "ordinary"]
    assert "bins" in rich(text)[1].text


def test_a_paragraph_longer_than_a_rich_message_becomes_ordinary_ones() -> None:
    parts = rich("# A\n\n" + "word " * 8000)

    assert [bool(part.rich) for part in parts] == [True, *[False] * (len(parts) - 1)]
    assert "".join(part.text for part in parts[1:]).replace(" ", "") == "word" * 8000
    assert all(len(part.text) <= PART_UNITS for part in parts[1:])


def test_a_rich_part_holds_its_markdown() -> None:
    (part,) = rich(f"\n{TABLE}\n")

    assert part == Part(TABLE, rich=part.rich)

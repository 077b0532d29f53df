"""How each kind of Markdown looks to people in Telegram (the rules: test_any_markdown.py)."""

import pytest

from bot.code_file import fence
from bot.direction import MARK
from bot.render import render
from bot.split import Part, split, units_of
from tests.fakes.telegram_rules import fault_of


def seen(text: str) -> str:
    """The one message that shows `text`."""
    (part,) = render(text)
    assert fault_of(part.text, part.entities) is None
    return part.text


def styled(text: str) -> list[tuple[str, str]]:
    """(kind, what it covers) of the one message."""
    (part,) = render(text)
    units = part.text.encode("utf-16-le")
    return [
        (e["type"], units[e["offset"] * 2 : (e["offset"] + e["length"]) * 2].decode("utf-16-le"))
        for e in part.entities
    ]


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_headings_are_set_apart_by_style() -> None:
    assert styled("# One\n\n## Two\n\n#### Four") == [
        ("underline", "One"), ("bold", "One"), ("bold", "Two"), ("italic", "Four"),
    ]  # fmt: skip


def test_lists_are_nested_by_indentation_and_bullets_and_keep_their_numbers() -> None:
    text = "- a\n  - b\n    - c\n\n3. x\n7. y\n   more\n\n   next\n2) z"

    assert seen(text) == "• a\n   ◦ b\n      ▪ c\n\n3. x\n7. y\n   more\n\n   next\n2) z"


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_tasks_have_a_box_instead_of_a_bullet(gap: str) -> None:
    assert seen(f"- [x] done{gap}- [ ] open") == f"☑ done{gap}☐ open"


def test_a_quote_in_a_quote_is_marked_as_telegram_takes_only_one() -> None:
    text = "> a\n>> b\n>> c\n>\n> d"

    assert seen(text) == "a\n» b\n» c\n\nd"
    assert [kind for kind, _ in styled(text)] == ["blockquote"]


def test_a_long_quote_can_be_expanded() -> None:
    assert styled("> short")[0][0] == "blockquote"
    assert styled("> " + "long " * 80)[0][0] == "expandable_blockquote"
    assert styled("> a\n" * 8)[0][0] == "expandable_blockquote"


def test_a_title_of_a_code_block_stands_above_it() -> None:
    assert seen('```py title="a.py"\nx = 1\n```') == 'title="a.py"\nx = 1'


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_narrow_table_is_aligned_by_what_characters_are_wide() -> None:
    text = "| Ort | €/kg |\n|:--|--:|\n| 東京 | 5 |\n| Köln | 12 |"

    assert seen(text) == "Ort  | €/kg\n-----+-----\n東京 |    5\nKöln |   12"
    assert [kind for kind, _ in styled(text)] == ["pre"]


def test_a_table_too_wide_for_a_phone_becomes_a_list() -> None:
    text = f"| Name | What it does |\n|---|---|\n| **koi** | {'word ' * 10}|\n| n8n | |"

    assert seen(text) == f"Name: koi\nWhat it does: {('word ' * 10).strip()}\n\nName: n8n"
    assert styled(text)[:2] == [("bold", "Name:"), ("bold", "koi")]


def test_a_table_keeps_its_links_and_line_breaks() -> None:
    text = "| Site | Note |\n|---|---|\n| [koi](https://koi.example) | a<br>b |"

    assert seen(text) == "Site: koi\nNote: a\nb"
    assert ("text_link", "koi") in styled(text)


def test_headings_of_a_table_do_not_outgrow_it() -> None:
    heading = "a very long heading of a column " * 3
    rows = "| yes | no |\n" * 60

    parts = render(f"| {heading} | {heading} |\n|---|---|\n{rows}")

    assert len(parts) == 1
    assert parts[0].text.count("yes | no") == 60


def test_a_table_longer_than_a_message_is_cut_between_rows() -> None:
    parts = render("| key | value |\n|---|---|\n" + "".join(f"| key{i} | value{i} |\n" for i in range(300)))

    assert len(parts) > 1
    assert not any(part.file for part in parts)
    assert all(line.count("|") == 1 for part in parts for line in part.text.splitlines() if "key" in line)


# ── within a line ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"$x^2 + \alpha_1$", "x² + α₁"),
        (r"\(\frac{a+b}{c}\)", "(a+b)/c"),
        (r"so \[ \sum_{i=1}^{n} x_i \]", "so \n∑ᵢ₌₁ⁿ xᵢ"),
        (r"$$\begin{aligned} a &= b \\ c &= d \end{aligned}$$", "a = b\nc = d"),
        (r"$\unknown{x}$", r"\unknown{x}"),
    ],
)
def test_formulas_are_unicode_or_else_their_latex(tex: str, shown: str) -> None:
    assert seen(tex) == shown


def test_a_formula_that_cannot_be_drawn_is_code() -> None:
    assert styled(r"$\unknown{x}$") == [("code", r"\unknown{x}")]
    assert styled(r"$$\unknown{x}$$") == [("pre", r"\unknown{x}")]


@pytest.mark.parametrize(
    "text", ["from $5 to $6", "5$ or 10$ each", "$HOME:$PATH and _x", "about ~5 or ~6", "\\(not math\\) **"]
)
def test_prices_and_variables_are_no_formulas(text: str) -> None:
    assert seen(text) == text.replace("\\", "")


def test_code_is_no_place_for_formulas_and_spoilers() -> None:
    assert (
        seen("`a || b || c` and\n\n```\n\\(\\alpha\\) ||x||\n```") == "a || b || c and\n\n\\(\\alpha\\) ||x||"
    )


def test_spoilers_hide_code_too() -> None:
    text = "It is ||the `butler` **again**|| (a || b)"

    assert seen(text) == "It is the butler again (a || b)"
    assert styled(text) == [("spoiler", "the butler again"), ("bold", "again")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[koi](https://koi.example/a)", "koi"),
        ("[https://koi.example](https://koi.example)", "https://koi.example"),
        ("<me@koi.example> *", "me@koi.example *"),
        ("[docs](/docs/a.md)", "docs (/docs/a.md)"),
        ("[here](http://localhost:8080)", "here (http://localhost:8080)"),
        ("[x](javascript:alert)", "x (javascript:alert)"),
        ('[a](https://koi.example "a title")', "a (a title)"),
        ("![](https://koi.example/p.png)", "🖼 https://koi.example/p.png"),
        ("[![b](https://i.example/b.png)](https://koi.example)", "🖼 b (https://i.example/b.png)"),
    ],
)
def test_links_can_be_read_and_opened(text: str, shown: str) -> None:
    assert seen(text) == shown


# ── direction: C36 ───────────────────────────────────────────────────────────────────────────────────────────────
def test_an_arabic_line_that_begins_with_a_latin_word_still_runs_from_the_right() -> None:  # C36
    text = "أدوات:\n\n- Docker هو أداة للحاويات\n- أداة Git\n1. `docker run` يشغل الحاوية"

    lines = seen(text).splitlines()

    assert lines[2:] == [
        f"{MARK}• Docker هو أداة للحاويات",
        "• أداة Git",
        f"{MARK}1. docker run يشغل الحاوية",
    ]


def test_hebrew_headings_quotes_and_tables_do_too() -> None:  # C36
    text = f"# Redis הוא מסד נתונים\n\n> API זה ממשק\n\n| Name | מה זה עושה |\n|---|---|\n| koi | {'מילה ' * 12}|"

    assert [line[0] == MARK for line in seen(text).splitlines() if line] == [True, True, False, False]
    assert styled(text)[2] == ("blockquote", f"{MARK}API זה ממשק")


def test_other_lines_keep_theirs() -> None:  # C36
    for text in ["The word **שלום** means peace.", "مرحبا\n\n```py\nprint('مرحبا')\n```\n\nHello"]:
        assert MARK not in seen(text)


def test_plain_text_gets_its_direction_too() -> None:  # C36
    assert render("Docker هو أداة", plain=True) == (Part(f"{MARK}Docker هو أداة"),)


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_long_answer_is_cut_between_paragraphs() -> None:
    paragraphs = [f"{i} " + "word " * 170 + "\nmore\nwords" for i in range(12)]

    parts = split("\n\n".join(paragraphs))

    assert len(parts) == 3
    assert "\n\n".join(part.text for part in parts).split() == " ".join(paragraphs).split()
    assert all(part.text[0].isdigit() for part in parts)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    parts = split("This is, as it were, a sentence. " * 400)

    assert all(part.text.startswith("This") and part.text.endswith("sentence.") for part in parts)


def test_a_first_paragraph_is_not_sent_alone_for_the_sake_of_a_long_second() -> None:
    parts = split("Well.\n\n" + "This is a sentence. " * 300)

    assert units_of(parts[0].text) > 3000


def test_code_within_a_line_is_not_cut() -> None:
    parts = render("x" * 4000 + " " + "`" + "a b " * 100 + "`")

    assert [len(part.entities) for part in parts] == [0, 1]


@pytest.mark.parametrize(
    ("info", "language", "above"),
    [
        ("python", "python", ""),
        ("python title=app.py", "python", "title=app.py"),
        ("rust,no_run", "rust", ""),
        ("w1w", "w1w", ""),
        ("two words of somebody", "", "two words of somebody"),
        ("", "", ""),
    ],
)
def test_behind_a_fence_stands_a_language_or_something_to_be_read(
    info: str, language: str, above: str
) -> None:
    assert fence(info) == (language, above)


def test_a_file_of_code_names_a_language_that_its_ending_does_not() -> None:
    line, file = render(f"```brainfog\n{'x = 1\n' * 900}```")

    assert line.text == "📎 code.txt (brainfog)"
    assert file.file == "code.txt"

"""Acceptance: whatever Markdown a model writes, Telegram takes every part of it, and people get all of its words in order.

1,500 generated texts under the rules of tests/fakes/telegram_rules.py.
"""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.render import render
from bot.split import Part
from tests.fakes.telegram_rules import document_fault, fault_of

# `{}` becomes w0w, w1w, … in order; `{h}` what may be said elsewhere or again, a table's heading or a
# definition: h0h, h1h, …
LINES = [
    "{} {} {}.", "# {} `{}`", "## **{}** {}", "###### {}", "**{} *{}* {}**", "*{}** {} **{}*", "~~{}~~ ~{} __{}__ _{}_",
    "`{}` ``{} ` {}``", "||{} **{}** `{}`||", "||{}", "[{}](https://x.example/a_b_c) {}", "[{}](/relative) [**{}** `{}`]()",
    "[![{}](https://x.example/p.png)](https://x.example/l)", "<https://x.example/{}>", "https://x.example/{}_b_", "![{}](x.png \"{}\")",
    "> {}\n> - {}\n>> {} `{}`", "> {}\n{}", "> ||{}\n> {}||", "- {}\n- {}\n  - {}\n    1. {}\n\n       {}", "1. {}\n2. {}\n7) {}",
    "- [x] {}\n- [ ] **{}**", "* {}\n\n  ```sh\n  {}\n  ```\n* {}", "    {} {}", "\t{}", "<div class='{}'>{}</div>", "<b>{}</b> <!-- {} -->",
    "{} &amp; {} &lt;{}&gt;", "$5 {} $6", "${}_1$ {} $$\\frac{{{}}}{{2}}$$", "\\[ \\sum_{{i=1}}^n x_i \\] {}", "\\({} = \\alpha\\)", "\\* {} \\_ {} \\",
    "```python\n{}\n{}\n```", "```\n{}", "~~~~ {}\n{}\n~~~~", "```{}\n```", "````md\n```\n{}\n```\n````",
    "| {h} | {h} |\n|---|--:|\n| {} | {} |\n| `{}` | **{}** |", "| {h} |\n|---|\n| [{}](https://x.example/t) |\n| {} \\| {} |",
    "|{h}|{h}|{h}|\n|:-:|---|---|\n|{} {} {} {} {} {}|{}<br>{}|{}|", "| {h} | {h} |\n|---|---|\n| {} |\n| {} | {} | {} |",
    "---", "***", "{}\n===", "{}\n---", "[{}]: https://x.example/d", "[^1]: {h}", "{}[^1]", "{}  \n{}\\\n{}", "مرحبا {} عالم", "- Docker {} هو أداة",
    "> שלום {}", "👩🏽‍🚀{}👨‍👩‍👧‍👦 **{}🇩🇪**", "naïve {} 日本語。{}！", "\x00{}\ud83d {}", "\u202e{}\u2800", "\u200b", "\ufffc",
]  # fmt: skip
LONG = [
    "{} " * 900, f"{{}}, {'and on ' * 12}{{}}! " * 40, "**{}** " * 120, "- {} `{}`\n" * 60, "```python\n" + f"{{}} = {'1' * 90}\n" * 50 + "```", "`{}` _{}_ ||{}|| " * 40,
    "> " + f"{{}} {'long ' * 20}\n> " * 50, "| {h} | {h} |\n|---|---|\n" + f"| {{}} | {'value ' * 3} |\n" * 150, "x" * 5000 + " {}", "```\n" + "🎈" * 2100 + "{}\n```",
]  # fmt: skip
GLUE = st.sampled_from(["\n\n", "\n\n", "\n\n", "\n", "\n", " ", "\n> ", "\n  ", "\n- "])
BLOCK = st.one_of(st.sampled_from(LINES), st.sampled_from(LONG))
PIECES = st.sampled_from(
    ["{}", "{}", "{}", " ", "\n", "\n\n", "**", "*", "_", "__", "`", "~~", "||", "> ", "- ", "1. ", "# ", "[", "](http://x.yz)", "|", "\n|---|\n",
     "<b>", "</b>", "<", "&amp;", "\\", "$", "$$", "```\n", "\n```\n", "    ", "(", ")", "!", "---\n", "\ud800", "\x00", "\\(", "\\)", "\u2800", "مر", "🎈"]
)  # fmt: skip


def examples(count: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=count, deadline=None, suppress_health_check=slow)


def numbered(template: str) -> str:
    """With a word of its own in each place."""
    words, headings = iter(range(10**6)), iter(range(10**6))
    named = re.sub(r"\{h\}", lambda _: f"h{next(headings)}h", template)
    filled = re.sub(r"\{\}", lambda _: f"w{next(words)}w", named)
    return filled.replace("{{", "{").replace("}}", "}")


def check(text: str) -> None:
    """Every part accepted; every word there, once and in order."""
    parts = render(text)

    assert parts
    for part in parts:
        assert refusal(part) is None, part
    languages: set[str] = set()
    seen = "\n".join(said(part, languages) for part in parts)
    assert re.findall(r"w(\d+)w", seen) == re.findall(r"w(\d+)w", text)
    assert set(re.findall(r"h\d+h", seen)) == set(re.findall(r"h\d+h", text))


def refusal(part: Part) -> str | None:
    if part.file:
        assert not part.entities
        return document_fault({"name": part.file, "content": part.text}, "")
    return fault_of(part.text, part.entities)


def said(part: Part, languages: set[str]) -> str:
    """The text with the addresses that its entities hold, where they stand, and with languages that were not yet said."""
    units = part.text.encode("utf-16-le")
    notes = [(e["offset"] + e["length"], e["url"]) for e in part.entities if "url" in e]
    notes += [
        (e["offset"], e["language"]) for e in part.entities if e.get("language", "") not in {"", *languages}
    ]
    languages |= {e["language"] for e in part.entities if "language" in e}
    for at, note in sorted(notes, reverse=True):
        units = units[: at * 2] + f" {note} ".encode("utf-16-le") + units[at * 2 :]
    return units.decode("utf-16-le")


@given(st.lists(st.tuples(st.sampled_from(LINES), GLUE), min_size=1, max_size=9))
@examples(600)
def test_documents(blocks: list[tuple[str, str]]) -> None:
    check(numbered("".join(block + glue for block, glue in blocks)))


@given(st.lists(st.tuples(BLOCK, GLUE), min_size=1, max_size=3))
@examples(300)
def test_long_documents(blocks: list[tuple[str, str]]) -> None:
    check(numbered("".join(block + glue for block, glue in blocks)))


@given(
    st.lists(
        st.one_of(PIECES, st.text(alphabet=st.characters(exclude_characters="wh{}"), max_size=6)), max_size=40
    )
)
@examples(600)
def test_broken_markup(pieces: list[str]) -> None:
    check(numbered("".join(pieces)))

"""How far the token estimate is off, by language, alone and corrected as a conversation goes on.

o200k_base stands for the API: the estimator has no relation to it but the texts its rates were fitted to, none of which
is here (bench/texts: own words, 22 a language). Conversations are put together from these texts at random, as koi sends
them: a system prompt, earlier exchanges within a budget, the new message; the API counts a few tokens more for each
message, and once as many as it is and once 1.3 times as many (Claude 5.x).
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import bpe_openai
from rich.console import Console
from rich.table import Table

from bench.report import arguments
from memory.ratio import factor, learn, start
from memory.tokens import estimate_tokens

TEXTS = Path(__file__).parent / "texts"
LANGUAGES = ("en", "de", "ru", "zh", "code")
MIXTURES = (
    ("en",),
    ("de",),
    ("ru",),
    ("zh",),
    ("code",),
    ("de", "code"),
    ("ru", "en"),
    ("zh", "code"),
    ("en", "de"),
)
SCALES = (1.0, 1.3)
CONVERSATIONS, TURNS = 60, 20
BUDGET_TOKENS, KEPT_SHARE = 4_000, 0.6
"""By estimate; when full, the oldest exchanges are dropped down to that share of it."""
MESSAGE_TOKENS = 4
"""What a chat API counts around each message."""
SETTLED = 2
"""Turns before the third."""
FAR = 0.10


@dataclass(frozen=True, slots=True)
class Text:
    estimated: int
    counted: int


def counted(text: str) -> int:
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> bpe_openai.Encoding:
    return bpe_openai.get_encoding("o200k_base")


@cache
def texts(language: str) -> tuple[Text, ...]:
    """Each text of a language, estimated and counted."""
    written = (TEXTS / f"{language}.txt").read_text("utf-8").strip("\n").split("\n%%\n")
    return tuple(Text(estimate_tokens(text), counted(text)) for text in written)


def conversation(chance: random.Random, pool: Sequence[Text]) -> Iterator[Text]:
    """The payload of each turn: estimated, and as an API counts it."""
    system, history = chance.choice(texts("en")), list[Text]()
    for _ in range(TURNS):
        message = chance.choice(pool)
        payload = _plus(system, *history, message)
        yield Text(payload.estimated, payload.counted + MESSAGE_TOKENS * (len(history) + 2))
        history += [message, chance.choice(pool)]
        if _plus(system, *history).estimated > BUDGET_TOKENS:
            while _plus(system, *history).estimated > BUDGET_TOKENS * KEPT_SHARE and len(history) > 4:
                del history[:2]


def corrected(payloads: Iterator[Text], scale: float) -> Iterator[float]:
    """By which share each turn's corrected estimate was off; below 0: too low."""
    ratio = start()
    for payload in payloads:
        actual = round(payload.counted * scale)
        yield factor(ratio) * payload.estimated / actual - 1
        ratio = learn(ratio, payload.estimated, actual)


def measure(conversations: int = CONVERSATIONS) -> tuple[list[Table], dict[str, Any]]:
    """The tables and their figures (shares, not per cent)."""
    plain, figures = _plain()
    settled, more = _settled(conversations)
    return [plain, settled], figures | more


def _plain() -> tuple[Table, dict[str, Any]]:
    table = _table("Estimate of one text", "language", "texts", "tokens", "median error", "under by > 10 %")
    figures: dict[str, Any] = {}
    everything = [text for language in LANGUAGES for text in texts(language)]
    for language, ours in [*((one, texts(one)) for one in LANGUAGES), ("all", everything)]:
        errors = [text.estimated / text.counted - 1 for text in ours]
        middle, under = median(map(abs, errors)), _under(errors)
        tokens = sum(text.counted for text in ours)
        table.add_row(language, str(len(ours)), f"{tokens:,}", f"{middle:.1%}", f"{under:.1%}")
        figures[f"plain_{language}_median_error"], figures[f"plain_{language}_under"] = middle, under
    return table, figures


def _settled(conversations: int) -> tuple[Table, dict[str, Any]]:
    table = _table(
        "Estimate of the payload, corrected, from the third turn on",
        "conversations in", "API counts ×", "turns", "median error", "under by > 10 %", "first two: under",
    )  # fmt: skip
    figures: dict[str, Any] = {}
    for scale in SCALES:
        every: list[float] = []
        for mixture in MIXTURES:
            pool = [text for language in mixture for text in texts(language)]
            chance = random.Random(f"{mixture}")
            runs = [list(corrected(conversation(chance, pool), scale)) for _ in range(conversations)]
            later = [error for run in runs for error in run[SETTLED:]]
            first = [error for run in runs for error in run[:SETTLED]]
            every += later
            table.add_row(
                " + ".join(mixture), str(scale), str(len(later)), *_shown(later), f"{_under(first):.1%}"
            )
        table.add_row("all", str(scale), str(len(every)), *_shown(every), "")
        figures[f"settled_x{scale}_median_error"] = median(map(abs, every))
        figures[f"settled_x{scale}_under"] = _under(every)
    return table, figures


def _shown(errors: Sequence[float]) -> tuple[str, str]:
    return f"{median(map(abs, errors)):.1%}", f"{_under(errors):.2%}"


def _under(errors: Sequence[float]) -> float:
    return sum(error < -FAR for error in errors) / len(errors)


def _plus(*parts: Text) -> Text:
    return Text(sum(part.estimated for part in parts), sum(part.counted for part in parts))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at else "left")
    return table


def main() -> int:
    options = arguments("How far the token estimate is off").parse_args()
    tables, figures = measure()
    console = Console(width=None if sys.stdout.isatty() else 130)
    for table in tables:
        console.print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

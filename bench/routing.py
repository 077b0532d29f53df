"""Which messages go to the light model, and what that gets wrong.

Four looks: the pairs of tests/llm/routing_pairs.py; messages written after the router, half of the strong ones meant to
fool it; 120 turns of people, drawn at random from four dialogue sets and labelled by hand before the router had seen them
(bench/labels/routing.jsonl: where they stand and the label, no texts); and all turns of those sets in their
conversations, a minute apart. The sets are read from ../shared/data/context.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.report import arguments
from llm.features import features_of
from llm.routing import Asked, Models, Segment, Tier, reason, route
from tests.llm.routing_pairs import PAIRS

DATA = Path(__file__).parents[2] / "shared" / "data" / "context"
LABELS = Path(__file__).parent / "labels" / "routing.jsonl"
FRESH = Path(__file__).parent / "labels" / "routing_fresh.jsonl"
SETS = ("ikat", "canard", "sgd", "tau_airline")
BOTH = Models(("strong",), "light").tiers
PAUSE_MS = 60_000
RUBRIC = (
    "Labelled by the author, one rater, from the message and the end of the answer before it. Strong: two or more "
    "demands or conditions to be weighed; to explain, compare, advise or create rather than look up; an action with "
    "consequences that depends on conditions; code. Light: one fact, one simple action, a choice, a correction, data "
    "that was asked for, thanks."
)


@dataclass(frozen=True, slots=True)
class Turn:
    dialogue: str
    at: int
    text: str


def turns_of(dataset: str, folder: Path = DATA) -> list[Turn]:
    """All that people say in one set, in the order of the file."""
    with (folder / f"{dataset}.dev.jsonl").open(encoding="utf-8") as lines:
        return [turn for line in lines for turn in _turns(json.loads(line))]


def _turns(dialogue: Mapping[str, Any]) -> Iterator[Turn]:
    for at, message in enumerate(dialogue.get("messages", ())):
        if message["role"] == "user" and (message.get("content") or "").strip():
            yield Turn(dialogue["id"], at, message["content"])
    for at, exchange in enumerate(dialogue.get("exchanges", ())):
        yield Turn(dialogue["id"], at, exchange["u"])


def alone(text: str) -> Tier:
    """By the message alone."""
    return "light" if reason(Asked(features_of(text))) == "short_request" else "strong"


def in_conversation(turns: list[Turn]) -> tuple[Counter[Tier], int]:
    """Turns by tier when each conversation keeps its segment, and how often a running one went over to strong."""
    tiers: Counter[Tier] = Counter()
    switches, dialogue, segment, now_ms = 0, "", Segment(), 0
    for turn in turns:
        now_ms += PAUSE_MS
        if turn.dialogue != dialogue:
            dialogue, segment = turn.dialogue, Segment()
        choice = route(Asked(features_of(turn.text)), segment, BOTH, now_ms=now_ms)
        switches += segment.tier == "light" and choice.tier == "strong"
        tiers[choice.tier] += 1
        segment = Segment(choice.tier, now_ms)
    return tiers, switches


def measure(folder: Path = DATA) -> tuple[list[Table], dict[str, Any]]:
    """The tables and their figures; without the sets only the pairs."""
    fresh, figures = _fresh()
    tables = [_pairs_table(), fresh]
    figures |= {"pairs_wrong": len(wrong_pairs()), "pairs": len(PAIRS)}
    if not folder.is_dir():
        return tables, figures | {"absent": str(folder)}
    sets = {name: turns_of(name, folder) for name in SETS}
    labelled, judged = _judge(sets)
    conversations, shares = _converse(sets)
    return [*tables, labelled, conversations], figures | judged | shares


def wrong_pairs() -> list[tuple[str, Tier]]:
    """Messages of pairs that go the wrong way, with where they should go."""
    sides: list[tuple[str, Tier]] = []
    for pair in PAIRS:
        sides.extend(((pair.light, "light"), (pair.strong, "strong")))
    return [(text, tier) for text, tier in sides if alone(text) != tier]


def _pairs_table() -> Table:
    table = _table("Pairs, both sides right", "language", "pairs", "right")
    wrong = {text for text, _ in wrong_pairs()}
    for language in dict.fromkeys(pair.language for pair in PAIRS):
        ours = [pair for pair in PAIRS if pair.language == language]
        right = sum(pair.light not in wrong and pair.strong not in wrong for pair in ours)
        table.add_row(language, str(len(ours)), str(right))
    return table


def _fresh() -> tuple[Table, dict[str, Any]]:
    table = _table("Written afterwards", "label", "messages", "right")
    rows = [json.loads(line) for line in FRESH.read_text("utf-8").splitlines()]
    figures: dict[str, Any] = {}
    for label in ("light", "strong"):
        went = [alone(row["text"]) == label for row in rows if row["label"] == label]
        table.add_row(label, str(len(went)), str(sum(went)))
        figures[f"fresh_{label}"], figures[f"fresh_{label}_right"] = len(went), sum(went)
    return table, figures


def _judge(sets: Mapping[str, list[Turn]]) -> tuple[Table, dict[str, Any]]:
    texts = {(name, turn.dialogue, turn.at): turn.text for name, turns in sets.items() for turn in turns}
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    table = _table(
        "Labelled turns",
        "set",
        "turns",
        "labelled strong",
        "went strong",
        "of strong: right",
        "of light: right",
    )
    counts: Counter[tuple[str, str, Tier]] = Counter()
    for row in rows:
        went = alone(texts[row["dataset"], row["id"], row["turn"]])
        counts.update([(row["dataset"], row["label"], went), ("all", row["label"], went)])
    for name in (*SETS, "all"):
        strong, light = _right(counts, name, "strong"), _right(counts, name, "light")
        went = counts[name, "strong", "strong"] + counts[name, "light", "strong"]
        table.add_row(
            name, str(strong[1] + light[1]), str(strong[1]), str(went), _share(*strong), _share(*light)
        )
    strong, light = _right(counts, "all", "strong"), _right(counts, "all", "light")
    went_light = counts["all", "strong", "light"] + light[0]
    return table, {
        "labelled": len(rows),
        "labelled_light_share": went_light / len(rows),
        "strong_recall": strong[0] / strong[1],
        "strong_precision": strong[0] / (len(rows) - went_light),
        "light_recall": light[0] / light[1],
        "light_precision": light[0] / went_light,
    }


def _right(counts: Counter[tuple[str, str, Tier]], name: str, label: Tier) -> tuple[int, int]:
    """How many of those with the label went where it says, and how many there are."""
    right = counts[name, label, label]
    return right, right + counts[name, label, "strong" if label == "light" else "light"]


def _converse(sets: Mapping[str, list[Turn]]) -> tuple[Table, dict[str, Any]]:
    table = _table(
        "All turns", "set", "turns", "light by message", "light in conversation", "went over to strong"
    )
    figures: dict[str, Any] = {}
    for name, turns in sets.items():
        by_message = sum(alone(turn.text) == "light" for turn in turns)
        tiers, switches = in_conversation(turns)
        table.add_row(
            name,
            str(len(turns)),
            _share(by_message, len(turns)),
            _share(tiers["light"], len(turns)),
            str(switches),
        )
        figures[f"{name}_light_share"] = by_message / len(turns)
        figures[f"{name}_light_share_in_conversation"] = tiers["light"] / len(turns)
    return table, figures


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at else "left")
    return table


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {part / whole:.0%}" if whole else "–"


def main() -> int:
    """Exit code 1 if a pair goes the wrong way."""
    options = arguments("Which messages go to the light model, and what that gets wrong").parse_args()
    tables, figures = measure()
    console = Console(width=None if sys.stdout.isatty() else 130)
    for table in tables:
        console.print(table)
    print("The dialogue sets are not here: only the pairs were looked at." if "absent" in figures else RUBRIC)
    for text, tier in wrong_pairs():
        print(f"should go {tier}: {text}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return int(bool(wrong_pairs()))


if __name__ == "__main__":
    sys.exit(main())

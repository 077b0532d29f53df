"""What the block of a new session keeps of what a reader needs, by builder. Part of bench.context.

A probe gives the history before a message and the terms ("needed") that a person needs to resolve it.

- coverage: |needed ∩ terms(block)| / |needed|, mean over the probes of a set; terms and tokens by `terms.py` of the data.
- upper bound: the same for the whole history, uncut, in the same frame.
- source sentence: of the history's sentences that hold most of the needed terms, one has ≥ 70 % of its terms on one line
  of the block. Several often hold equally many; the stricter readings, the newest and the oldest of them, stand beside it.

koi sees the newest 20 exchanges as its ring stores them: messages cut to 500 characters, replies to 4,000.
"""

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import cache
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, Protocol, cast

from rich.progress import track

from infra.cut import NOTHING
from memory.context import build_block
from memory.entry import make_entry
from memory.labels import labels
from memory.limits import MemoryLimits
from memory.session import new_exchange
from schemas.memory import RingEntry

CONTINUOUS = ("ikat", "canard", "sgd")
RETURN = ("mix_ikat", "mix_canard")
SETS = CONTINUOUS + RETURN

LABELS = labels("en")
FIRST_MS, APART_MS = 1_775_391_780_000, 180_000
RING, LAST, SHORT_CHARS = 20, 5, 300
ON_ONE_LINE = 0.7
RAW_TOKENS = 500
RAW_FRAME_TOKENS = 20
"""Stamp, names and line ends of an exchange that is cut."""


class Terms(Protocol):
    """terms.py of the data."""

    def tset(self, text: str, lang: str = "en") -> set[str]: ...
    def sentences(self, text: str) -> list[str]: ...
    def ntok(self, s: str) -> int: ...


@dataclass(frozen=True, slots=True)
class Probe:
    history: tuple[tuple[str, str], ...]
    """What was said and answered, oldest first."""
    message: str
    needed: frozenset[str]


type Builder = Callable[[Probe, Terms], str]


@dataclass(slots=True)
class Score:
    """Of one builder on one set: a value per probe."""

    tokens: list[int] = field(default_factory=list[int])
    coverage: list[float] = field(default_factory=list[float])
    source: list[tuple[bool, bool, bool]] = field(default_factory=list[tuple[bool, bool, bool]])
    """Any, the newest, the oldest of the sentences that hold most; only of probes that have one."""
    seconds: list[float] = field(default_factory=list[float])

    def mean_source(self, which: int) -> float:
        return fmean(found[which] for found in self.source)


def load_terms(data: Path) -> Terms:
    """Raises: ImportError: the packages of the group `bench` are missing."""
    spec = importlib.util.spec_from_file_location("koi_bench_terms", data / "terms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Terms", module)


def probes_of(path: Path, *, every: int = 1) -> list[Probe]:
    """Of a file of the data, each `every`-th."""
    found: list[Probe] = []
    for line in path.read_text("utf-8").splitlines():
        dialogue: dict[str, Any] = json.loads(line)
        said = tuple((one["u"], one["a"]) for one in dialogue["exchanges"])
        found += [
            Probe(said[: probe["t"]], probe["msg"], frozenset(probe["needed"]))
            for probe in dialogue["probes"]
            if probe["t"] and probe["needed"]
        ]
    return found[::every]


def measure(
    probes: Sequence[Probe], terms: Terms, title: str, builders: dict[str, Builder]
) -> dict[str, Score]:
    """Every builder on every probe."""
    scores = {name: Score() for name in builders}
    seen = cache(lambda text: frozenset(terms.tset(text)))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    for probe in track(probes, title):
        sources = list(_sources(probe, terms, seen))
        for name, build in builders.items():
            score = scores[name]
            begun = perf_counter()
            block = build(probe, terms)
            score.seconds.append(perf_counter() - begun)
            score.tokens.append(terms.ntok(block))
            score.coverage.append(len(probe.needed & terms.tset(block)) / len(probe.needed))
            if sources:
                lines = [seen(line) for line in block.split("\n")]
                shown = [_is_shown(source, lines) for source in sources]
                score.source.append((any(shown), shown[-1], shown[0]))
    return scores


def _sources(probe: Probe, terms: Terms, seen: Callable[[str], frozenset[str]]) -> Iterator[frozenset[str]]:
    """The terms of each sentence that holds most of what is needed, oldest first."""
    sentences = [
        seen(sentence) for said in probe.history for text in said for sentence in terms.sentences(text)
    ]
    most = max((len(probe.needed & sentence) for sentence in sentences), default=0)
    return (sentence for sentence in sentences if most and len(probe.needed & sentence) == most)


def _is_shown(sentence: frozenset[str], lines: Sequence[frozenset[str]]) -> bool:
    return any(len(sentence & line) >= ON_ONE_LINE * len(sentence) for line in lines)


# ── builders ─────────────────────────────────────────────────────────────────────────────────────────────────────
@cache
def stored(said: tuple[tuple[str, str], ...]) -> tuple[RingEntry, ...]:
    """The exchanges as the ring holds them, features included."""
    return tuple(_entry(number, *one) for number, one in enumerate(said))[-RING:]


@cache
def _entry(number: int, user: str, reply: str) -> RingEntry:
    exchange = new_exchange(str(number), FIRST_MS + number * APART_MS, user, reply)
    return make_entry(exchange, MemoryLimits())


def koi(limits: MemoryLimits) -> Builder:
    def build(probe: Probe, _terms: Terms) -> str:
        block = build_block(stored(probe.history), LABELS, UTC, limits, probe.message)
        return block.text if block else ""

    return build


def frame(said: Sequence[tuple[str, str]]) -> str:
    """koi's frame around any texts."""
    quotes = "".join(f"\n\n[05.04. 14:23]\nUser: {user}\nBot: {reply}" for user, reply in said)
    return f"<conversation_history>\n{LABELS.heading}{quotes}\n</conversation_history>\n\n{LABELS.current} "


def whole_history(probe: Probe, _terms: Terms) -> str:
    return frame(probe.history)


def short_summaries(probe: Probe, _terms: Terms) -> str:
    """Of a reply its first whole lines within 300 characters: nothing if the first line is longer."""
    return frame([(user, _whole_lines(reply)) for user, reply in probe.history[-LAST:]])


def newest_raw(probe: Probe, terms: Terms) -> str:
    """Whole exchanges, newest first; the first that does not fit is cut at the end. Counts with the true tokenizer."""
    kept: list[tuple[str, str]] = []
    left = RAW_TOKENS - terms.ntok(frame([]))
    for user, reply in reversed(probe.history):
        tokens = terms.ntok(frame([(user, reply)])) - terms.ntok(frame([]))
        if tokens > left:
            room = left - RAW_FRAME_TOKENS
            begun, rest = _begin(user, room, terms)
            kept += [(begun, _begin(reply, rest, terms)[0])] if room > 0 else []
            break
        left -= tokens
        kept.append((user, reply))
    return frame(kept[::-1])


BUILDERS: dict[str, Builder] = {
    "last five, short summary": short_summaries,
    'koi, "last"': koi(MemoryLimits(strategy="last")),
    "newest exchanges raw, 500": newest_raw,
    "koi, 500": koi(MemoryLimits(budget_tokens=500)),
    "koi, 1,000": koi(MemoryLimits(budget_tokens=1_000)),
    "whole history": whole_history,
}


def _whole_lines(reply: str) -> str:
    if len(reply) <= SHORT_CHARS:
        return reply
    return reply[: max(0, reply.rfind("\n", 0, SHORT_CHARS + 1))] or NOTHING


def _begin(text: str, most_tokens: int, terms: Terms) -> tuple[str, int]:
    """The longest beginning in whole words, and how many tokens are left."""
    words = text.split(" ")
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        if terms.ntok(" ".join(words[:middle])) <= most_tokens:
            low = middle
        else:
            high = middle - 1
    begun = " ".join(words[:low])
    return begun, max(0, most_tokens - terms.ntok(begun))

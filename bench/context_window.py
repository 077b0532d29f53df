"""What of a running conversation with tools is kept under a budget, measured on tau_airline. Part of bench.context.

A probe is a tool call of a conversation: what it needs are the terms of its arguments that the current message does not
hold, and its history is everything before it but that message. Coverage = |needed ∩ terms(kept)| / |needed|; the mean of
each conversation, then of all. Terms and tokens are counted by `terms.py` beside the data, koi itself only estimates.

Whole messages go by priority: the last two exchanges, tool calls with their results, the rest; newest first.
"""

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol, cast

from rich.table import Table

from memory.tables import as_table
from memory.trim import shrunk
from memory.window import Shown, counted, session_tokens, window
from schemas.memory import Exchange, Session, ToolCall, ToolRound

FILE = "tau_airline.dev.jsonl"
BUDGETS = (500, 1_000, 2_000)


class Terms(Protocol):
    """terms.py of the data."""

    def tset(self, text: str, lang: str = "en") -> set[str]: ...
    def ntok(self, s: str) -> int: ...


@dataclass(frozen=True, slots=True)
class Unit:
    """What is kept whole: a message, or a tool call with its result."""

    text: str
    exchange: int
    is_tool: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """One tool call and what was said before it."""

    conversation: str
    needed: frozenset[str]
    units: tuple[Unit, ...]
    session: Session


type Builder = Callable[[Probe, int, Terms], str]


def measure(data_dir: Path) -> tuple[list[Table], dict[str, Any]]:
    """The table for people and the figures for the JSON file; empty if the data is not there."""
    path = data_dir / FILE
    if not path.exists():
        return [], {"missing": str(path)}
    terms = _terms_of(data_dir / "terms.py")
    lines = path.read_text("utf-8").splitlines()
    probes = [probe for line in lines for probe in probes_of(json.loads(line), terms)]
    table = Table(title=f"inside a session: {len(probes)} tool calls of {FILE}", title_justify="left")
    table.add_column("window")
    for budget in BUDGETS:
        table.add_column(f"{budget:,}", justify="right")
        table.add_column("tokens", justify="right")
    figures: dict[str, Any] = {"probes": len(probes), "builders": {}}
    for name, build in BUILDERS.items():
        scores = [_score(probes, build, budget, terms) for budget in BUDGETS]
        table.add_row(name, *(cell for cover, used in scores for cell in (f"{cover:.3f}", f"{used:.0f}")))
        figures["builders"][name] = [
            {"budget": budget, "coverage": round(cover, 4), "tokens": round(used, 1)}
            for budget, (cover, used) in zip(BUDGETS, scores, strict=True)
        ]
    return [table], figures


def _score(probes: Sequence[Probe], build: Builder, budget: int, terms: Terms) -> tuple[float, float]:
    """Mean coverage, and mean tokens of what was kept."""
    coverage: dict[str, list[float]] = {}
    used: list[int] = []
    for probe in probes:
        kept = build(probe, budget, terms)
        used.append(terms.ntok(kept))
        found = len(probe.needed & terms.tset(kept)) / len(probe.needed)
        coverage.setdefault(probe.conversation, []).append(found)
    return fmean(fmean(found) for found in coverage.values()), fmean(used)


# ── builders ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _by_priority(probe: Probe, budget: int, terms: Terms, *, go_on: bool, tables: bool = False) -> str:
    units = [replace(unit, text=as_table_lines(unit.text)) for unit in probe.units] if tables else probe.units
    last_two = probe.units[-1].exchange - 1 if probe.units else 0
    order = sorted(
        range(len(units)),
        key=lambda i: (0 if units[i].exchange >= last_two else 1 if units[i].is_tool else 2, -i),
    )
    chosen: list[int] = []
    for index in order:
        tokens = terms.ntok(units[index].text)
        if tokens <= budget:
            budget -= tokens
            chosen.append(index)
        elif not go_on:
            break
    return "\n".join(units[index].text for index in sorted(chosen))


def as_table_lines(text: str) -> str:
    """Each line as a table if it is JSON: a call and its result."""
    return "\n".join(map(as_table, text.split("\n")))


def _stopping(probe: Probe, budget: int, terms: Terms) -> str:
    return _by_priority(probe, budget, terms, go_on=False)


def _going_on(probe: Probe, budget: int, terms: Terms) -> str:
    return _by_priority(probe, budget, terms, go_on=True)


def _with_tables(probe: Probe, budget: int, terms: Terms) -> str:
    return _by_priority(probe, budget, terms, go_on=True, tables=True)


def _koi(probe: Probe, budget: int, _terms: Terms) -> str:
    session = probe.session
    if session_tokens(session) > budget:
        session = shrunk(session, budget, budget, folds=False).session
    return "\n".join(map(_text_of, window(session)))


def _everything(probe: Probe, _budget: int, _terms: Terms) -> str:
    return "\n".join(unit.text for unit in probe.units)


BUILDERS: dict[str, Builder] = {
    "whole messages, stopping at the first misfit": _stopping,
    "the same, going on": _going_on,
    "the same, JSON as tables": _with_tables,
    "koi": _koi,
    "everything (upper bound)": _everything,
}


def _text_of(shown: Shown) -> str:
    calls = " ".join(f"{call.name} {call.arguments}" for call in shown.uses)
    return " ".join([shown.text, calls, *(result.text for result in shown.results)])


# ── conversations ────────────────────────────────────────────────────────────────────────────────────────────────
def probes_of(conversation: dict[str, Any], terms: Terms) -> Iterator[Probe]:
    """One for each tool call that needs something the current message does not say."""
    messages: list[dict[str, Any]] = conversation["messages"]
    current = -1
    for index, message in enumerate(messages):
        if message["role"] == "user":
            current = index
        calls = message.get("tool_calls")
        if not calls or current < 0:
            continue
        words = " ".join(_leaves(json.loads(calls[0]["arguments"])))
        needed = terms.tset(words) - terms.tset(messages[current]["content"])
        if needed:
            before = [
                {**one, "content": ""} if at == current else one for at, one in enumerate(messages[:index])
            ]
            yield Probe(
                conversation["id"], frozenset(needed), tuple(_units(before)),
                Session(id="s", started_ms=0, last_ms=0, exchanges=tuple(_exchanges(before))),
            )  # fmt: skip


def _units(messages: Sequence[dict[str, Any]]) -> Iterator[Unit]:
    exchange, call = 0, ""
    for message in messages:
        text = message.get("content") or ""
        match message["role"]:
            case "user":
                exchange += 1
                if text:
                    yield Unit(text, exchange)
            case "tool":
                yield Unit(f"{call}\n{text}", exchange, is_tool=True)
            case _:
                calls: list[dict[str, Any]] = message.get("tool_calls") or []
                call = " ".join(f"{one['name']} {one['arguments']}" for one in calls)
                if text:
                    yield Unit(text, exchange)


def _exchanges(messages: Sequence[dict[str, Any]]) -> Iterator[Exchange]:
    starts = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
        part = messages[start + 1 : end]
        texts = [
            one.get("content") or ""
            for one in part
            if one["role"] == "assistant" and not one.get("tool_calls")
        ]
        yield counted(
            Exchange(
                id=f"e{start}", at_ms=start, user=messages[start]["content"], reply="\n".join(texts),
                rounds=tuple(_rounds(part, f"e{start}")),
            )
        )  # fmt: skip


def _rounds(messages: Sequence[dict[str, Any]], name: str) -> Iterator[ToolRound]:
    for index, (asked, answered) in enumerate(pairwise(messages)):
        calls = asked.get("tool_calls")
        if calls and answered["role"] == "tool":
            call = ToolCall(id=f"{name}.{index}", name=calls[0]["name"], arguments=calls[0]["arguments"])
            result = as_table(answered.get("content") or "")
            yield ToolRound(text=asked.get("content") or "", calls=(call,), results=(result,))


def _leaves(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for part in cast("dict[str, Any]", value).values():
                yield from _leaves(part)
        case list():
            for part in cast("list[Any]", value):
                yield from _leaves(part)
        case _:
            yield str(value)


def _terms_of(path: Path) -> Terms:
    spec = importlib.util.spec_from_file_location("koi_bench_terms", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Terms", module)

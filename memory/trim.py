"""A conversation that has outgrown its budget is brought down in one go. Pure.

Not down to the budget, but to TRIM_TO of it: what a service has cached is worthless after a trim, so the next ones
must be many turns away. What is left over is what is stored, so that it stays the same until then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memory.tokens import estimate_tokens
from memory.window import (
    counted,
    exchange_tokens,
    recounted,
    repaired,
    round_tokens,
    session_tokens,
    summary_tokens,
    texts_tokens,
)
from schemas.memory import Exchange, Session
from schemas.turn import LeftOut

VERBATIM = 2
"""So many exchanges at the end are always kept whole."""
TRIM_TO = 0.6
"""Of the room: what a trim leaves."""
LEAST_RESULT_TOKENS = 40
"""Of a tool result that is cut for want of room."""
SAFETY = 0.9
"""Each step of cutting aims a little lower, so that a few steps reach the goal."""
CUT_MARK = "\n[… left out …]\n"
CUT_MARK_TOKENS = 8
HEAD_SHARE = 2 / 3
"""Of what is kept of a cut result: its beginning; the rest is its end."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What goes to the model and, at the commit, into the store."""

    session: Session
    left_out: tuple[LeftOut, ...] = ()
    """What it lost now, oldest first."""


def trim(session: Session, room_tokens: int, *, folds: bool) -> Trimmed:
    """The session itself if it fits into `room_tokens` (of koi's estimate), else what is worth most of it.

    folds: whole exchanges that are dropped wait in `Session.leaving` for the summary.
    """
    session = repaired(session)
    if session_tokens(session) <= room_tokens:
        return Trimmed(session)
    return shrunk(session, int(room_tokens * TRIM_TO), room_tokens, folds=folds)


def shrunk(session: Session, target_tokens: int, room_tokens: int, *, folds: bool) -> Trimmed:
    """At most `target_tokens` of a session, in this order and never stopping at what does not fit: the last two
    exchanges (above `room_tokens`, their tool results are cut; their texts never) · tool rounds, newest first, each
    with the texts around it · the texts of exchanges, newest first.
    """
    exchanges = tuple(map(counted, session.exchanges))
    fixed = summary_tokens(session)
    last = _within(exchanges[-VERBATIM:], room_tokens - fixed)
    earlier = exchanges[:-VERBATIM]
    chosen = _chosen(earlier, target_tokens - fixed - sum(map(exchange_tokens, last)))
    kept = tuple(_part(exchange, chosen[index]) for index, exchange in enumerate(earlier) if index in chosen)
    dropped = [exchange for index, exchange in enumerate(earlier) if index not in chosen]
    new = session.model_copy(update={"exchanges": (*kept, *last)})
    left_out = (*_lost(exchanges, new.exchanges), *_cut_results(exchanges[-VERBATIM:], last))
    if not folds:
        return Trimmed(new, (*_gone(dropped, "no_room"), *left_out))
    leaving, lost = _leaving((*session.leaving, *dropped), room_tokens)
    waiting = {exchange.id for exchange in leaving}
    folded = [exchange for exchange in dropped if exchange.id in waiting]
    return Trimmed(
        new.model_copy(update={"leaving": leaving}),
        (*_gone(lost, "no_room"), *_gone(folded, "folded"), *left_out),
    )


def _chosen(exchanges: Sequence[Exchange], spare_tokens: int) -> dict[int, list[int]]:
    """Indices of exchanges that stay, each with the indices of its rounds that stay, newest first."""
    texts = [texts_tokens(exchange) if exchange.rounds else exchange.tokens for exchange in exchanges]
    chosen: dict[int, list[int]] = {}
    for index in reversed(range(len(exchanges))):
        rounds = exchanges[index].rounds
        for number in reversed(range(len(rounds))):
            cost = round_tokens(rounds[number]) + (0 if index in chosen else texts[index])
            if cost <= spare_tokens:
                spare_tokens -= cost
                chosen.setdefault(index, []).append(number)
    for index in reversed(range(len(exchanges))):
        if index not in chosen and texts[index] <= spare_tokens:
            spare_tokens -= texts[index]
            chosen[index] = []
    return chosen


def _part(exchange: Exchange, numbers: Sequence[int]) -> Exchange:
    if len(numbers) == len(exchange.rounds):
        return exchange
    return recounted(exchange, [exchange.rounds[number] for number in sorted(numbers)])


# ── the last two, when they alone are too much ───────────────────────────────────────────────────────────────────
def _within(exchanges: tuple[Exchange, ...], room_tokens: int) -> tuple[Exchange, ...]:
    """The same exchanges, the longest of their tool results cut to one length until all fits, or nothing is left to
    cut.
    """
    sizes = [
        estimate_tokens(text) for exchange in exchanges for step in exchange.rounds for text in step.results
    ]
    spare = room_tokens - sum(map(exchange_tokens, exchanges)) + sum(sizes)
    if sum(sizes) <= spare or not sizes:
        return exchanges
    most = max(LEAST_RESULT_TOKENS, _level(sizes, spare))
    while True:
        short = tuple(_shortened(exchange, most) for exchange in exchanges)
        if most == LEAST_RESULT_TOKENS or sum(map(exchange_tokens, short)) <= room_tokens:
            return short
        most = max(LEAST_RESULT_TOKENS, int(most * SAFETY))


def _level(sizes: Sequence[int], spare: int) -> int:
    """The length that all longer ones must be cut to, so that together they have `spare`."""
    for position, size in enumerate(ordered := sorted(sizes)):
        share = spare // (len(ordered) - position)
        if size > share:
            return share
        spare -= size
    return max(sizes, default=0)


def _shortened(exchange: Exchange, most_tokens: int) -> Exchange:
    if not exchange.rounds:
        return exchange
    rounds = [
        step.model_copy(update={"results": tuple(cut_middle(text, most_tokens) for text in step.results)})
        for step in exchange.rounds
    ]
    return recounted(exchange, rounds)


def cut_middle(text: str, most_tokens: int) -> str:
    """Beginning and end of a text, with a mark between them, at line ends if there are any near; itself if it fits."""
    tokens = estimate_tokens(text)
    if tokens <= most_tokens:
        return text
    chars = max(0, int(len(text) * (most_tokens - CUT_MARK_TOKENS) / tokens * SAFETY))
    head, tail = text[: int(chars * HEAD_SHARE)], text[len(text) - int(chars * (1 - HEAD_SHARE)) :]
    line_end, line_start = head.rfind("\n"), tail.find("\n")
    if line_end > len(head) // 2:
        head = head[:line_end]
    if 0 <= line_start < len(tail) // 2:
        tail = tail[line_start + 1 :]
    return head + CUT_MARK + tail


# ── what was lost ────────────────────────────────────────────────────────────────────────────────────────────────
def _leaving(exchanges: Iterable[Exchange], most_tokens: int) -> tuple[tuple[Exchange, ...], list[Exchange]]:
    """Those that wait for the summary (their texts only), and the oldest ones, for which there is no room even there."""
    waiting = [
        exchange if not (exchange.rounds or exchange.block or exchange.note) else recounted(_bare(exchange))
        for exchange in exchanges
    ]
    used, first = 0, len(waiting)
    while first > 0 and used + waiting[first - 1].tokens <= most_tokens:
        first -= 1
        used += waiting[first].tokens
    return tuple(waiting[first:]), waiting[:first]


def _bare(exchange: Exchange) -> Exchange:
    return exchange.model_copy(update={"rounds": (), "block": "", "block_oldest_ms": 0, "note": ""})


def _gone(exchanges: Iterable[Exchange], why: Literal["no_room", "folded"]) -> list[LeftOut]:
    return [LeftOut(kind="exchange", id=one.id, tokens=exchange_tokens(one), why=why) for one in exchanges]


def _lost(before: Sequence[Exchange], after: Sequence[Exchange]) -> list[LeftOut]:
    """Rounds that exchanges lost which stayed themselves."""
    old = {exchange.id: exchange for exchange in before}
    return [
        LeftOut(kind="tools", id=one.id, tokens=old[one.id].tokens - one.tokens, why="no_room")
        for one in after
        if len(one.rounds) < len(old[one.id].rounds)
    ]


def _cut_results(before: Sequence[Exchange], after: Sequence[Exchange]) -> list[LeftOut]:
    return [
        LeftOut(kind="tools", id=new.id, tokens=old.tokens - new.tokens, why="too_long")
        for old, new in zip(before, after, strict=True)
        if new.tokens < old.tokens
    ]

"""Messages as lines of a list: recorded turns and what waits, found by a query. Pure."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.actions import Abort, DeleteWaiting, RunLane, field_of, stamp_of
from dashboard.kinds import state_of, states_of
from dashboard.lives import Row
from dashboard.names import Names, Place
from dashboard.query import Found, Query, fits_one, matches
from dashboard.queue import LaneNow
from dashboard.waterfall import Slice, waterfall
from dashboard.words import Said, asked_in, message_in
from schemas.inbound import InboundMessage

PANEL = "/panel"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a list."""

    id: str
    """Of its element."""
    href: str
    """Of its side panel."""
    state: str
    """One of dashboard.kinds.STATES."""
    chat: str
    at_ms: int
    """When it ended, or came; 0: not known."""
    text: str | None = None
    """None: no longer kept."""
    model: str = ""
    asked: str = ""
    """The model that was asked, if another one answered."""
    slices: tuple[Slice, ...] = ()
    total_ms: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_microusd: int | None = None
    has_calls: bool = False
    """Models were asked, so there are tokens and a cost, known or not."""
    messages: int = 1
    acts: Mapping[str, str] | None = None
    """What can be done → field of its form (dashboard.actions)."""


@dataclass(frozen=True, slots=True)
class Item:
    """A message that waits or runs, with its body."""

    lane: LaneNow
    item_id: str
    state: str
    body: bytes
    message: InboundMessage | None
    """None: it cannot be read."""


# ── recorded turns ───────────────────────────────────────────────────────────────────────────────────────────────
def rows_matching(query: Query, rows: Iterable[Row], names: Names) -> Iterator[Row]:
    """As far as it can be told without texts, in the same order."""
    if not (query.wanted or query.unwanted or query.has_times):
        return iter(rows)
    wanted = [_test(name, values, names) for name, values in query.wanted.items()]
    unwanted = [_test(name, values, names) for name, values in query.unwanted.items()]
    after_ms = query.after_ms if query.after_ms is not None else 0
    before_ms = query.before_ms if query.before_ms is not None else sys.maxsize
    return (
        row
        for row in rows
        if after_ms <= row.ended_ms < before_ms
        and all(test(row) for test in wanted)
        and not any(test(row) for test in unwanted)
    )


def _test(name: str, values: Sequence[str], names: Names) -> Callable[[Row], bool]:
    """Does a row fit one field? Many rows share a chat, a person, a model: each of those is looked at once."""
    key_of, words_of = _LOOKS[name]
    known: dict[object, bool] = {}

    def test(row: Row) -> bool:
        key = key_of(row)
        fits = known.get(key)
        if fits is None:
            fits = known[key] = fits_one(name, values, words_of(row, names))
        return fits

    return test


_LOOKS: Mapping[str, tuple[Callable[[Row], object], Callable[[Row, Names], Sequence[str]]]] = {
    "chat": (lambda row: row.lane, lambda row, names: chat_words(row.lane, names)),
    "person": (lambda row: row.user_id, lambda row, names: (names.person(row.user_id), row.user_id)),
    "bot": (lambda row: (row.bot, row.lane), lambda row, _: (row.bot, Place.of(row.lane).bot_id)),
    "state": (lambda row: (row.state, row.fell_back), lambda row, _: states_of(row)),
    "model": (lambda row: (row.model, row.asked), lambda row, _: row.models),
    "tool": (lambda row: row.tools, lambda row, _: row.tools),
    "id": (lambda row: row.id, lambda row, _: (row.id, *row.message_ids)),
}
"""Field → what rows have in common that fit alike, and the words that it is found by."""


def chat_words(lane: str, names: Names) -> tuple[str, ...]:
    """What a chat is found by: its name, its id."""
    return (names.chat(lane), Place.of(lane).chat_id, lane)


def line_of(row: Row, names: Names, said: Mapping[str, Said], ahead_ms: int) -> Line:
    """One recorded turn."""
    life = row.life()
    falls = waterfall(life, row.sents, ahead_ms=ahead_ms)
    found = said.get(row.id)
    return Line(
        f"turn-{row.ended_ms}-{row.id[-12:].replace(':', '-')}",
        turn_href(row.id),
        state_of(row),
        names.chat(row.lane),
        row.ended_ms,
        found.question if found else None,
        model=row.model,
        asked=row.asked if row.fell_back else "",
        slices=falls.slices(),
        total_ms=falls.total_ms,
        input_tokens=life.input_tokens,
        output_tokens=life.output_tokens,
        cost_microusd=row.cost_microusd,
        has_calls=bool(life.attempts or life.model),
        messages=len(row.message_ids),
    )


def turn_href(turn_id: str) -> str:
    return f"{PANEL}/turn?{urlencode({'id': turn_id})}"


# ── what waits ───────────────────────────────────────────────────────────────────────────────────────────────────
def items_of(lanes: Iterable[LaneNow], most: int) -> tuple[tuple[LaneNow, str, str], ...]:
    """(lane, item id, state) of what is in lanes; those that run first, then the lanes in their order."""
    found = [
        (lane, item_id, item_state(lane, nth)) for lane in lanes for nth, item_id in enumerate(lane.item_ids)
    ]
    return tuple(sorted(found, key=lambda one: one[2] != "running")[:most])


def item_state(lane: LaneNow, nth: int) -> str:
    """Of the nth item of a lane, from 0."""
    if lane.state != "running":
        return lane.state
    return "running" if nth < lane.taken else "waiting"


def items_matching(query: Query, items: Iterable[Item], names: Names) -> Iterator[Item]:
    """As far as it can be told without texts."""
    for item in items:
        message = item.message
        user_id = message.user_id if message else ""
        found = Found(
            (item.state,) if item.state != "held" else ("held", "waiting"),
            message.sent_at_ms if message else 0,
            chat_words(item.lane.lane, names),
            (names.person(user_id), user_id),
            (message.bot if message else "", Place.of(item.lane.lane).bot_id),
            id=(item.item_id,),
        )
        if matches(query, found):
            yield item


def item_line(item: Item, names: Names) -> Line:
    """One message that has not ended."""
    message, lane = item.message, item.lane
    params = urlencode({"job": lane.job_id, "id": item.item_id})
    return Line(
        f"item-{item.item_id.replace(':', '-')}",
        f"{PANEL}/waiting?{params}",
        item.state,
        names.chat(lane.lane),
        message.sent_at_ms if message else 0,
        asked_in(message) if message else None,
        acts=acts_of(item),
    )


def acts_of(item: Item) -> Mapping[str, str]:
    """What can be done with it, by name."""
    lane = item.lane
    if item.state == "running":
        return {"abort": field_of(Abort(lane.lane, lane.turn_id))} if lane.turn_id else {}
    acts = {"delete": field_of(DeleteWaiting(lane.job_id, item.item_id, stamp_of(item.body)))}
    if item.state in {"retrying", "held"}:
        acts["run"] = field_of(RunLane(lane.job_id, lane.turn_id))
    return acts


def item_of(lane: LaneNow, item_id: str, state: str, body: bytes) -> Item:
    return Item(lane, item_id, state, body, message_in(body))


def page_of[T](found: Sequence[T], page: int, size: int) -> Sequence[T]:
    """page: from 1."""
    return found[(page - 1) * size : page * size]

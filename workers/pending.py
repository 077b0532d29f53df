"""What a lane waits for: the answer to a question, or a yes to what is to be made. Pure.

It is stored with the commit that shows it (keys.pending), so it survives restarts, and taken away by the step that makes
use of it. One per lane: a newer one takes its place.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from infra import keys
from infra.cut import shorten
from infra.effect import Effect
from schemas.memory import ToolCall
from schemas.reply import Button
from schemas.things import Fact
from schemas.tools import Pending
from schemas.wire import dump, load
from tools.catalog import Catalog, read
from tools.tool import Here, Ran, Refused, Things
from workers.answers import option_of
from workers.texts import say

ID_DIGITS = 8
MOST_OPTIONS = 6
"""Buttons of a question."""
LABEL_CHARS = 40
BULLET, INDENT = "• ", "  "


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What became of the calls of a preview."""

    ran: Ran
    """All that changes, and that nothing waits any more: for one lanes.step."""
    text: str
    """For the person."""
    results: tuple[str, ...]
    """For the model, one per call."""

    @property
    def told(self) -> str:
        """For the model, in one text."""
        return "\n".join(self.results)


# ── made by a turn ───────────────────────────────────────────────────────────────────────────────────────────────
def question_of(ran: Ran, *, turn_id: str, owner: str, at_ms: int) -> Pending:
    """For a call that ends the turn with a question (Ran.then == "ask")."""
    return Pending(
        id=pending_id(turn_id), kind="question", at_ms=at_ms, turn_id=turn_id, owner=owner,
        options=ran.options, text=ran.question,
    )  # fmt: skip


def preview_of(
    calls: Sequence[ToolCall], previews: Sequence[str], language: str, *, turn_id: str, owner: str, at_ms: int
) -> Pending:
    """For calls that wait for a yes; `previews`: one per call (Tool.preview)."""
    return Pending(
        id=pending_id(turn_id), kind="preview", at_ms=at_ms, turn_id=turn_id, owner=owner,
        calls=tuple(calls), text=preview_text(previews, language),
    )  # fmt: skip


def pending_id(turn_id: str) -> str:
    """The same in each attempt of a turn, so that a button shown twice is one button."""
    return hashlib.sha256(turn_id.encode()).hexdigest()[:ID_DIGITS]


def preview_text(previews: Sequence[str], language: str) -> str:
    """The question, and a bullet per call; further lines of a preview are indented."""
    return "\n".join([say(language, "Shall I do this?"), *map(_bullet, previews)])


def pending_buttons(pending: Pending, language: str) -> tuple[tuple[Button, ...], ...]:
    """Of a question one row per option, of a preview one row."""
    if pending.kind == "question":
        options = enumerate(pending.options[:MOST_OPTIONS], 1)
        return tuple(
            (Button(text=shorten(option, LABEL_CHARS), command=f"/pick {pending.id} {number}"),)
            for number, option in options
        )
    confirm = Button(text=say(language, "Confirm"), command=f"/confirm {pending.id}")
    change = Button(text=say(language, "Change"), command=f"/change {pending.id}")
    return ((confirm, change),)


def pending_effects(lane: str, pending: Pending, max_age_ms: int) -> tuple[Effect, ...]:
    """Stores it, for as long as anything is remembered."""
    key = keys.pending(lane)
    return (
        Effect("SET", key, (dump(pending), "PX", max_age_ms)),
        Effect("ZADD", keys.expiry(), (pending.at_ms + max_age_ms, key)),
    )


def drop_effects(lane: str) -> tuple[Effect, ...]:
    """Nothing waits any more; harmless where nothing did."""
    key = keys.pending(lane)
    return Effect("DEL", key), Effect("ZREM", keys.expiry(), (key,))


# ── answered by the person ───────────────────────────────────────────────────────────────────────────────────────
def read_pending(stored: bytes | None, *, now_ms: int, max_age_ms: int) -> Pending | None:
    """The value of keys.pending(lane), if it is not too old by koi's clock.

    Raises: NewerVersion, NotReadable (schemas.wire.load).
    """
    if stored is None:
        return None
    pending = load(Pending, stored)
    return pending if abs(now_ms - pending.at_ms) < max_age_ms else None


def picked(pending: Pending | None, argument: str) -> str | None:
    """What `/pick ID N` chose: the option's words. None: that question is not open any more, or has no such option."""
    id_, _, number = argument.strip().partition(" ")
    number = number.strip()
    if pending is None or pending.kind != "question" or pending.id != id_.lower():
        return None
    if not re.fullmatch(r"[1-9][0-9]?", number) or int(number) > len(pending.options):
        return None
    return pending.options[int(number) - 1]


def chosen_preview(pending: Pending | None, argument: str) -> Pending | None:
    """What `/confirm ID` and `/change ID` mean; without an ID, whatever waits. None: it does not wait any more."""
    if pending is None or pending.kind != "preview":
        return None
    return pending if argument.strip().lower() in {"", pending.id} else None


def answers_pending(pending: Pending | None, text: str) -> str:
    """The next text of the person: if it names an option of the open question, that option's words; else as typed."""
    if pending is None or pending.kind != "question":
        return text
    return option_of(text, pending.options) or text


def change_line(pending: Pending, language: str) -> str:
    """The answer to /change: the person says what is to be different."""
    changed = say(language, "Nothing is done. What shall be different?")
    return "\n".join([changed, *pending.text.split("\n")[1:]])


def over_line(language: str) -> str:
    """The answer to a button of something that does not wait any more."""
    return say(language, "That is settled already, or too old by now. Just write to me what you want.")


# ── done ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def confirmed(pending: Pending, catalog: Catalog, here: Here, things: Things) -> Confirmed:
    """Its calls in order, each on what the ones before it made; one that cannot be done any more is told, the others are
    done. With nothing waiting any more.
    """
    now, rans, results = things, list[Ran](), list[str]()
    done, refused = list[str](), list[str]()
    for call, shown in zip(pending.calls, _shown(pending), strict=True):
        try:
            ran = run_call(call, catalog, here, now)
        except Refused as reason:
            results.append(str(reason))
            refused.append(shown)
            continue
        now = after(now, ran)
        rans.append(ran)
        results.append(ran.text)
        done.append(shown)
    ran = merged(rans, drop_effects(here.lane))
    return Confirmed(ran, _outcome_text(done, refused, here.language), tuple(results))


def run_call(call: ToolCall, catalog: Catalog, here: Here, things: Things) -> Ran:
    """One call of a tool of koi's own.

    Raises: Refused: also for a tool that is not offered (any more).
    """
    tool = catalog.by_name.get(call.name)
    if tool is None:
        raise Refused(f"There is no tool {call.name} now.")
    return tool.run(read(tool, call.arguments), here, things)


def after(things: Things, ran: Ran) -> Things:
    """What the next call of the same step finds. Its new things are numbered on, so no two share an id."""
    gone = {*ran.drop, *(thing.id for thing in ran.put)}
    by_id = {id_: thing for id_, thing in things.by_id.items() if id_ not in ran.drop}
    facts = {id_: fact for id_, fact in things.facts.items() if id_ not in gone}
    for thing in ran.put:
        if isinstance(thing, Fact):
            facts[thing.id] = thing
        else:
            by_id[thing.id] = thing
    return Things(things.version + len(ran.put), by_id, facts)


def merged(rans: Sequence[Ran], effects: Sequence[Effect] = ()) -> Ran:
    """All of them as one step; tools.store counts one number for each thing that was put, as `after` does."""
    return Ran(
        "\n".join(ran.text for ran in rans),
        put=tuple(thing for ran in rans for thing in ran.put),
        drop=tuple(id_ for ran in rans for id_ in ran.drop),
        effects=(*(effect for ran in rans for effect in ran.effects), *effects),
        then="end" if any(ran.then == "end" for ran in rans) else "go_on",
    )


def _bullet(preview: str) -> str:
    return BULLET + preview.strip().replace("\n", f"\n{INDENT}")


def _shown(pending: Pending) -> list[str]:
    """The preview of each call, as `preview_text` wrote it."""
    parts = pending.text.split(f"\n{BULLET}")[1:]
    shown = [part.replace(f"\n{INDENT}", "\n") for part in parts]
    return shown if len(shown) == len(pending.calls) else [call.name for call in pending.calls]


def _outcome_text(done: Sequence[str], refused: Sequence[str], language: str) -> str:
    lines = list[str]()
    if done:
        lines += [say(language, "Done:"), *map(_bullet, done)]
    if refused:
        lines += [say(language, "Not done, since something has changed meanwhile:"), *map(_bullet, refused)]
    return "\n".join(lines)

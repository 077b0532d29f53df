"""What one turn asks the model: decided from what is known. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import lru_cache
from typing import Literal

from infra.texts import ENGLISH
from llm.request import Effort, Message, ModelRequest, Tool, ToolResult, ToolUse
from memory.context import Block, build_block, fresh_entries, with_block
from memory.labels import labels
from memory.limits import MemoryLimits, SessionLimits
from memory.ratio import Ratio, estimate_room, start
from memory.tokens import estimate_tokens
from memory.trim import Trimmed, trim
from memory.window import MESSAGE_TOKENS, Shown, exchange_tokens, session_tokens, summary_text, window
from schemas.memory import AnswerRecord, RingEntry, Session
from schemas.turn import LeftOut, Part
from workers.files import NOTHING_SENT, Gathered
from workers.fit import fit
from workers.times import moment
from workers.words import Words

ANSWER_TOKENS = 8_000
"""Of one answer, thinking included; a chat seldom needs more than a thousand."""
OFFER_TOKENS = 300
"""What services put around tools of their own accord (Anthropic says 250 to 500 for Claude 4)."""
TOOL_TOKENS = 10
"""The frame of each."""
LEAST_ANSWER_TOKENS = 500
LEAST_BUDGET_TOKENS = 500

WHY_NOT_QUOTED: Mapping[Literal["budget", "summary", "last"], Literal["no_room", "summarised", "older"]] = {
    "budget": "no_room",
    "summary": "summarised",
    "last": "older",
}
"""memory.context's words → those of the record."""


@dataclass(frozen=True, slots=True)
class Given:
    """All that a plan is made from."""

    words: Words
    lane: str
    language: str
    system: str
    session: Session | None
    """The running conversation; None: one starts."""
    entries: tuple[RingEntry, ...]
    answer: AnswerRecord | None
    memory: MemoryLimits
    limits: SessionLimits
    zone: tzinfo
    ratio: Ratio = field(default_factory=start)
    """How the model counts in this chat."""
    effort: Effort | None = None
    answer_tokens: int = ANSWER_TOKENS
    late_ms: int = 0
    """When a message was sent that waited long; 0: none did."""
    person: str = ""
    """What the model is told of the person, behind the system prompt."""
    tools: tuple[Tool, ...] = ()
    tool_rules: str = ""
    """Behind `system`, if tools are offered."""
    is_small: bool = False
    """The service takes less than the settings say: tools count too."""
    web: bool = False
    now: str = ""
    """The time of the message, if the model could not know it; "" within the minute in which the conversation began."""
    project: str = ""
    """That the lane is in: what was said in others is news here."""
    files: Gathered = NOTHING_SENT
    notes: tuple[str, ...] = ()
    """More that the model should know of the message."""
    dropped: tuple[LeftOut, ...] = ()
    """A conversation that ran and is not shown."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked, and what the commit and the record of the turn need to know of it."""

    request: ModelRequest
    session: Session | None
    """The conversation as it is shown: trimmed, if it had outgrown its budget."""
    user_text: str
    """What the person wrote, as much of it as the model is given."""
    is_cut: bool
    block: Block | None
    note: str
    """What stands behind the message, with the line ends before it."""
    entry_ids: tuple[str, ...]
    """Ring entries whose text the model is given."""
    seen: tuple[str, ...]
    """All ring entries that were known."""
    estimated_tokens: int
    """Of the whole payload, by plain estimate."""
    parts: tuple[Part, ...]
    """The payload in order, their tokens by plain estimate."""
    left_out: tuple[LeftOut, ...]

    @property
    def user_tokens(self) -> int:
        """Of what the person wrote, by plain estimate."""
        return next(part.tokens for part in self.parts if part.kind == "message")

    @property
    def asked_tokens(self) -> int:
        """Of the new message, by plain estimate: block, text and note."""
        return sum(part.tokens for part in self.parts if part.kind in {"block", "message", "note"})


def plan_turn(given: Given) -> Plan:
    """The request, within `limits.budget_tokens` by corrected estimate, with its reserve: system prompt, the message as
    far as it fits, the block, then the running conversation (its last two exchanges always). Tools come on top: which there
    are is the operator's choice, and they are cached; but not for a service that takes less.
    """
    whole = estimate_room(given.limits.budget_tokens, given.ratio)
    tools, without = _offered(given, whole)
    first = _first_parts(given, tools)
    room = whole - sum(part.tokens for part in first if part.kind != "offer" or given.is_small)
    user_text = fit(given.words.text, max(room - given.memory.budget_tokens, whole // 3))
    is_cut = len(user_text) < len(given.words.text)
    news = fresh_entries(given.entries, given.lane, given.session, given.project)
    block = build_block(news, labels(given.language), given.zone, given.memory, user_text)
    note = "".join(f"\n\n[{one}]" for one in _notes(given, is_cut=is_cut))
    asked = _asked_parts(block, user_text, note)
    room -= sum(part.tokens for part in asked) + MESSAGE_TOKENS

    trimmed = trim(given.session, room, folds=given.limits.folds) if given.session else None
    session = trimmed.session if trimmed else None
    files = (Part(kind="files", tokens=given.files.tokens),) if given.files.shows else ()
    parts = (*first, *_conversation_parts(session), *files, *asked)
    question = Message(
        "user",
        with_block(block, user_text) + note,
        documents=given.files.documents,
        images=given.files.images,
    )
    return Plan(
        request=ModelRequest(
            _system(given, tools),
            (*map(_message, window(session)), question),
            given.answer_tokens,
            given.language,
            given.effort,
            given.person,
            tools,
            given.web,
        ),
        session=session,
        user_text=user_text,
        is_cut=is_cut,
        block=block,
        note=note,
        entry_ids=_entry_ids(given, block, trimmed),
        seen=tuple(entry.id for entry in given.entries),
        estimated_tokens=sum(part.tokens for part in parts) + MESSAGE_TOKENS,
        parts=parts,
        left_out=(
            *without,
            *_left_out(given, user_text, block, trimmed.left_out if trimmed else given.dropped),
        ),
    )


def smaller(given: Given, sent_tokens: int, limit_tokens: int | None) -> Given:
    """For a service that takes less than the settings say: a third of it, or what fits into its limit with an answer.

    sent_tokens: what it refused, by corrected estimate. As a budget this is too small for the same again, since a fifth
    of it stays free (memory.ratio), and a conversation that does not fit is trimmed to 60 %.
    """
    budget, answer = min(given.limits.budget_tokens // 3, sent_tokens), given.answer_tokens // 3
    if limit_tokens:
        budget, answer = min(budget, limit_tokens // 2), min(answer, limit_tokens // 4)
    limits = replace(given.limits, budget_tokens=max(LEAST_BUDGET_TOKENS, budget))
    return replace(given, limits=limits, answer_tokens=max(LEAST_ANSWER_TOKENS, answer), is_small=True)


def anew(given: Given) -> Given:
    """For a service that cannot take even the last two exchanges, which are never cut: the conversation ends, else every
    message of it would fail. What is remembered of it goes into the block.
    """
    exchanges = given.session.exchanges if given.session else ()
    gone = (
        LeftOut(kind="exchange", id=one.id, tokens=exchange_tokens(one), why="no_room") for one in exchanges
    )
    return replace(given, session=None, dropped=tuple(gone))


def _notes(given: Given, *, is_cut: bool) -> list[str]:
    """What the model should know of the message beside its words."""
    notes: list[str] = [given.now] if given.now else []
    if is_cut:
        notes.append("The message was longer; the rest is left out.")
    if given.words.media:
        notes.append(f"Sent along, but you cannot see or hear it: {', '.join(given.words.media)}.")
    if given.late_ms:
        notes.append(f"Sent {moment(given.late_ms, given.zone, ENGLISH)}; nobody could answer until now.")
    return [*notes, *given.notes]


def _offered(given: Given, whole: int) -> tuple[tuple[Tool, ...], tuple[LeftOut, ...]]:
    """The tools; for a service that takes less, the first ones within half of the room, and the others as left out."""
    if not given.is_small:
        return given.tools, ()
    kept: list[Tool] = []
    left: list[LeftOut] = []
    for tool in given.tools:
        fits = _offer_tokens((*kept, tool)) <= whole // 2
        if fits:
            kept.append(tool)
        else:
            left.append(LeftOut(kind="offer", id=tool.name, tokens=_offer_tokens((tool,)), why="no_room"))
    return tuple(kept), tuple(left)


def _system(given: Given, tools: tuple[Tool, ...]) -> str:
    return f"{given.system}\n\n{given.tool_rules}" if tools and given.tool_rules else given.system


def _first_parts(given: Given, tools: tuple[Tool, ...]) -> tuple[Part, ...]:
    """What stands before the conversation: the same in every turn of it."""
    parts = [Part(kind="system", tokens=_prompt_tokens(_system(given, tools)))]
    if tools:
        parts.insert(0, Part(kind="offer", tokens=_offer_tokens(tools)))
    if given.person:
        parts.append(Part(kind="person", tokens=_prompt_tokens(given.person), text=given.person))
    return tuple(parts)


@lru_cache(maxsize=1024)
def _prompt_tokens(system: str) -> int:
    """The same few texts in every turn of a conversation."""
    return estimate_tokens(system)


@lru_cache(maxsize=64)
def _offer_tokens(tools: tuple[Tool, ...]) -> int:
    """The same few in every turn of a bot."""
    return OFFER_TOKENS + sum(
        estimate_tokens(tool.name + tool.description + tool.schema) + TOOL_TOKENS for tool in tools
    )


def _asked_parts(block: Block | None, user_text: str, note: str) -> tuple[Part, ...]:
    """What the new message is made of."""
    parts = [Part(kind="message", tokens=estimate_tokens(user_text), text=user_text)]
    if block:
        parts.insert(0, Part(kind="block", tokens=block.tokens, text=block.text, entry_ids=block.entry_ids))
    if note:
        parts.append(Part(kind="note", tokens=estimate_tokens(note), text=note))
    return tuple(parts)


def _conversation_parts(session: Session | None) -> list[Part]:
    if session is None:
        return []
    parts = [
        Part(
            kind="tools" if exchange.rounds else "exchange", id=exchange.id, tokens=exchange_tokens(exchange)
        )
        for exchange in session.exchanges
    ]
    if text := summary_text(session):
        parts.insert(
            0, Part(kind="summary", tokens=session_tokens(session) - sum(p.tokens for p in parts), text=text)
        )
    return parts


def _message(shown: Shown) -> Message:
    if not shown.uses and not shown.results:
        return Message(shown.role, shown.text)
    uses = tuple(ToolUse(call.id, call.name, call.arguments) for call in shown.uses)
    return Message(shown.role, shown.text, uses, tuple(ToolResult(one.id, one.text) for one in shown.results))


def _left_out(
    given: Given, user_text: str, block: Block | None, dropped: Sequence[LeftOut]
) -> tuple[LeftOut, ...]:
    left = [
        LeftOut(kind="entry", id=one.entry_id, tokens=one.tokens, why=WHY_NOT_QUOTED[one.why])
        for one in (block.left_out if block else ())
    ]
    left += dropped
    if len(user_text) < len(given.words.text):
        rest = estimate_tokens(given.words.text[len(user_text) :])
        left.append(LeftOut(kind="text", tokens=rest, why="too_long"))
    return tuple(left)


def _entry_ids(given: Given, block: Block | None, trimmed: Trimmed | None) -> tuple[str, ...]:
    """Those that blocks of the shown conversation quote, as far as they are still remembered; the conversation's own
    exchanges; those of the new block. Each once.

    What was quoted before is known of all blocks together: it is shown as long as one of them is.
    """
    exchanges = trimmed.session.exchanges if trimmed else ()
    carried: Iterable[str] = ()
    if trimmed and given.answer and any(exchange.block for exchange in exchanges):
        gone = {one.id for one in trimmed.left_out if one.kind == "exchange"}
        remembered = {entry.id for entry in given.entries} - gone
        carried = (entry_id for entry_id in given.answer.entry_ids if entry_id in remembered)
    shown = (exchange.id for exchange in exchanges)
    return tuple(dict.fromkeys((*carried, *shown, *(block.entry_ids if block else ()))))

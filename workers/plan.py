"""What one turn asks the model: decided from what is known. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import lru_cache

from infra.texts import ENGLISH
from llm.request import Message, ModelRequest
from memory.context import Block, build_block, fresh_entries, with_block
from memory.labels import labels
from memory.limits import MemoryLimits, SessionLimits
from memory.tokens import estimate_tokens
from memory.window import exchange_tokens, that_fit, window
from schemas.memory import AnswerRecord, RingEntry, Session
from workers.fit import fit
from workers.times import moment
from workers.words import Words

ANSWER_TOKENS = 8_000
"""Of one answer, thinking included; a chat seldom needs more than a thousand."""

LEAST_BUDGET_TOKENS = 500


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
    late_ms: int = 0
    """When a message was sent that waited long; 0: none did."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked, and what the commit needs to know of it."""

    request: ModelRequest
    session: Session | None
    user_text: str
    """What the person wrote, as much of it as the model is given."""
    is_cut: bool
    block: Block | None
    entry_ids: tuple[str, ...]
    """Ring entries whose text the model is given."""
    seen: tuple[str, ...]
    """All ring entries that were known."""


def plan_turn(given: Given) -> Plan:
    """The request, within `limits.budget_tokens` by estimate: system prompt, the message as far as it fits, the block,
    then as much of the running conversation as there is room for (its last two exchanges always).
    """
    budget = given.limits.budget_tokens - _prompt_tokens(given.system)
    user_text = fit(
        given.words.text, max(budget - given.memory.budget_tokens, given.limits.budget_tokens // 3)
    )
    is_cut = len(user_text) < len(given.words.text)
    news = fresh_entries(given.entries, given.lane, given.session)
    block = build_block(news, labels(given.language), given.zone, given.memory, user_text)
    asked = with_block(block, user_text) + "".join(f"\n\n[{note}]" for note in _notes(given, is_cut=is_cut))

    exchanges = given.session.exchanges if given.session else ()
    room = budget - estimate_tokens(asked)
    earlier = [Message(role, text) for role, text in window(exchanges, room)]
    shown = [exchanges[index].id for index in that_fit([exchange_tokens(e) for e in exchanges], room)]
    return Plan(
        request=ModelRequest(given.system, (*earlier, Message("user", asked)), ANSWER_TOKENS, given.language),
        session=given.session,
        user_text=user_text,
        is_cut=is_cut,
        block=block,
        entry_ids=_entry_ids(given, block, shown),
        seen=tuple(entry.id for entry in given.entries),
    )


def smaller(given: Given) -> Given:
    """For a service that takes less than the settings say: a third."""
    third = max(LEAST_BUDGET_TOKENS, given.limits.budget_tokens // 3)
    return replace(given, limits=replace(given.limits, budget_tokens=third))


def _notes(given: Given, *, is_cut: bool) -> list[str]:
    """What the model should know of the message beside its words."""
    notes: list[str] = []
    if is_cut:
        notes.append("The message was longer; the rest is left out.")
    if given.words.media:
        notes.append(f"Sent along, but you cannot see or hear it: {', '.join(given.words.media)}.")
    if given.late_ms:
        notes.append(f"Sent {moment(given.late_ms, given.zone, ENGLISH)}; nobody could answer until now.")
    return notes


@lru_cache(maxsize=64)
def _prompt_tokens(system: str) -> int:
    """The same few texts in every turn."""
    return estimate_tokens(system)


def _entry_ids(given: Given, block: Block | None, shown: Sequence[str]) -> tuple[str, ...]:
    """Those of earlier blocks, which go with the conversation, as far as they are still remembered; the conversation's
    own exchanges; those of the new block. Each once.
    """
    remembered = {entry.id for entry in given.entries}
    before = given.answer.entry_ids if given.session and given.answer else ()
    carried = (entry_id for entry_id in before if entry_id in remembered)
    return tuple(dict.fromkeys((*carried, *shown, *(block.entry_ids if block else ()))))

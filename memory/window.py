"""What the model is shown of the running conversation, and what that counts. Pure.

A session stores exactly what is shown, in order: until it is trimmed (memory.trim), each payload begins with the one
before it, so a service's prompt cache keeps hitting.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import orjson

from memory.neutralise import neutralise, stored_for_model
from memory.tokens import estimate_tokens
from schemas.memory import Exchange, Session, ToolCall, ToolRound

type Role = Literal["user", "assistant"]

MESSAGE_TOKENS = 4
"""What services add for each message, roughly."""
CALL_TOKENS = 12
"""The same for each tool call with its result: two ids, which are random letters, and their frames."""
OPEN_SUMMARY, CLOSE_SUMMARY = "<conversation_summary>", "</conversation_summary>"


@dataclass(frozen=True, slots=True)
class ShownResult:
    """What came back from the tool call `id`."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One message."""

    role: Role
    text: str = ""
    uses: tuple[ToolCall, ...] = ()
    """Only of the assistant, behind its text; the next message has their results, in the same order."""
    results: tuple[ShownResult, ...] = ()
    """Only of the user, whose text is then ""."""


def window(session: Session | None) -> list[Shown]:
    """Messages for the model, oldest first, user and assistant in turn; the last is the assistant's.

    A message goes as it was sent, with its block before it and its note behind. The running summary stands before the
    first one.
    """
    shown: list[Shown] = []
    if session is None:
        return shown
    before = summary_text(session)
    for exchange in repaired(session).exchanges:
        question = before + exchange.block + stored_for_model(exchange.user) + exchange.note
        shown.append(Shown("user", question))
        for step in exchange.rounds:
            shown.append(Shown("assistant", neutralise(step.text), uses=step.calls))
            shown.append(Shown("user", results=_results(step)))
        shown.append(Shown("assistant", stored_for_model(exchange.reply)))
        before = ""
    return shown


def summary_text(session: Session) -> str:
    """The running summary as it stands before the first message; "" for none."""
    if not session.summary:
        return ""
    return f"{OPEN_SUMMARY}\n{neutralise(session.summary)}\n{CLOSE_SUMMARY}\n\n"


def repaired(session: Session) -> Session:
    """Without tool rounds that a service would refuse, and every later turn with them: those whose calls and results
    do not match one to one, whose arguments are no JSON object, or whose ids are used by a newer round.
    """
    if not any(exchange.rounds for exchange in session.exchanges):
        return session
    used: set[str] = set()
    exchanges = [_with_whole_rounds(exchange, used) for exchange in reversed(session.exchanges)][::-1]
    if all(new is old for new, old in zip(exchanges, session.exchanges, strict=True)):
        return session
    return session.model_copy(update={"exchanges": tuple(exchanges)})


def session_tokens(session: Session) -> int:
    """Estimate of all that `window` shows."""
    return summary_tokens(session) + sum(map(exchange_tokens, session.exchanges))


def summary_tokens(session: Session) -> int:
    return estimate_tokens(summary_text(session))


def exchange_tokens(exchange: Exchange) -> int:
    """Estimate of all messages of an exchange, uncorrected; estimated once, when it is stored."""
    return exchange.tokens or texts_tokens(exchange) + sum(map(round_tokens, exchange.rounds))


def texts_tokens(exchange: Exchange) -> int:
    """Of the question, with its block and note, and the reply."""
    question = estimate_tokens(exchange.block + exchange.user + exchange.note)
    return question + estimate_tokens(exchange.reply) + 2 * MESSAGE_TOKENS


def round_tokens(step: ToolRound) -> int:
    """Of one tool round: two messages."""
    calls = sum(estimate_tokens(call.name) + estimate_tokens(call.arguments) for call in step.calls)
    frames = len(step.calls) * CALL_TOKENS + 2 * MESSAGE_TOKENS
    return estimate_tokens(step.text) + calls + sum(map(estimate_tokens, step.results)) + frames


def counted(exchange: Exchange) -> Exchange:
    """With its tokens."""
    return exchange if exchange.tokens else recounted(exchange)


def recounted(exchange: Exchange, rounds: Iterable[ToolRound] | None = None) -> Exchange:
    """With its tokens, counted anew. rounds: these instead of its own."""
    steps = exchange.rounds if rounds is None else tuple(rounds)
    tokens = texts_tokens(exchange) + sum(map(round_tokens, steps))
    return exchange.model_copy(update={"rounds": steps, "tokens": tokens})


def _results(step: ToolRound) -> tuple[ShownResult, ...]:
    pairs = zip(step.calls, step.results, strict=True)
    return tuple(ShownResult(call.id, neutralise(text)) for call, text in pairs)


def _with_whole_rounds(exchange: Exchange, used: set[str]) -> Exchange:
    """used: ids of newer rounds; those of this exchange are added."""
    whole: list[ToolRound] = []
    for step in reversed(exchange.rounds):
        ids = {call.id for call in step.calls}
        if _is_whole(step, ids) and not ids & used:
            whole.append(step)
            used |= ids
    return exchange if len(whole) == len(exchange.rounds) else recounted(exchange, reversed(whole))


def _is_whole(step: ToolRound, ids: set[str]) -> bool:
    return (
        0 < len(step.calls) == len(step.results) == len(ids)
        and "" not in ids
        and all(call.name and _is_object(call.arguments) for call in step.calls)
    )


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        return False

"""/retry: the last question of the running conversation is asked again, as if the first answer had not been given. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from infra import keys
from infra.cut import cut
from infra.effect import Effect
from llm.routing import Tier
from memory.neutralise import neutralise
from memory.ring import Raw, Remembered
from schemas.memory import AnswerRecord, Exchange, Session, ToolRound
from schemas.reply import Button
from workers.known import Known
from workers.said import Said
from workers.texts import say

OFFER = "offer"
STRONG = frozenset({"strong", "stark"})
RETRY_STRONG = "/retry strong"
CALL_CHARS = 200
"""Of a call, and of its result, in the note."""
MOST_CALLS = 12


@dataclass(frozen=True, slots=True)
class Retried:
    """What the new turn is made from."""

    question: str
    """As the model was given it, frames included; asked again."""
    session: Session | None
    """Without the exchange; None: it was the only one, a conversation begins."""
    remembered: Remembered
    """Without the entry of the exchange."""
    tier: Tier | None
    """ "strong", if that was asked for; None: as koi chooses."""
    note: str
    """For the model, a sentence or two of English, to stand with those of workers.plan."""
    texts: tuple[Effect, ...]
    """To be committed with the new answer (Commit.texts), before what that adds: the first answer leaves the memory."""


def retried(
    session: Session | None, remembered: Remembered, answer: AnswerRecord | None, *, owner: str, argument: str
) -> Retried | None:
    """Take the last exchange out. None: there is none, or it was koi itself that answered (what was done at the tap of a
    button stands in the conversation too; that is not done again).

    answer: the lane's last one, as it is known (AnswerRecord). Nothing changes until the new answer is committed: if none
    comes, the first one still stands. What tools did for the first answer stays done; the note tells the model.
    """
    if session is None or not session.exchanges:
        return None
    last = session.exchanges[-1]
    if answer is None or answer.turn_id != last.id:
        return None
    raws = tuple(raw for raw in remembered.kept if _id_of(raw) == last.id)
    return Retried(
        question=last.user,
        session=_without_last(session, remembered),
        remembered=replace(
            remembered,
            entries=tuple(entry for entry in remembered.entries if entry.id != last.id),
            kept=tuple(raw for raw in remembered.kept if raw not in raws),
        ),
        tier="strong" if argument.strip().casefold() in STRONG else None,
        note=_note(last),
        texts=tuple(Effect("LREM", keys.ring(owner), (0, raw)) for raw in raws),
    )


def is_offer(argument: str, reaction: str) -> bool:
    """A reaction asks whether to try again; it does not try."""
    return bool(reaction) and argument == OFFER


def offers(session: Session | None, answer: AnswerRecord | None, turn_id: str) -> bool:
    """Whether the answer that was reacted to is the one that can be retried. turn_id: of that answer (infra.sent_answers);
    "" if it is none of the bot's newest.
    """
    last = session.exchanges[-1] if session and session.exchanges else None
    return bool(turn_id) and last is not None and answer is not None and last.id == answer.turn_id == turn_id


def offer_said(language: str) -> Said:
    """The answer to a dislike."""
    button = Button(text=say(language, "Try again"), command=RETRY_STRONG)
    return Said(
        say(language, "That did not help? I can think about it again, with my strongest model."), ((button,),)
    )


def nothing_line(language: str) -> str:
    return say(
        language, "There is no answer in this conversation that I could try again. Just ask once more."
    )


def _without_last(session: Session, remembered: Remembered) -> Session | None:
    """As it was before: what its memory block told is news again."""
    rest = session.exchanges[:-1]
    if not rest:
        return None
    known = {entry.id for entry in remembered.entries if entry.at_ms <= rest[-1].at_ms}
    return session.model_copy(
        update={
            "v": Session.newest,
            "exchanges": rest,
            "seen": tuple(id_ for id_ in session.seen if id_ in known),
            "total": max(len(rest), (session.total or len(session.exchanges)) - 1),
        }
    )


def _note(last: Exchange) -> str:
    again = "This message is asked again: the first answer to it was not good enough, and is taken back."
    done = list(_done(last.rounds))
    if not done:
        return again
    more = f"; and {len(done) - MOST_CALLS} more" if len(done) > MOST_CALLS else ""
    return f"{again} What your tools did for it still stands, do not do it twice: {'; '.join(done[:MOST_CALLS])}{more}."


def _done(rounds: Sequence[ToolRound]) -> Sequence[str]:
    return [
        f"{call.name} {_brief(call.arguments)} → {_brief(result)}"
        for step in rounds
        for call, result in zip(step.calls, step.results, strict=False)
    ]


def _brief(text: str) -> str:
    return cut(" ".join(neutralise(text).split()), CALL_CHARS)


def _id_of(raw: Raw) -> str:
    """RingEntry.id, of any version."""
    try:
        value: object = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return ""
    return str(value.get("id", "")) if isinstance(value, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def known_for(retry: Retried, known: Known) -> Known:
    """What the new turn knows."""
    return replace(
        known,
        session=retry.session,
        remembered=retry.remembered,
        wanted=retry.tier or known.wanted,
        pending=None,
    )

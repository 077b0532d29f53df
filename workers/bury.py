"""What is committed for messages that are given up: kept for the owner to decide, and an honest line. Pure."""

from collections.abc import Iterable, Sequence

from infra import keys
from infra.effect import Effect
from lanes.claim import Claim, Item
from lanes.dead import index_member
from lanes.outcome import Commit
from memory.summary import cut
from schemas.dead import DeadLetter
from schemas.wire import dump
from workers.outgoing import Place, outgoing, plain_reply
from workers.texts import say
from workers.waiting import Waiting

REASON_CHARS = 300
QUOTE_CHARS = 80
UNREADABLE = "not a message that this release can read"


def given_up(claim: Claim, reason: str, *, now_ms: int, language: str) -> Commit:
    """End a turn for good: its items become dead letters, the person is told.

    language: for when no message can be read. The owner is told by workers.alerts, which sees the dead letters.
    """
    messages = Waiting.of(claim.items).messages
    if not messages:
        return _buried(
            claim, claim.items, reason, _unreadable_line(language), now_ms=now_ms, language=language
        )
    language = messages[0].language
    quote = cut("\n\n".join(message.text for message in messages), QUOTE_CHARS)
    kept = say(language, "It is kept, and the owner of this bot can have it tried again.")
    sorry = say(language, "I could not answer your message.")
    if quote:
        sorry = say(language, "I could not answer your message “{quote}”.", quote=quote)
    return _buried(claim, claim.items, reason, f"{sorry} {kept}", now_ms=now_ms, language=language)


def set_aside(claim: Claim, unreadable: Sequence[Item], *, now_ms: int, language: str) -> Commit:
    """Take out of the lane what cannot be read, so that the rest becomes a turn of its own."""
    return _buried(
        claim, unreadable, UNREADABLE, _unreadable_line(language), now_ms=now_ms, language=language
    )


def _buried(
    claim: Claim, items: Sequence[Item], reason: str, line: str, *, now_ms: int, language: str
) -> Commit:
    ids = tuple(item.id for item in items)
    notice = plain_reply(
        Place.of_lane(claim.lane, claim.owner), f"{claim.turn_id}:given_up", line,
        answers=ids, language=language, failed=True,
    )  # fmt: skip
    return Commit(
        texts=tuple(_dead_letters(claim, items, reason, now_ms)), pushes=(outgoing(notice),), remove=ids
    )


def _dead_letters(claim: Claim, items: Sequence[Item], reason: str, now_ms: int) -> Iterable[Effect]:
    """Text of the person: not stored if its owner forgot meanwhile."""
    for item in items:
        letter = DeadLetter(
            id=item.id,
            job_id=claim.job_id,
            at_ms=now_ms,
            reason=cut(reason.replace("\n", " "), REASON_CHARS),
            body=item.body.decode("utf-8", "replace"),
            owner=claim.owner,
        )
        yield Effect("HSET", keys.dead_of(claim.owner), (item.id, dump(letter)))
        yield Effect("ZADD", keys.dead(), (now_ms, index_member(letter)))


def _unreadable_line(language: str) -> str:
    return say(
        language,
        "I could not read one of your messages. It is set aside, and the owner of this bot was told.",
    )

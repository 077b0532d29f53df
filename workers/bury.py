"""What is committed for messages that are given up: kept for the owner to decide, and an honest line. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from infra.cut import cut
from infra.pushes import push_reply
from lanes.claim import Claim, Item
from lanes.dead import dead_letter
from lanes.outcome import Commit
from memory.session import end_effects
from schemas.tools import KeptResult
from schemas.wire import NewerVersion, NotReadable, load
from workers.messages import starts_anew
from workers.outgoing import Place, plain_reply
from workers.texts import say
from workers.waiting import Waiting

QUOTE_CHARS = 80
UNREADABLE = "not a message that this release can read"


def given_up(
    claim: Claim, items: Sequence[Item], reason: str, *, now_ms: int, language: str, has_acted: bool = False
) -> Commit:
    """End a turn for good: its items become dead letters, the person is told.

    items: those of the claim that were tried. has_acted: the last attempt has changed something. language: for when no message can be read. The owner is told by workers.alerts, which sees the dead letters.
    """
    messages = Waiting.of(items).messages
    if not messages:
        return _buried(claim, items, reason, _unreadable_line(language), now_ms=now_ms, language=language)
    language = messages[0].language
    quote = cut("\n\n".join(message.text for message in messages), QUOTE_CHARS)
    kept = say(language, "It is kept, and the owner of this bot can have it tried again.")
    sorry = say(language, "I could not answer your message.")
    if quote:
        sorry = say(language, "I could not answer your message “{quote}”.", quote=quote)
    if has_acted or _has_changed_something(claim):
        sorry += " " + say(language, "What I had already done for it stands: look at /tasks and /agenda.")
    buried = _buried(claim, items, reason, f"{sorry} {kept}", now_ms=now_ms, language=language)
    if starts_anew(messages[0]):  # that the model failed does not keep the old conversation alive
        return replace(buried, effects=end_effects(claim.lane))
    return buried


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
        letters=tuple(
            (item.id, effect) for item in items for effect in dead_letter(claim, item, reason, now_ms)
        ),
        pushes=(push_reply(notice),),
        remove=ids,
    )


def _has_changed_something(claim: Claim) -> bool:
    """A tool call of an earlier attempt has; one that cannot be read may have."""
    return any(_changed(value) for name, value in claim.kept.items() if name.startswith("result:"))


def _changed(value: bytes) -> bool:
    try:
        return load(KeptResult, value).changed
    except (NotReadable, NewerVersion):
        return True


def _unreadable_line(language: str) -> str:
    return say(
        language,
        "I could not read one of your messages. It is set aside, and the owner of this bot was told.",
    )

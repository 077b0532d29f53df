"""Dead letters as a page shows them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.kinds import outcome_words
from dashboard.listed import PANEL, chat_words
from dashboard.lives import Row
from dashboard.names import Names, Place
from dashboard.query import Found, Query, matches, matches_text
from dashboard.shared import Shared
from dashboard.texts import say, say_n
from dashboard.words import letter_in, message_in, text_of
from infra import keys
from infra.together import checked, together
from schemas.dead import DeadLetter
from schemas.life import TurnLife

MOST = 5_001
"""Read at once: one more than can be acted on."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter with its text."""

    owner: str
    item_id: str
    at_ms: int
    raw: bytes
    letter: DeadLetter | None
    """None: of a newer release."""
    text: str | None
    user_id: str = ""
    bot: str = ""

    @property
    def lane(self) -> str:
        """`bot:chat:topic`; "" if it cannot be read."""
        return self.letter.job_id.partition(":")[2] if self.letter else ""

    @property
    def is_reply(self) -> bool:
        """An answer that could not be sent."""
        return self.letter is not None and self.letter.job_id.startswith(keys.outbox_job(""))

    @property
    def href(self) -> str:
        """Of its side panel."""
        return f"{PANEL}/dead?{urlencode({'owner': self.owner, 'id': self.item_id})}"


async def read_letters(shared: Shared, most: int = MOST) -> tuple[Letter, ...]:
    """The newest, newest first, in two round trips. Raises what redis-py raises."""
    async with shared.redis.pipeline(transaction=False) as pipe:
        pipe.zrange(keys.dead(), 0, most - 1, desc=True, withscores=True)
        (members,) = await pipe.execute()
    named = [(*member.decode().rpartition("|")[::2], round(at_ms)) for member, at_ms in members]
    if not named:
        return ()
    raws = checked(
        await together(shared.redis).run(
            *(("HGET", keys.dead_of(owner), item_id) for owner, item_id, _ in named)
        )
    )
    return tuple(
        letter_of(owner, item_id, at_ms, raw)
        for (owner, item_id, at_ms), raw in zip(named, raws, strict=True)
        if raw is not None
    )


async def read_letter(shared: Shared, owner: str, item_id: str) -> Letter | None:
    """None: it is not there any more. Raises what redis-py raises."""
    raw = await shared.redis.hget(keys.dead_of(owner), item_id)
    if raw is None:
        return None
    return letter_of(owner, item_id, 0, raw)


def letter_of(owner: str, item_id: str, at_ms: int, raw: bytes) -> Letter:
    letter = letter_in(raw)
    if letter is None:
        return Letter(owner, item_id, at_ms, raw, None, None)
    is_reply = letter.job_id.startswith(keys.outbox_job(""))
    message = None if is_reply else message_in(letter.body)
    return Letter(
        owner, item_id, letter.at_ms, raw, letter, text_of(letter.body, is_reply=is_reply),
        message.user_id if message else "", message.bot if message else "",
    )  # fmt: skip


def letters_matching(
    query: Query, letters: Iterable[Letter], names: Names, dead: Mapping[str, Row]
) -> tuple[Letter, ...]:
    """dead: message id → the turn that gave it up."""
    return tuple(
        one for one in letters if matches(query, _found(one, names, dead)) and matches_text(query, one.text)
    )


def _found(one: Letter, names: Names, dead: Mapping[str, Row]) -> Found:
    row = dead.get(one.item_id)
    return Found(
        ("failed",),
        one.at_ms,
        chat_words(one.lane, names) if one.lane else (),
        (names.person(one.user_id), one.user_id),
        (one.bot, Place.of(one.lane).bot_id),
        _models(row.life()) if row else (),
        (one.item_id,),
    )


def _models(life: TurnLife) -> tuple[str, ...]:
    return tuple(one.model for one in life.attempts)


def dead_rows(rows: Iterable[Row]) -> dict[str, Row]:
    """Message id → the newest turn that gave it up. rows: newest first."""
    found: dict[str, Row] = {}
    for row in rows:
        if row.state == "dead":
            for message_id in row.message_ids:
                found.setdefault(message_id, row)
    return found


def error_line(letter: Letter, row: Row | None, language: str) -> str:
    """What went wrong as a person reads it: who was asked and how that ended, else the reason that was kept."""
    if letter.letter is None:
        return say(language, "This release of koi cannot read it: it is of a newer one.")
    life = row.life() if row else None
    if life is not None and life.attempts:
        return attempts_line(life.attempts, language)
    if letter.text is None and not letter.is_reply:
        return say(language, "It is not a message that this release can read.")
    return letter.letter.reason


def attempts_line(attempts: Sequence[object], language: str) -> str:
    """ "claude-sonnet-5-5: overloaded, three times; claude-haiku-5-5: no answer in time"."""
    counted: dict[tuple[str, str], int] = {}
    for one in attempts:
        key = (str(getattr(one, "model", "")), str(getattr(one, "outcome", "")))
        counted[key] = counted.get(key, 0) + 1
    return "; ".join(
        say(language, "{model}: {outcome}", model=model, outcome=outcome_words(outcome, language))
        + (f", {say_n(language, '{n} time', '{n} times', n)}" if n > 1 else "")
        for (model, outcome), n in counted.items()
    )

"""Files that people sent, on their way from Telegram to a turn: the turn asks, the bot process fetches, Redis lies between.

A request may be lost (a bot that restarts, an outage of Telegram), so it is repeated until it is answered. An answer is
taken out of Redis by whoever reads it; one that nobody reads expires, and the commit of its turn removes it.
"""

import asyncio
from dataclasses import dataclass

from infra import keys
from infra.effect import Effect
from infra.redis_port import RedisPort
from schemas.files import FileAnswer, FileRequest
from schemas.inbound import Attachment
from schemas.wire import NewerVersion, NotReadable, dump, load

MOST_TELEGRAM_BYTES = 20_000_000
"""A bot is given no larger file: core.telegram.org/bots/api#getfile."""
MOST_BYTES = 8_000_000
"""No larger file is put into Redis."""
AGAIN_S = 3.0
"""Between a request and its repetition."""
REQUESTS_TTL_MS = 60_000
"""Requests that no bot takes: whoever made them repeats them or has given up."""
MOST_REQUESTS = 200
"""Of one bot; the oldest are dropped, they are repeated."""
ANSWER_TTL_MS = 120_000
"""An answer that nobody took: its turn died. The next attempt asks anew."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The file."""

    content: bytes
    mime: str = ""
    """As Telegram or the sender named it; "": nobody did. Not to be trusted."""


@dataclass(frozen=True, slots=True)
class TooBig:
    """It is larger than asked for, or than bots are given."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class NotThere:
    """Telegram does not hand it out."""

    why: str
    """For the log."""


@dataclass(frozen=True, slots=True)
class NotInTime:
    """Nobody answered until the deadline: the bot is away, or Telegram is."""


type FileAnswered = Fetched | TooBig | NotThere
type FileOutcome = FileAnswered | NotInTime


def unique_id_of(attachment: Attachment) -> str:
    """What the file is filed under within its turn."""
    return attachment.unique_id or attachment.file_id


async def fetch(  # noqa: PLR0913 — of what, for whom, how much, how long
    redis: RedisPort,
    bot_id: str,
    attachment: Attachment,
    *,
    turn_id: str,
    max_bytes: int,
    deadline_s: float,
    again_s: float = AGAIN_S,
) -> FileOutcome:
    """The bytes of a file that was sent to this bot, `deadline_s` seconds from now at the latest.

    Raises: RedisError.
    """
    most = min(max_bytes, MOST_BYTES)
    if attachment.size_bytes > most:
        return TooBig(attachment.size_bytes)
    now = asyncio.get_running_loop().time
    key, end_s = keys.file(turn_id, unique_id_of(attachment)), now() + deadline_s
    request = dump(
        FileRequest(
            turn_id=turn_id,
            file_id=attachment.file_id,
            unique_id=unique_id_of(attachment),
            max_bytes=most,
        )
    )
    while (left_s := end_s - now()) > 0:
        await _ask(redis, keys.file_requests(bot_id), request)
        found = await redis.blpop([key], timeout=max(0.01, min(again_s, left_s)))
        if found is not None:
            return read_answer(found[1], attachment.mime)
    return NotInTime()


async def _ask(redis: RedisPort, key: str, request: bytes) -> None:
    async with redis.pipeline(transaction=True) as pipe:
        pipe.rpush(key, request)
        pipe.ltrim(key, -MOST_REQUESTS, -1)
        pipe.pexpire(key, REQUESTS_TTL_MS)
        await pipe.execute()


async def answer(redis: RedisPort, request: FileRequest, outcome: FileAnswered) -> None:
    """Hand the file, or why there is none, to the turn that waits for it; only the newest answer is kept."""
    key = keys.file(request.turn_id, request.unique_id)
    async with redis.pipeline(transaction=True) as pipe:
        pipe.delete(key)
        pipe.rpush(key, answer_bytes(outcome))
        pipe.pexpire(key, ANSWER_TTL_MS)
        await pipe.execute()


def answer_bytes(outcome: FileAnswered) -> bytes:
    """As it lies in Redis."""
    match outcome:
        case Fetched(content=content, mime=mime):
            return dump(FileAnswer(mime=mime)) + b"\n" + content
        case TooBig(size_bytes=size_bytes):
            return dump(FileAnswer(too_big_bytes=size_bytes)) + b"\n"
        case NotThere(why=why):
            return dump(FileAnswer(not_there=why)) + b"\n"


def read_answer(raw: bytes, mime: str = "") -> FileAnswered:
    """mime: as the sender named it, which goes before the bot's guess."""
    head, _, content = raw.partition(b"\n")
    try:
        said = load(FileAnswer, head)
    except (NotReadable, NewerVersion) as error:
        return NotThere(type(error).__name__)
    if said.not_there:
        return NotThere(said.not_there)
    if said.too_big_bytes:
        return TooBig(said.too_big_bytes)
    return Fetched(content, mime or said.mime)


def drop_effects(turn_id: str, attachments: tuple[Attachment, ...]) -> tuple[Effect, ...]:
    """What the commit of a turn removes: answers that came when nobody waited for them any more."""
    return tuple(Effect("DEL", keys.file(turn_id, unique_id_of(one))) for one in attachments)

"""The photos and documents of a turn: fetched through the bot, and made into what a model takes.

Pictures and documents are shown to the model in the turn they came with; later turns have only `told` of them.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

import structlog

from infra.effect import Effect
from infra.files import MOST_BYTES, Fetched, NotInTime, NotThere, TooBig, drop_effects, fetch
from infra.texts import ENGLISH, later
from llm.media import image_tokens, pdf_tokens
from llm.request import Document, Image, Media
from memory.tokens import estimate_tokens
from schemas.inbound import Attachment
from workers.messages import Turn
from workers.papers import plain_name, read_paper
from workers.pictures import is_picture, scaled
from workers.presence import typing
from workers.services import Services
from workers.texts import say
from workers.words import Words

FETCH_S = 25.0
"""For all files of a turn together, and at most half of what the turn has."""
AT_ONCE = 3
MOST_FILES = 10
"""Of a turn; an album has no more."""
MOST_TURN_BYTES = 12_000_000
"""Of all that is sent to the model; a third more in base64, and Anthropic takes 32 MB."""
GATHERED_NAMES = {"photo": "photo", "document": "file"}
"""Kind → what workers.words calls it."""
MEGABYTE = 1_000_000

type Fault = Literal[
    "big", "gone", "late", "kind", "empty", "locked", "broken", "pixels", "many", "full", "unseen", "unread"
]

WHY = {
    "big": later("too large, at most {most} MB"),
    "gone": later("Telegram no longer has it"),
    "late": later("it did not arrive in time"),
    "kind": later("I cannot read files of this kind"),
    "empty": later("there is nothing in it"),
    "locked": later("it is locked with a password"),
    "broken": later("it is damaged"),
    "pixels": later("the picture has too many pixels"),
    "many": later("more than {files} at once"),
    "full": later("together they are too large"),
    "unseen": later("the model that answered could not see it"),
    "unread": later("the model that answered could not read it"),
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a turn's files became."""

    images: tuple[Image, ...] = ()
    documents: tuple[Document, ...] = ()
    """Both as llm.request.Message takes them, in the order they were sent."""
    told: str = ""
    """A line per file, "[photo sent: 1280×960]": goes before what the person wrote, also in what is kept of it."""
    note: str = ""
    """For the model: what could not be used, and why; "" if nothing."""
    line: str = ""
    """For the person: the same, plain text; "" if nothing."""
    tokens: int = 0
    """Of images and documents, by plain estimate."""
    unused: tuple[tuple[Attachment, Fault], ...] = ()
    pictures: tuple[Attachment, ...] = ()
    """What `images` were made of."""
    pdfs: tuple[Attachment, ...] = ()
    effects: tuple[Effect, ...] = ()
    """For the turn's commit: nothing of the files stays behind."""
    handled: tuple[str, ...] = ()
    """Words.media that are spoken for: the lines above tell of them."""

    @property
    def shows(self) -> bool:
        """The model is shown something."""
        return bool(self.images or self.documents)


NOTHING_SENT = Gathered()


@dataclass(frozen=True, slots=True)
class Used:
    """One file that can be shown."""

    told: str
    tokens: int
    size_bytes: int
    image: Image | None = None
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class Unused:
    """One that cannot."""

    why: Fault


type Outcome = Used | Unused


@dataclass
class Room:
    """What a turn may still take."""

    files: int = MOST_FILES
    size_bytes: int = MOST_TURN_BYTES

    def fault(self, size_bytes: int) -> Fault | None:
        """Takes one more file of that size; or says why not."""
        if self.files == 0:
            return "many"
        if size_bytes > self.size_bytes:
            return "full"
        self.files -= 1
        self.size_bytes -= size_bytes
        return None


@dataclass
class _Fetching:
    """One turn's."""

    s: Services
    turn: Turn
    end_at: float
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def one(self, attachment: Attachment) -> Outcome:
        async with self.slots:
            left_s = self.end_at - asyncio.get_running_loop().time()
            found = await fetch(
                self.s.redis, self.turn.first.bot_id, attachment,
                turn_id=self.turn.id, max_bytes=MOST_BYTES, deadline_s=left_s,
            )  # fmt: skip
            match found:
                case Fetched(content=content):
                    return await read_file(attachment, content)
                case TooBig():
                    return Unused("big")
                case NotThere(why=why):
                    log.info("file_not_there", why=why)
                    return Unused("gone")
                case NotInTime():
                    return Unused("late")
                case _:
                    assert_never(found)


async def gather(s: Services, turn: Turn, deadline_at: float) -> Gathered:
    """All files of a turn, those of an album in its order. deadline_at: of the turn, seconds of the running loop's time().

    What cannot be had is said, and holds up nothing else. The person is shown that koi works. Raises: RedisError.
    """
    attachments = attachments_in(turn)
    if not attachments:
        return NOTHING_SENT
    now = asyncio.get_running_loop().time()
    fetching = _Fetching(s, turn, now + min(FETCH_S, (deadline_at - now) / 2))
    refused = _refused(attachments)
    outcomes: list[Outcome | None] = [Unused(why) if why else None for why in refused]
    async with typing(s, turn.place):
        fetched = await _all(
            fetching, [one for one, why in zip(attachments, refused, strict=True) if not why]
        )
    found = iter(fetched)
    return gathered_from(turn, attachments, [outcome or next(found) for outcome in outcomes])


def with_files(words: Words, gathered: Gathered) -> Words:
    """What the turn says, its files included: also what is kept of it. Files of which nothing is shown are no text by
    themselves: then there is `line` to say.
    """
    media = tuple(one for one in words.media if one not in gathered.handled)
    if not gathered.told or not (gathered.shows or words.text):
        return replace(words, media=media)
    return replace(words, media=media, text="\n\n".join(filter(None, (gathered.told, words.text))))


def attachments_in(turn: Turn) -> tuple[Attachment, ...]:
    """Photos and documents, in order."""
    return tuple(
        attachment
        for message in turn.messages
        for attachment in message.attachments
        if attachment.kind in GATHERED_NAMES
    )


def _refused(attachments: Sequence[Attachment]) -> list[Fault | None]:
    """What is not even fetched, by what Telegram says of it. A photo's size says little: it is scaled."""
    room = Room()
    return [room.fault(0 if one.kind == "photo" else min(one.size_bytes, MOST_BYTES)) for one in attachments]


async def _all(fetching: _Fetching, attachments: Sequence[Attachment]) -> list[Outcome]:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(fetching.one(one)) for one in attachments]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


async def read_file(attachment: Attachment, content: bytes) -> Outcome:
    """By what is in it, whatever its name says."""
    if is_picture(content):
        picture = await scaled(content)
        if isinstance(picture, str):
            return Unused(picture)
        image = picture.image
        told = f"[photo sent: {picture.width}×{picture.height}]"
        return Used(told, image_tokens(image), len(image.content), image=image)
    if attachment.kind == "photo":
        return Unused("broken")
    paper = await asyncio.to_thread(read_paper, attachment.name, content)
    if isinstance(paper, str):
        return Unused(paper)
    document, name = paper.document, plain_name(attachment.name)
    if document.pdf:
        return Used(f"[PDF sent: {name}]", pdf_tokens(document.pdf), len(document.pdf), document=document)
    tokens = await asyncio.to_thread(estimate_tokens, document.text)
    size = f"{'the first ' if paper.is_cut else ''}{paper.chars} characters"
    return Used(f"[file sent: {name}, {size}]", tokens, len(document.text), document=document)


def gathered_from(turn: Turn, attachments: Sequence[Attachment], outcomes: Sequence[Outcome]) -> Gathered:
    """Put together, as far as there is room. outcomes: one per attachment. Pure."""
    room, told = Room(), list[str]()
    used, unused = list[tuple[Attachment, Used]](), list[tuple[Attachment, Fault]]()
    for attachment, outcome in zip(attachments, outcomes, strict=True):
        why = outcome.why if isinstance(outcome, Unused) else room.fault(outcome.size_bytes)
        if isinstance(outcome, Used) and why is None:
            used.append((attachment, outcome))
            told.append(outcome.told)
        elif why is not None:
            unused.append((attachment, why))
            told.append(f"[{name_of(attachment, ENGLISH)} sent, but it could not be read]")
    return Gathered(
        images=tuple(one.image for _, one in used if one.image),
        documents=tuple(one.document for _, one in used if one.document),
        told="\n".join(told),
        note=f"You cannot see this, say so if it matters: {listed(unused, ENGLISH)}." if unused else "",
        line=unused_line(unused, turn.language) if unused else "",
        tokens=sum(one.tokens for _, one in used),
        unused=tuple(unused),
        pictures=tuple(sent for sent, one in used if one.image),
        pdfs=tuple(sent for sent, one in used if one.document and one.document.pdf),
        effects=drop_effects(turn.id, tuple(attachments)),
        handled=tuple(GATHERED_NAMES.values()),
    )


def answered_line(gathered: Gathered, unseen: Collection[Media], language: str) -> str:
    """The line for the person under an answer: also of what its model takes none of. unseen: Completion.unseen."""
    blind = _each(gathered.pictures, "unseen") if "images" in unseen else ()
    unread = _each(gathered.pdfs, "unread") if "pdfs" in unseen else ()
    found = (*gathered.unused, *blind, *unread)
    return unused_line(found, language) if found else ""


def _each(sent: Sequence[Attachment], why: Fault) -> tuple[tuple[Attachment, Fault], ...]:
    return tuple((one, why) for one in sent)


def unused_line(unused: Sequence[tuple[Attachment, Fault]], language: str) -> str:
    return say(language, "I could not use this: {files}.", files=listed(unused, language))


def listed(unused: Sequence[tuple[Attachment, Fault]], language: str) -> str:
    """ "a.zip (I cannot read files of this kind), photo (it is damaged)"; what is alike, once: "photo ×3 (…)"."""
    counts = Counter[tuple[str, Fault]]((name_of(one, language), why) for one, why in unused)
    return ", ".join(
        f"{name}{f' ×{count}' if count > 1 else ''} ({why_of(why, language)})"
        for (name, why), count in counts.items()
    )


def why_of(why: Fault, language: str) -> str:
    return say(language, WHY[why], most=MOST_BYTES // MEGABYTE, files=MOST_FILES)


def name_of(attachment: Attachment, language: str) -> str:
    """What people call it."""
    return plain_name(attachment.name) or say(language, GATHERED_NAMES[attachment.kind])

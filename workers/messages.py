"""The messages that one turn answers. Pure."""

from dataclasses import dataclass, replace
from itertools import takewhile

from schemas.inbound import InboundMessage
from schemas.memory import Session
from schemas.profile import Profile
from schemas.tools import Pending
from workers.answers import is_yes
from workers.outgoing import Place
from workers.pending import answers_pending, picked
from workers.profile import with_profile
from workers.said_before import without_known
from workers.words import Words

LATE_MS = 600_000
"""A message that waited longer than that is answered with a word about it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Which messages are answered, by what, from when to when."""

    id: str
    messages: tuple[InboundMessage, ...]
    began_ms: int
    words: Words
    starts_anew: bool = False
    """`/new`: whatever conversation ran is over."""
    picked: bool = False
    """A button under a question was tapped: `words` are what it says."""
    late_ms: int = 0
    """When the first message was sent, if nobody was there to answer it for long; else 0."""

    @property
    def first(self) -> InboundMessage:
        return self.messages[0]

    @property
    def is_command(self) -> bool:
        """koi answers by itself."""
        return self.first.kind == "command" and not self.picked and not (self.starts_anew and self.words.text)

    def asking(self, question: str) -> "Turn":
        """With this as what is asked."""
        return replace(self, words=Words(question, bare=question), picked=True)

    @property
    def language(self) -> str:
        """Of the newest message: its sender reads the answer."""
        return self.messages[-1].language

    @property
    def place(self) -> Place:
        return Place.of_message(self.first)

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(message.id for message in self.messages)


def starts_anew(message: InboundMessage) -> bool:
    """It is /new, perhaps with a text."""
    return message.kind == "command" and message.command == "new"


def of_one_person(messages: tuple[InboundMessage, ...]) -> tuple[InboundMessage, ...]:
    """Those before the first of somebody else (in a group): where there are plans, nobody writes at another's cost."""
    first = messages[0].user_id
    return tuple(takewhile(lambda message: message.user_id == first, messages))


def turn_of(turn_id: str, messages: tuple[InboundMessage, ...], now_ms: int, *, ahead_ms: int = 0) -> Turn:
    """messages: at least one; a command is alone. ahead_ms: by how much koi's clock is shifted against Telegram's."""
    first = messages[0]
    waited_ms = now_ms - ahead_ms - first.sent_at_ms
    return Turn(
        id=turn_id,
        messages=messages,
        began_ms=now_ms,
        words=Words.of(messages),
        starts_anew=starts_anew(first),
        late_ms=first.sent_at_ms + ahead_ms if waited_ms > LATE_MS else 0,
    )


def addressed(turn: Turn, profile: Profile, pending: Pending | None, session: Session | None) -> Turn:
    """In the language that the person chose, without quotes of what the conversation has; and if it answers an open question,
    with the words of the option.
    """
    messages = tuple(
        with_profile(message, profile) if message.user_id == turn.first.user_id else message
        for message in turn.messages
    )
    messages = without_known(messages, session)
    first = messages[0]
    if first.command == "pick" and (option := picked(pending, first.argument)) is not None:
        return replace(turn, messages=messages, words=replace(turn.words, text=option), picked=True)
    if first.kind == "text" and pending and pending.kind == "preview" and is_yes(Words.of(messages).bare):
        confirm = {"kind": "command", "command": "confirm", "argument": pending.id}
        return replace(turn, messages=(first.model_copy(update=confirm), *messages[1:]))
    words = Words.of(messages)
    if first.kind == "text" and pending:
        answer = answers_pending(pending, words.bare)
        words = words if answer == words.bare else replace(words, text=answer)
    return replace(turn, messages=messages, words=words)

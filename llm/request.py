"""What a model is asked and what comes of it, as values."""

from dataclasses import dataclass, field
from typing import Literal

type Ending = Literal["complete", "tools", "truncated", "interrupted", "refused", "stopped"]
"""complete: the model was done. tools: it wants tools to be run (Completion.uses) and to hear what came of it. truncated: it ran into `max_tokens` or its context window. interrupted: the deadline
came while it was still writing, or it paused too often. refused: it declined; there is no text. stopped: whoever asked ended
it (llm.halt); the text is what was said by then, and may be blank."""

type Outcome = Literal[
    "answered", "tools", "truncated", "interrupted", "refused", "paused",
    "rate_limited", "overloaded", "server_error", "timeout", "deadline", "broken", "malformed", "empty",
    "unauthorized", "unpaid", "forbidden", "unknown_model",
    "rejected", "too_long",
    "abandoned",
]  # fmt: skip
"""How one call ended: with text or a refusal (first line), by a failure (llm.failure), or because nobody waits for it
any more (the turn was cancelled)."""


type Effort = Literal["low", "medium", "high"]
"""How much a model that can choose thinks and writes."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of the model."""

    id: str
    name: str
    arguments: str
    """A JSON object."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from the call `id`."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """An answer's content as its service sent it: thoughts, texts, tool calls, what tools of the service found."""

    service: str
    model: str
    content: str
    """JSON array of content blocks; goes back unchanged, and only to the same model of the same service."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call."""

    name: str
    """Letters, digits, _ and -, at most 64."""
    description: str
    schema: str
    """JSON Schema of its arguments, a JSON object."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture."""

    media_type: Literal["image/jpeg", "image/png", "image/webp", "image/gif"]
    content: bytes = field(repr=False)
    width: int
    """Pixels, as every model counts it (llm.media)."""
    height: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file that is read: its text, or a PDF as it is."""

    name: str
    text: str = field(default="", repr=False)
    """As it stands before the model, with whatever frames it."""
    pdf: bytes = field(default=b"", repr=False)
    """Instead of a text."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation, the oldest first."""

    role: Literal["user", "assistant"]
    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    """Only of the assistant, behind its text; the next message is the user's and has their results."""
    results: tuple[ToolResult, ...] = ()
    """Only of the user, before the text."""
    verbatim: Verbatim | None = None
    """Only of the assistant, and only within the turn: sent instead of text and uses to whom it came from."""
    documents: tuple[Document, ...] = ()
    """Only of the user, before the images and the text; instead of a PDF, a service that cannot read one is told so."""
    images: tuple[Image, ...] = ()
    """Only of the user, before the text; a service that cannot see them is told how many there were."""

    @property
    def has_files(self) -> bool:
        return bool(self.images or self.documents)

    @property
    def has_media(self) -> bool:
        """Files that not every model takes."""
        return bool(self.images) or any(document.pdf for document in self.documents)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything a model is given."""

    system: str
    """"" : none."""
    messages: tuple[Message, ...]
    """At least one; the first and the last are the user's."""
    max_tokens: int
    language: str = "en"
    """The person's; only the offline model, which speaks for koi itself, looks at it."""
    effort: Effort | None = None
    """None: the model's own default. Services without it are not told."""
    person: str = ""
    """Behind `system`: what is known of the person. The same through a conversation, so that it is cached with it."""
    tools: tuple[Tool, ...] = ()
    """In an order that never changes: they are the beginning of what is cached. Services without tools get none."""
    web: bool = False
    """The service may search and fetch by itself, where it can (Capabilities.server_tools)."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls. None: the server did not say."""

    input_tokens: int | None = None
    """Without those written to or read from the cache."""
    cache_write_tokens: int | None = None
    cache_read_tokens: int | None = None
    output_tokens: int | None = None
    web_searches: int = 0
    """Searches that the service made; billed apart."""


@dataclass(frozen=True, slots=True)
class CallPlanned:
    """One call that is about to be made."""

    id: str
    service: str
    """llm.candidates.ServiceName."""
    model: str
    request: ModelRequest
    searches: int = 0
    """Web searches that the service may make in it, at most."""
    web_tokens: int = 0
    """What it may read from the web beside the request, about: billed as input."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may be made, and answer with at most so many tokens (never more than the request says)."""

    max_tokens: int


@dataclass(frozen=True, slots=True)
class Denied:
    """This model may not be asked; another perhaps."""

    reason: str
    """One line for the log and the owner."""


type Permit = Allowed | Denied


@dataclass(frozen=True, slots=True)
class CallEnded:
    """One call of a model, when it is over, however it ended. Holds no text of anybody."""

    id: str
    """Unique; what it is billed under."""
    provider: str
    model: str
    outcome: Outcome
    took_ms: int
    usage: Usage
    """Also of failed calls, as far as the server told it."""
    detail: str = ""
    """For the owner: "HTTP 529 overloaded_error req_…"; "" if there is nothing to add."""
    effort: str = ""
    """What the model was told; "": nothing, so its own default."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A model before the one that answered, which was not asked."""

    service: str
    model: str
    by: Literal["breaker", "permit"]
    why: str
    """breaker: the last Outcome. permit: Denied.reason."""
    since_ms: int | None = None
    """breaker: when it opened, ms of Redis' clock."""


type Media = Literal["images", "pdfs"]


@dataclass(frozen=True, slots=True)
class Completion:
    """What the person gets."""

    text: str
    """Never blank, except when refused or stopped, when tools are called, and when the request ended with results of tools."""
    model: str
    """The id of the model that answered, as in the settings."""
    asked: str
    """The first choice of the chain."""
    ending: Ending
    usage: Usage
    """Of the calls that made this text: more than one if the model paused."""
    calls: tuple[CallEnded, ...]
    """All, also the failed ones, in order."""
    skipped: tuple[Skipped, ...] = ()
    """In the order of the chain."""
    uses: tuple[ToolUse, ...] = ()
    """ending "tools": at least one, their ids unique."""
    verbatim: Verbatim | None = None
    """ending "tools": the answer as it must go back."""
    unseen: frozenset[Media] = frozenset()
    """What of the request its model was not shown, because it takes none: there was a note instead."""


UNKNOWN = Usage()
"""Nothing was said about tokens."""


def add_usage(one: Usage, other: Usage) -> Usage:
    """The sum; what only one of them knows counts as it is."""

    def plus(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else a + b

    return Usage(
        plus(one.input_tokens, other.input_tokens),
        plus(one.cache_write_tokens, other.cache_write_tokens),
        plus(one.cache_read_tokens, other.cache_read_tokens),
        plus(one.output_tokens, other.output_tokens),
        one.web_searches + other.web_searches,
    )

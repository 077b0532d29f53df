"""Why a call failed, read from what a service answered. Pure.

The type in the error body comes first (in mid-stream it is all there is, the status being 200), then the status.
Types and codes: anthropic 2.14, types/shared/error_type.py and *_error_details.py. Wording is the last resort, for
services that say with 400 what Anthropic says with a type of its own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal

type FailureKind = Literal[
    "rate_limited", "overloaded", "server_error", "timeout", "deadline", "broken", "malformed", "empty",
    "unauthorized", "unpaid", "forbidden", "unknown_model",
    "rejected", "too_long",
]  # fmt: skip
"""First line: may work again or elsewhere. Second: this candidate is of no use. Third: the request is at fault."""

SKIP: frozenset[FailureKind] = frozenset({"unauthorized", "unpaid", "forbidden", "unknown_model"})
REJECT: frozenset[FailureKind] = frozenset({"rejected", "too_long"})

BY_TYPE: Mapping[str, FailureKind] = {
    "authentication_error": "unauthorized",
    "billing_error": "unpaid",
    "permission_error": "forbidden",
    "not_found_error": "unknown_model",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
    "overloaded_error": "overloaded",
    "request_too_large": "too_long",
    "exceed_context_size_error": "too_long",  # llama.cpp; its status was 500 once
}
BY_STATUS: Mapping[int, FailureKind] = {
    400: "rejected", 401: "unauthorized", 402: "unpaid", 403: "forbidden", 404: "unknown_model", 408: "timeout",
    409: "server_error", 413: "too_long", 422: "rejected", 425: "server_error", 429: "rate_limited",
    499: "broken", 504: "timeout", 529: "overloaded", 503: "overloaded",
}  # fmt: skip
SPENT_CODES = ("spend_limit_reached", "billing_unavailable", "organization_on_hold")
"""Ends of `error.details.error_code` that come with a 429 or 403 and mean: pay first."""
TOO_LONG = (
    "prompt is too long",  # Anthropic
    "exceed context limit",  # Anthropic: input and max_tokens together
    "input is too long",  # Bedrock
    "context length",  # vLLM, OpenRouter, Ollama, LM Studio
    "context window",  # OpenAI
    "context size",  # llama.cpp
    "maximum context",
    "maximum model length",  # vLLM
    "maximum prompt length",  # xAI
    "exceeds the maximum number of tokens",  # Google
    "range of input length",  # Alibaba
    "reduce the length of the messages",
)
WORDING: tuple[tuple[FailureKind, tuple[str, ...]], ...] = (
    ("too_long", TOO_LONG),
    ("unpaid", ("credit balance", "insufficient credits")),
    ("unknown_model", ("not a valid model", "model not found", "no such model", "model does not exist")),
)
NAME = re.compile(r"[\w.:/-]{1,64}", re.ASCII)
LIMIT = re.compile(
    r"> (\d+) maximum"
    r"|> (\d+), decrease"
    r"|(?:maximum|model's) context length (?:is|of) (?:only )?(\d+)"
    r"|maximum prompt length is (\d+)"
    r"|context size \((\d+) tokens\)"
    r"|maximum model length of (\d+)"
    r"|number of tokens allowed \((\d+)\)"
)
"""Where the wordings above name the number that was passed."""


TOOLS = re.compile(r"\btools?\b|function[ _-]call", re.IGNORECASE)
NO_TOOLS = re.compile(r"(?:support|requires?)\b.*\btool|\btools?\b.*(?:support|requires?)", re.IGNORECASE)
"""OpenRouter: 404 "No endpoints found that support tool use"; llama.cpp: 500 "tools param requires --jinja flag"."""


MEDIA = re.compile(r"\b(?:images?|pictures?|vision|multi-?modal\w*|mmproj|pdfs?|documents?)\b", re.IGNORECASE)
NO_MEDIA = re.compile(
    r"(?:support|requires?|missing|provide|expects?)\b.*\b(?:image|vision|multi-?modal|mmproj)"
    r"|\b(?:image|vision|multi-?modal|mmproj)\b.*(?:support|requires?|missing)",
    re.IGNORECASE,
)
"""OpenRouter: 404 "No endpoints found that support image input"; llama.cpp: 500 "image input is not supported - hint: if
this is unexpected, you may need to provide the mmproj"; Ollama: 500 "… missing data required for image input".
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call."""

    kind: FailureKind
    detail: str = ""
    """For the owner, without anybody's text."""
    retry_after_s: float | None = None
    """The service asked to wait this long."""
    retry_same: bool = True
    """False: the service asked not to be tried again (`x-should-retry: false`)."""
    limit_tokens: int | None = None
    """too_long: what the model takes, if the service said it."""
    about_tools: bool = False
    """rejected: the service spoke of tools."""
    about_media: bool = False
    """rejected: the service spoke of pictures or documents."""


def kind_of(status: int, error_type: str = "", error_code: str = "", message: str = "") -> FailureKind:
    """What an error answer means. `status` 200: an error event in mid-stream."""
    if error_code.endswith(SPENT_CODES):
        return "unpaid"
    if kind := BY_TYPE.get(error_type):
        return kind
    if error_type == "invalid_request_error" or status in {400, 422}:
        return _by_wording(message)
    if status == 500 and _by_wording(message) == "too_long":  # llama.cpp and what is built on it
        return "too_long"
    if status in BY_STATUS:
        return BY_STATUS[status]
    return "rejected" if 400 <= status < 500 else "server_error"


def refuses_tools(kind: FailureKind, message: str) -> bool:
    """The message of an error answer says that tools are the trouble."""
    if kind == "rejected":
        return TOOLS.search(message) is not None
    return kind in {"unknown_model", "server_error"} and NO_TOOLS.search(message) is not None


def refuses_media(kind: FailureKind, message: str) -> bool:
    """The message of an error answer says that pictures or documents are the trouble."""
    if kind == "rejected":
        return MEDIA.search(message) is not None
    return kind in {"unknown_model", "server_error"} and NO_MEDIA.search(message) is not None


def names(*given: object) -> str:
    """What a service gave as a name or an id, for `Failure.detail`. Anything else there may be somebody's text, and goes."""
    return " ".join(name for name in given if isinstance(name, str) and NAME.fullmatch(name))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after` (a number, or a date seen from the answer's own `date`).

    Keys in lower case. None: nothing there, or nothing readable.
    """
    if (wait_ms := _number(headers.get("retry-after-ms"))) is not None:
        return max(0.0, wait_ms / 1000)
    asked = headers.get("retry-after")
    if (wait_s := _number(asked)) is not None:
        return max(0.0, wait_s)
    try:
        wait = parsedate_to_datetime(asked or "") - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):  # TypeError: one of the two has no zone
        return None
    return max(0.0, wait.total_seconds())


def limit_tokens_in(message: str) -> int | None:
    """How many tokens the model takes, if an error that says "too long" names it."""
    found = LIMIT.search(message)
    return None if found is None else int(next(filter(None, found.groups())))


def _by_wording(message: str) -> FailureKind:
    said = message.lower()
    for kind, phrases in WORDING:
        if any(phrase in said for phrase in phrases):
            return kind
    return "rejected"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 (NaN)

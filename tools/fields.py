"""Kinds of text that arguments hold, and how an answer is written."""

import unicodedata
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field

TITLE_CHARS = 200
TEXT_CHARS = 4_000
"""Of a memo's text or a task's note: about what one Telegram message holds."""
LIST_CHARS = 40


def one_line(text: str) -> str:
    """Runs of white space become one space."""
    return " ".join(text.split())


type OneLine = Annotated[str, AfterValidator(one_line)]
type Title = Annotated[OneLine, Field(min_length=1, max_length=TITLE_CHARS)]
type MayBeBlank = Annotated[OneLine, Field(max_length=TITLE_CHARS)]
"""A title that may be missing, or words to look for."""
type Text = Annotated[str, Field(max_length=TEXT_CHARS)]


def answer(**values: Any) -> str:
    """Compact JSON for the model, without what is None, "" or empty."""
    return orjson.dumps(
        {name: value for name, value in values.items() if value not in (None, "", (), [])}
    ).decode()


def filled(**values: Any) -> dict[str, Any]:
    """Without what is not set."""
    return {name: value for name, value in values.items() if value}


def folded(text: str) -> str:
    """The same for every way to write a text in Unicode, in capitals or not."""
    return unicodedata.normalize("NFC", text.casefold())


def matches(query: str, *texts: str) -> bool:
    """Every word of the query is somewhere in the texts. A query without words matches all."""
    within = folded("\n".join(texts))
    return all(word in within for word in folded(query).split())

"""Text and messages in a form that every service takes. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from infra.clean import clean
from llm.request import Message, ToolResult

BLANK = "…"
"""Stands for a message without a visible character: services refuse those."""


def clean_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Cleaned, none blank, and roles in turn: neighbours of one role become one message (many chat templates of
    local servers fail otherwise). A tool call without its result, or a result without its call, is left out (C26), and
    with a call the verbatim answer that holds it. A last message of the assistant loses the white space at its end,
    which the API refuses.
    """
    joined: list[Message] = []
    for message in messages:
        cleaned = _cleaned(message)
        if joined and joined[-1].role == message.role:
            cleaned = _join(joined.pop(), cleaned)
        joined.append(cleaned)
    if joined and joined[-1].role == "assistant":
        joined[-1] = replace(joined[-1], text=joined[-1].text.rstrip())
    return tuple(_not_blank(_paired(joined, at)) for at in range(len(joined)))


def _cleaned(message: Message) -> Message:
    results = tuple(ToolResult(each.id, clean(each.text)) for each in message.results)
    return replace(message, text=clean(message.text), results=results)


def _join(one: Message, other: Message) -> Message:
    """An answer that is joined to another is not verbatim any more."""
    text = f"{one.text}\n\n{other.text}" if one.text and other.text else one.text or other.text
    return Message(
        one.role,
        text,
        one.uses + other.uses,
        one.results + other.results,
        documents=one.documents + other.documents,
        images=one.images + other.images,
    )


def _paired(messages: Sequence[Message], at: int) -> Message:
    message = messages[at]
    if not message.uses and not message.results:
        return message
    answered = {result.id for result in messages[at + 1].results} if at + 1 < len(messages) else set[str]()
    called = {use.id for use in messages[at - 1].uses} if at else set[str]()
    uses = tuple(use for use in message.uses if use.id in answered)
    return replace(
        message,
        uses=uses,
        results=tuple(result for result in message.results if result.id in called),
        verbatim=message.verbatim if uses == message.uses else None,
    )


def _not_blank(message: Message) -> Message:
    if message.text.strip():
        return message
    return replace(message, text="" if message.uses or message.results or message.has_files else BLANK)

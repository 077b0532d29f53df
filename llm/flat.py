"""Calls of tools and their results as plain text, for a request that offers no tools. Pure.

A service refuses such blocks without `tools`; the model still has to know what was done.
"""

from collections.abc import Sequence
from dataclasses import replace

from llm.request import Message


def flat(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same messages, roles unchanged: "[create_task {…}]" behind the assistant's text, "[create_task: result]"
    before the user's.
    """
    names: dict[str, str] = {}
    shown: list[Message] = []
    for message in messages:
        names |= {use.id: use.name for use in message.uses}
        shown.append(_flat(message, names))
    return tuple(shown)


def _flat(message: Message, names: dict[str, str]) -> Message:
    if not message.uses and not message.results:
        return message
    calls = [f"[{use.name} {use.arguments}]" for use in message.uses]
    results = [f"[{names.get(result.id, 'result')}: {result.text}]" for result in message.results]
    parts = [*results, *([message.text] if message.text.strip() else []), *calls]
    return replace(message, text="\n".join(parts), uses=(), results=(), verbatim=None)

"""Text and messages in a form that every service takes. Pure."""

from infra.clean import clean
from llm.request import Message

BLANK = "…"
"""Stands for a message without a visible character: services refuse those."""


def clean_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Cleaned, none blank, and roles in turn: neighbours of one role become one message (many chat templates of
    local servers fail otherwise). A last message of the assistant loses the white space at its end, which the API
    refuses.
    """
    joined: list[Message] = []
    for message in messages:
        text = clean(message.text)
        if joined and joined[-1].role == message.role:
            text = f"{joined.pop().text}\n\n{text}"
        joined.append(Message(message.role, text))
    if joined and joined[-1].role == "assistant":
        joined[-1] = Message("assistant", joined[-1].text.rstrip())
    return tuple(message if message.text.strip() else Message(message.role, BLANK) for message in joined)

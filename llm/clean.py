"""Text and messages in a form that every service takes. Pure."""

from llm.request import Message

BLANK = "…"
"""Stands for a message without a visible character: services refuse those."""


def clean(text: str) -> str:
    """Without NULs; halves of a surrogate pair joined, lone ones as U+FFFD: what UTF-8 and JSON can carry."""
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


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

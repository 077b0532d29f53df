"""What the family's models say. Whatever is not listed here is echoed: an answer shows what the model was given."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.model_rules import blocks_of, text_of
from tests.fakes.model_script import Answer
from tests.pictures import opened
from tests.system.acting import uses

type Body = dict[str, Any]

LIGHT, STRONG = "light", "strong"
TIME_NOTE = re.compile(r"\n\n\[(?:\w{3} \d+ \w{3} \d{4} )?\d\d:\d\d\](?=\n|\Z)")
"""workers.prompt.now_note: there or not, as the minute wants it."""
SCRIPT = "\n".join(f"step_{number:04} = {number}" for number in range(300))
"""Longer than a message."""


def answer(body: Body) -> Answer:
    """By what the person wrote last."""
    last = body["messages"][-1]
    if any(block["type"] == "tool_result" for block in blocks_of(last["content"])):
        return Answer("Brot steht auf deiner Liste.")
    said = TIME_NOTE.sub("", text_of(last).rpartition("</conversation_history>")[2].strip())
    found = next((say for words, say in ANSWERS.items() if words in said), None)
    if found is None:
        return Answer(f"echo: {said}")
    return found if isinstance(found, Answer) else found(body)


def _all(body: Body) -> str:
    """Everything that the model is given of this conversation and of earlier ones."""
    return "\n".join(map(text_of, body["messages"]))


def _if_it_knows(words: str, then: str, otherwise: str) -> Callable[[Body], Answer]:
    return lambda body: Answer(then if words in _all(body) else otherwise)


def _protocol(body: Body) -> Answer:
    """Of a long text: whether all of it came at once."""
    whole = re.search(r"Protokoll.*Mitte.*Schluss", text_of(body["messages"][-1]), re.DOTALL)
    return Answer("Anfang, Mitte und Schluss gelesen." if whole else "Da fehlt etwas.")


def _name(body: Body) -> Answer:
    """By the system prompt."""
    found = re.search(r"You are (\w+), an assistant", str(body["system"]))
    cheerful = "always cheerful" in str(body["system"])
    return Answer(f"I am {found[1] if found else 'nobody'}{', hurray!' if cheerful else '.'}")


def _pictures(body: Body) -> Answer:
    """Their sizes, in order."""
    blocks = [block for block in blocks_of(body["messages"][-1]["content"]) if block["type"] == "image"]
    pictures = [opened(b64decode(block["source"]["data"])) for block in blocks]
    return Answer(", ".join(f"{one.width}×{one.height}" for one in pictures))


ANSWERS: Mapping[str, Answer | Callable[[Body], Answer]] = {
    "Protokoll": _protocol,
    "Welche Katze": _pictures,
    "Was ist eine Kiwi?": lambda body: Answer(
        "Ein Vogel." if body["model"] == LIGHT else "Ein Vogel und eine **Frucht**."
    ),
    "lange Geschichte": Answer("word " * 600, chunk_delay_s=0.1),
    "long story": Answer("word " * 600, chunk_delay_s=0.1),
    "Brot auf meine Liste": uses("create_task", title="Brot", list="Einkauf"),
    "Wer kommt Mittwoch?": _if_it_knows("Oma kommt am Mittwoch", "Oma.", "Das weiß ich nicht."),
    "Who comes on Wednesday?": _if_it_knows("Oma kommt am Mittwoch", "Oma.", "I do not know."),
    "which cake?": _if_it_knows("apple cake", "Apple cake.", "I know of no cake."),
    "Who are you?": _name,
    "number the steps": Answer(f"Here you are:\n\n```python\n{SCRIPT}\n```\n\nRun it **once**."),
}
"""Words of a message → the answer to it."""

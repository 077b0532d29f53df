"""A model that acts as a script says, by what it sees: the same request gets the same answer, however often it is asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model_rules import blocks_of, text_of
from tests.fakes.model_script import Answer, Use
from tests.fakes.model_server import Asked

type Body = dict[str, Any]
type Step = Answer | Callable[[Body], Answer]
"""A function when the answer depends on what came before."""


@dataclass
class Acting:
    """For ModelServer.always."""

    roles: Mapping[str, Sequence[Step]]
    """What a person writes → answers, the first to that, the next to what the tools of the one before returned; the last one
    for ever. Whatever else is written is echoed.
    """
    slow_s: dict[str, float] = field(default_factory=dict[str, float])
    """What a person writes → how long all answers after the first take meanwhile."""

    def __call__(self, body: Body) -> Answer:
        said, rounds = self._part(body)
        steps = self.roles.get(said)
        if steps is None:
            return Answer()
        step = steps[min(rounds, len(steps) - 1)]
        answer = step if isinstance(step, Answer) else step(body)
        delay_s = self.slow_s.get(said, 0.0) if rounds else 0.0
        return Answer(answer.text, uses=answer.uses, to_the_last=answer.to_the_last, delay_s=delay_s)

    def _part(self, body: Body) -> tuple[str, int]:
        """What the person wrote last, as the script has it, and how many rounds of tools there were since."""
        rounds = 0
        for message in reversed(body["messages"]):
            if message["role"] != "user":
                continue
            if any(block["type"] == "tool_result" for block in blocks_of(message["content"])):
                rounds += 1
                continue
            text = text_of(message).rpartition("</conversation_history>")[2]
            return next((said for said in self.roles if said in text), ""), rounds
        return "", rounds


def uses(name: str, **arguments: Any) -> Answer:
    """One call of a tool."""
    return Answer(uses=(Use(name, arguments),))


def using_id(letter: str, name: str, of: str, **arguments: Any) -> Callable[[Body], Answer]:
    """One call with the id, such as t17, that a result in the window tells; `of` is the argument that it stands in. Without
    one the model has nothing to go on, and says so.
    """

    def step(body: Body) -> Answer:
        found = re.findall(rf"\b{letter}[1-9][0-9]*\b", "\n".join(results(body)))
        return uses(name, **{of: found[-1]}, **arguments) if found else Answer("I do not know which.")

    return step


def results(body: Body) -> list[str]:
    """What all tools returned that the request shows, oldest first."""
    blocks = [block for message in body["messages"] for block in blocks_of(message["content"])]
    return [
        "".join(part["text"] for part in blocks_of(block["content"]))
        for block in blocks
        if block["type"] == "tool_result"
    ]


def with_text(requests: Sequence[Asked], text: str) -> list[Asked]:
    """Those that hold it; others may be for somebody else at the same time."""
    return [asked for asked in requests if text in str(asked.body["messages"])]


def offered(body: Body) -> list[str]:
    """Names of the tools in a request."""
    return [tool["name"] for tool in body.get("tools", [])]

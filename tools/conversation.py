"""What a model can do to the conversation itself: ask with buttons, end it. Pure."""

from typing import Annotated, Any

from pydantic import Field

from tools.fields import OneLine, folded
from tools.tool import Arguments, Here, Ran, Refused, Things, Tool

QUESTION_CHARS = 500
OPTION_CHARS = 40
"""What still fits a button of a phone."""
LEAST_OPTIONS, MOST_OPTIONS = 2, 6

type Option = Annotated[OneLine, Field(min_length=1, max_length=OPTION_CHARS)]


class AskClarification(Arguments):
    question: Annotated[str, Field(min_length=1, max_length=QUESTION_CHARS)]
    options: Annotated[
        tuple[Option, ...],
        Field(min_length=LEAST_OPTIONS, max_length=MOST_OPTIONS, description="2 to 6 short answers"),
    ]


def ask_clarification(asked: AskClarification, here: Here, things: Things) -> Ran:
    del here, things
    if len({folded(option) for option in asked.options}) < len(asked.options):
        raise Refused("Two options are the same; each must be another answer.")
    return Ran(
        "The question was asked; the person's next message answers it.",
        then="ask",
        question=asked.question,
        options=asked.options,
    )


class EndConversation(Arguments):
    pass


def end_conversation(asked: EndConversation, here: Here, things: Things) -> Ran:
    del asked, here, things
    return Ran("The conversation ends after your answer: a short goodbye.", then="end")


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "ask_clarification",
        "Ask one question with answer buttons, if you cannot go on without it.",
        AskClarification,
        ask_clarification,
        changes=False,
    ),
    Tool(
        "end_conversation",
        "When the person says goodbye or wants a fresh start.",
        EndConversation,
        end_conversation,
        changes=False,
    ),
)

"""The built-in `offline` model: no thought, no network; it shows what a model would have been given."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

from infra.texts import Catalog
from llm.events import Finished, Heard, Text, Used
from llm.request import ModelRequest, Usage

CATALOG = Catalog(Path(__file__).parent / "locales")
BLOCK_END = "</conversation_history>"
"""Closes the memory block before the message. Texts of people cannot hold it: the context builder neutralises them."""
BACKTICKS = re.compile(r"`+")


class OfflineProvider:
    """Answers at once, always."""

    async def prepare(self) -> None:
        """Nothing to load."""

    async def aclose(self) -> None:
        """Nothing to close."""

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Heard]:
        """See llm.provider.Provider."""
        yield Used(Usage(0, 0, 0, 0))
        yield Text(answer(request))
        yield Finished()


def answer(request: ModelRequest) -> str:
    """What this is, the message in quotes, then the memory block (as Markdown code) and how much else, then what to set.

    Without a block it is plain text, which costs a sender the least.
    """
    block, message = split_block(request.messages[-1].text)
    language, earlier = request.language, len(request.messages) - 1
    parts = [
        CATALOG.say(language, "Offline model (no model is set up). One would have been given this:"),
        CATALOG.say(language, "“{message}”", message=message),
    ]
    if block:
        parts += [CATALOG.say(language, "Before it, what you talked about lately:"), fenced(block)]
    if earlier:
        parts.append(
            CATALOG.say_n(
                language,
                "and the message of this conversation before it.",
                "and the {n} messages of this conversation before it.",
                earlier,
            )
        )
    else:
        parts.append(
            CATALOG.say(
                language,
                "For real answers set ANTHROPIC_API_KEY, OPENROUTER_API_KEY, or ANTHROPIC_BASE_URL "
                "(a model on this machine), and start again.",
            )
        )
    return "\n\n".join(parts)


def unconfigured_line(language: str) -> str:
    """For people in Telegram, when no model is set up."""
    return CATALOG.say(
        language,
        "I cannot answer yet: no model is set up. Whoever runs me has to set ANTHROPIC_API_KEY, OPENROUTER_API_KEY "
        "or ANTHROPIC_BASE_URL.",
    )


def split_block(text: str) -> tuple[str, str]:
    """(memory block or "", what follows it)."""
    before, end, after = text.rpartition(BLOCK_END)
    return (before + end).strip(), after.strip()


def fenced(text: str) -> str:
    """A code block, with a fence longer than any in the text."""
    longest = max(len(run) for run in BACKTICKS.findall(text)) if "```" in text else 2
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"

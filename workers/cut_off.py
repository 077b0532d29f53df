"""Answers that end in the middle: what the person is told of it, and Markdown that does not swallow that line. Pure."""

import re
from typing import assert_never

from llm.request import Ending
from workers.texts import say

FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>[^\n]*)$", re.MULTILINE)


def ending_line(ending: Ending, text: str, language: str) -> str:
    """Why the answer is not whole; "" if it is, or if nothing of it was written, which is said instead of it."""
    match ending:
        case "truncated":
            return say(language, "My answer became too long and stops here. Write “go on”, and I continue.")
        case "interrupted":
            return say(language, "I ran out of time; my answer stops here. Write “go on”, and I continue.")
        case "stopped":
            return say(language, "stopped") if text.strip() else ""
        case "complete" | "tools" | "refused":
            return ""
        case _:
            assert_never(ending)


def closed(markdown: str) -> str:
    """The same with its code block closed, if one is open at its end."""
    if "```" not in markdown and "~~~" not in markdown:
        return markdown
    fence = ""
    for found in FENCE.finditer(markdown):
        if not fence:
            fence = found["fence"]
        elif found["fence"].startswith(fence) and not found["rest"].strip():
            fence = ""
    return f"{markdown}\n{fence}" if fence else markdown

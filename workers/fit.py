"""A text within a number of tokens. Pure."""

from infra.cut import cut
from memory.tokens import estimate_tokens

SAFETY = 0.95
"""Each step aims a little below the goal, so that a few steps reach it."""
LEAST_CHARS = 200
"""That much of a message is always passed on."""
MOST_CHARS_PER_TOKEN = 6
"""More than ordinary prose has: bounds what is looked at."""


def fit(text: str, budget_tokens: int) -> str:
    """The beginning of the text that fits by our estimate, ending at a word; all of it if it fits."""
    chars = min(len(text), max(LEAST_CHARS, budget_tokens * MOST_CHARS_PER_TOKEN))
    while chars > LEAST_CHARS:
        tokens = estimate_tokens(text[:chars])
        if tokens <= budget_tokens:
            break
        chars = max(LEAST_CHARS, int(chars * budget_tokens / tokens * SAFETY))
    return cut(text, chars)

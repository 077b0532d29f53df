"""Chats: all of them, or one (`?lane=`) with its turns."""

from dashboard.asked import Asked
from dashboard.chats import read_chats, read_turns, search_for
from dashboard.kinds import STATES, state_of
from dashboard.page import Page, Values
from infra.texts import later

MOST_CHARS = 200


async def values(asked: Asked) -> Values:
    """`q`: words of a name; `page`: from 1; `lane`: one chat."""
    common = {
        "state_words": {state: asked.say(words) for state, (_, words) in STATES.items()},
        "state_tones": {state: tone for state, (tone, _) in STATES.items()},
        "state_of": state_of,
        "search_for": search_for,
    }
    if lane := asked.query.get("lane", "")[:MOST_CHARS]:
        turns = await read_turns(asked.shared, lane, asked.now_ms)
        return {**common, "turns": turns, "chats": None}
    page = asked.query.get("page", "1")
    found = await read_chats(
        asked.shared, asked.now_ms, asked.query.get("q", "")[:MOST_CHARS],
        int(page) if page.isdecimal() and len(page) < 7 else 1,
    )  # fmt: skip
    return {**common, "turns": None, "chats": found}


PAGE = Page("chats", "/chats", later("Chats"), values, live=("rows", "chat"))

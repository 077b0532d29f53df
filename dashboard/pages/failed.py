"""Failed: what was given up and waits for a decision, and the lanes that fail now."""

from collections.abc import Awaitable, Callable, Sequence

from dashboard.actions import Act, DropDead, RetryDead, RunLane, field_of, stamp_of
from dashboard.asked import Asked
from dashboard.house_now import bot_ids_of
from dashboard.letters import dead_rows, error_line, letters_matching, read_letters
from dashboard.listed import page_of
from dashboard.names import read_names
from dashboard.page import Page, Values
from dashboard.pages.messages import page_number, understood
from dashboard.pages.now import words_for
from dashboard.queue import queue_now
from dashboard.search import PAGE_SIZE
from infra import keys
from infra.texts import later


async def values(asked: Asked) -> Values:
    """Raises what redis-py raises."""
    shared, said = asked.shared, asked.query.get("q", "")
    query = understood(asked, said)
    await shared.lives.read_on(shared.redis)
    names, letters = await read_names(shared), await read_letters(shared)
    queue = await queue_now(shared.redis, bot_ids_of(shared))
    dead = dead_rows(shared.lives.newest_first())
    found = () if isinstance(query, str) else letters_matching(query, letters, names, dead)
    page = min(page_number(asked.query.get("page", "1")), max(1, -(-len(found) // PAGE_SIZE)))
    return {
        **words_for(asked),
        "said_query": said,
        "fault": query if isinstance(query, str) else "",
        "letters": [
            {
                "one": letter,
                "chat": names.chat(letter.lane) if letter.lane else letter.owner,
                "error": error_line(letter, dead.get(letter.item_id), asked.language),
                "retry": field_of(RetryDead(letter.owner, letter.item_id, stamp_of(letter.raw))),
            }
            for letter in page_of(found, page, PAGE_SIZE)
        ],
        "total": len(found),
        "all": len(letters),
        "page": page,
        "pages": max(1, -(-len(found) // PAGE_SIZE)),
        "failing": [
            {
                "lane": lane,
                "chat": names.chat(lane.lane),
                "run": field_of(RunLane(lane.job_id, lane.turn_id))
                if lane.state in {"retrying", "held"}
                else "",
            }
            for lane in queue.lanes
            if lane.has_failed
        ],
    }


async def count(asked: Asked) -> int:
    """Beside its entry in the rail."""
    return await asked.shared.redis.zcard(keys.dead())


def _all_matching(act: type[RetryDead | DropDead]) -> Callable[[Asked, str], Awaitable[Sequence[Act]]]:
    async def found(asked: Asked, said: str) -> Sequence[Act]:
        query = understood(asked, said)
        if isinstance(query, str):
            return ()
        shared = asked.shared
        await shared.lives.read_on(shared.redis)
        names, letters = await read_names(shared), await read_letters(shared)
        ones = letters_matching(query, letters, names, dead_rows(shared.lives.newest_first()))
        return tuple(act(one.owner, one.item_id, stamp_of(one.raw)) for one in reversed(ones))

    return found


PAGE = Page(
    "failed", "/failed", later("Failed"), values, live=("failing", "found"), count=count, alarming=True
)
MATCHING = {"retry": _all_matching(RetryDead), "drop": _all_matching(DropDead)}

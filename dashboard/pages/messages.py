"""Messages: what waits, runs and was answered, found by a query, a page at a time."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from dashboard.actions import Act, DeleteWaiting, stamp_of
from dashboard.asked import Asked
from dashboard.house_now import bot_ids_of
from dashboard.listed import item_line, line_of
from dashboard.names import read_names
from dashboard.page import Page, Values
from dashboard.pages.act import MOST
from dashboard.pages.now import words_for
from dashboard.query import NotUnderstood, Query, parse
from dashboard.queue import queue_now
from dashboard.search import PAGE_SIZE, Results, search, waiting_items
from infra.clock import offset_ms
from infra.texts import later

HIDDEN = later("Texts are hidden by a setting, so they cannot be searched.")


async def values(asked: Asked) -> Values:
    """Raises what redis-py raises."""
    shared = asked.shared
    said = asked.query.get("q", "")
    query = understood(asked, said)
    await shared.lives.read_on(shared.redis)
    names = await read_names(shared)
    queue = await queue_now(shared.redis, bot_ids_of(shared))
    fault = query if isinstance(query, str) else ""
    if isinstance(query, str):
        found = Results((), (), {}, 0, 1, 1)
    else:
        found = await search(shared, query, names, queue, page_number(asked.query.get("page", "1")))
    ahead_ms = offset_ms()
    return {
        **words_for(asked),
        "said_query": said,
        "fault": fault,
        "lines": [
            *(item_line(item, names) for item in found.items),
            *(line_of(row, names, found.said, ahead_ms) for row in found.rows),
        ],
        "total": found.total,
        "waiting": found.waiting if said else queue.waiting + sum(one.running for one in queue.inbox),
        "is_cut": found.is_cut,
        "from_nth": (found.page - 1) * PAGE_SIZE + 1,
        "to_nth": (found.page - 1) * PAGE_SIZE + len(found.rows),
        "newer": page_href(said, found.page - 1) if found.page > 1 else "",
        "older": page_href(said, found.page + 1) if found.page < found.pages else "",
        "deletable": sum(item.state != "running" for item in found.items) if said and not fault else 0,
        "has_history": len(shared.lives) > 0,
        "bot_names": tuple(dict.fromkeys(names.bots.values())),
    }


def understood(asked: Asked, said: str) -> Query | str:
    """The query, or one sentence about what of it is not understood."""
    query = parse(said, asked.now_ms, asked.shared.zone)
    if isinstance(query, NotUnderstood):
        return asked.say(query.sentence, what=query.what, known=query.known)
    if query.needs_texts and not asked.shared.settings.dashboard.show_texts:
        return asked.say(HIDDEN)
    return query


def page_number(text: str) -> int:
    """From 1; anything else is 1."""
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def page_href(said: str, page: int) -> str:
    params: dict[str, Any] = ({"q": said} if said else {}) | ({"page": page} if page > 1 else {})
    return f"/messages?{urlencode(params)}" if params else "/messages"


async def deletable(asked: Asked, said: str) -> Sequence[Act]:
    """What a query stands for when all that wait are to be deleted."""
    query = understood(asked, said)
    if isinstance(query, str) or not query:
        return ()
    names, queue = await read_names(asked.shared), await queue_now(asked.shared.redis)
    items = await waiting_items(asked.shared, query, names, queue)
    return tuple(
        DeleteWaiting(item.lane.job_id, item.item_id, stamp_of(item.body))
        for item in items
        if item.state != "running"
    )[: MOST + 1]


PAGE = Page("messages", "/messages", later("Messages"), values, live=("found",))
MATCHING = {"delete": deletable}

"""Finds messages by a query: reads what it needs of lanes and texts, filters, cuts into pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.listed import Item, item_of, items_matching, items_of, page_of, rows_matching
from dashboard.lives import Row
from dashboard.names import Names
from dashboard.query import Query, matches_text
from dashboard.queue import QueueNow
from dashboard.shared import Shared
from dashboard.words import Said, asked_in, bodies_of, said_by, said_in

PAGE_SIZE = 25
ITEMS_MOST = 500
"""Waiting messages that a query looks through."""
OWNERS_MOST = 300
"""Whose texts a search reads: those who were answered last."""


@dataclass(frozen=True, slots=True)
class Results:
    """One page of what was found."""

    items: tuple[Item, ...]
    """Waiting and running; only on the first page."""
    rows: Sequence[Row]
    said: Mapping[str, Said]
    total: int
    """Recorded turns that match."""
    page: int
    pages: int
    waiting: int = 0
    """Waiting and running that match; more than PAGE_SIZE are not in `items`."""
    is_cut: bool = False
    """Texts of some owners were not looked through."""


async def search(shared: Shared, query: Query, names: Names, queue: QueueNow, page: int) -> Results:
    """Raises what redis-py raises."""
    rows = list(rows_matching(query, shared.lives.newest_first(), names))
    said: Mapping[str, Said] = {}
    is_cut = False
    if query.needs_texts:
        owners = list(dict.fromkeys(row.owner for row in rows if row.owner))
        is_cut = len(owners) > OWNERS_MOST
        said = await said_by(shared, owners[:OWNERS_MOST])
        rows = [
            row
            for row in rows
            if (one := said.get(row.id)) and matches_text(query, f"{one.question}\n{one.reply}")
        ]
    pages = max(1, -(-len(rows) // PAGE_SIZE))
    page = min(max(1, page), pages)
    shown = page_of(rows, page, PAGE_SIZE)
    if not query.needs_texts:
        said = await said_in(shared, shown)
    most = ITEMS_MOST if query else PAGE_SIZE
    items = await waiting_items(shared, query, names, queue, most) if page == 1 else ()
    return Results(items[:PAGE_SIZE], shown, said, len(rows), page, pages, len(items), is_cut)


async def waiting_items(
    shared: Shared, query: Query, names: Names, queue: QueueNow, most: int = ITEMS_MOST
) -> tuple[Item, ...]:
    """What waits and runs, as far as it matches. most: how many are looked at."""
    found = items_of(queue.inbox, most)
    bodies = await bodies_of(shared, [(lane.job_id, item_id) for lane, item_id, _ in found])
    items = (
        item_of(lane, item_id, state, bodies[lane.job_id, item_id])
        for lane, item_id, state in found
        if (lane.job_id, item_id) in bodies
    )
    return tuple(
        item
        for item in items_matching(query, items, names)
        if matches_text(query, asked_in(item.message) if item.message else None)
    )

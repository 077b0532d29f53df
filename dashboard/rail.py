"""The rail: which pages there are, with their numbers."""

from dataclasses import dataclass

from redis.exceptions import RedisError

from dashboard import pages
from dashboard.asked import Asked
from dashboard.page import CountOf


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the rail."""

    name: str
    path: str
    title: str
    count: int = 0
    alarming: bool = False


async def rail_of(asked: Asked) -> tuple[Entry, ...]:
    """All entries; without numbers while Redis is away."""
    return tuple([
        Entry(page.name, page.path, asked.say(page.title), await _count(page.count, asked), page.alarming)
        for page in pages.pages()
    ])  # fmt: skip


async def _count(count: CountOf | None, asked: Asked) -> int:
    try:
        return await count(asked) if count else 0
    except RedisError:
        return 0

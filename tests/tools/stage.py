"""A person in Berlin on Monday, 30 November 2026, 12:00, and calls as a model makes them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from infra.settings_sections import ToolSettings
from schemas.things import Fact, Thing
from tools.catalog import catalog, read
from tools.tool import Here, Ran, Things

NOW_MS = int(datetime(2026, 11, 30, 11, tzinfo=UTC).timestamp()) * 1000
DAY_MS = 24 * 3_600_000
HERE = Here(owner="u:1:home", lane="777:1:0", language="en", zone=ZoneInfo("Europe/Berlin"), now_ms=NOW_MS)
GERMAN = replace(HERE, language="de")
NOTHING = Things()
ALL = catalog(ToolSettings(facts=True))


type Given = dict[str, Any]
"""Arguments of a call."""


def call(tool: str, things: Things = NOTHING, here: Here = HERE, **arguments: Any) -> Ran:
    """What the call comes to. Raises: Refused."""
    found = ALL.by_name[tool]
    return found.run(read(found, orjson.dumps(arguments).decode()), here, things)


def preview(tool: str, things: Things = NOTHING, here: Here = HERE, **arguments: Any) -> str:
    """What the person would be shown. Raises: Refused."""
    found = ALL.by_name[tool]
    assert found.preview is not None
    return found.preview(read(found, orjson.dumps(arguments).decode()), here, things)


def after(things: Things, ran: Ran) -> Things:
    """The things when `ran` was applied."""
    facts, by_id = dict(things.facts), dict(things.by_id)
    for thing in ran.put:
        if isinstance(thing, Fact):
            facts[thing.id] = thing
        else:
            by_id[thing.id] = thing
    for id_ in ran.drop:
        facts.pop(id_, None)
        by_id.pop(id_, None)
    changed = bool(ran.put or ran.drop)
    return Things(things.version + (max(1, len(ran.put)) if changed else 0), by_id, facts)


def made(tool: str, things: Things = NOTHING, here: Here = HERE, **arguments: Any) -> Things:
    """The things when a call was made."""
    return after(things, call(tool, things, here, **arguments))


def holding(things: Sequence[Thing]) -> Things:
    """Exactly these."""
    return Things(len(things), {thing.id: thing for thing in things})


def told(ran: Ran) -> Any:
    """What the model is told, as JSON."""
    return orjson.loads(ran.text)

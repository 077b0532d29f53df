"""Markdown as people can read it in Telegram: a text and its entities. Pure.

Entities count code points (bot.page) and are Telegram's, except "table", a "pre" that is better cut than sent as a file. They
may still stand in each other in ways that Telegram does not take (bot.entities).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from bot.source import parsed
from bot.split import Entity
from bot.spoilers import with_spoilers
from bot.walk import STYLES, Walk

type Handlers = Mapping[str, Callable[[Walk, Any], None]]

BEGINS: Handlers = {
    "BlockQuote": Walk.quote,
    "CodeBlock": Walk.code_block,
    "Heading": Walk.heading,
    "Image": Walk.image,
    "Item": Walk.item,
    "Link": Walk.link,
    "List": Walk.list_begin,
    "Paragraph": Walk.paragraph,
    "Table": Walk.table,
    "TableCell": Walk.cell,
    "TableHead": Walk.row,
    "TableRow": Walk.row,
    **dict.fromkeys(STYLES, Walk.style),
}
ENDS: Handlers = {
    "BlockQuote": Walk.quote_end,
    "CodeBlock": Walk.code_block_end,
    "Heading": Walk.heading_end,
    "Image": Walk.link_end,
    "Item": Walk.item_end,
    "Link": Walk.link_end,
    "List": Walk.list_end,
    "Table": Walk.table_end,
    "TableCell": Walk.cell_end,
    **dict.fromkeys(STYLES, Walk.style_end),
}
INLINE: Handlers = {
    "Code": Walk.code,
    "DisplayMath": Walk.formula_block,
    "HardBreak": Walk.line_end,
    "Html": Walk.tag,
    "InlineHtml": Walk.tag,
    "InlineMath": Walk.formula,
    "Rule": Walk.rule,
    "SoftBreak": Walk.line_end,
    "TaskListMarker": Walk.task,
    "Text": Walk.text,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What people see of a Markdown text."""

    text: str
    entities: list[Entity]
    drawn: tuple[str, ...]
    """What of the source is shown in another form: the LaTeX of formulas, addresses that are their own text."""


def show(text: str) -> Shown | None:
    """None if it is a pattern rather than a text."""
    found = parsed(text)
    if found is None:
        return None
    source, events = found
    walk = Walk(source)
    for event, place in events:
        walk.at(place["start"])
        _take(walk, event)
    shown, entities = with_spoilers(walk.lines.body.text, walk.lines.body.entities, walk.spoilers)
    return Shown(shown, entities, tuple(walk.drawn))


def _take(walk: Walk, event: Any) -> None:
    """One event: a name, or {name: value}; of a Start and an End the value is such a thing again."""
    name, value = named(event)
    if name in {"Start", "End"}:
        tag, more = named(value)
        handle = (BEGINS if name == "Start" else ENDS).get(tag)
        value = tag if tag in STYLES else more
    else:
        handle = INLINE.get(name)
    if handle is not None:
        handle(walk, value)


def named(event: Any) -> tuple[str, Any]:
    """The name of an event or tag, and what it holds."""
    if isinstance(event, Mapping):
        return next(iter(cast("Mapping[str, Any]", event).items()))
    return event, None

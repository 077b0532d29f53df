"""The record of a turn as a page for the terminal. Pure."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.texts import say
from infra.clean import clean
from infra.forget import handle_of
from infra.settings import MoneySettings
from infra.texts import later
from schemas.call import CallRecord
from schemas.memory import Exchange
from schemas.turn import TurnRecord
from workers.model import why_words
from workers.times import moment
from workers.usage import cost_text

BAR = 40
"""Characters of the widest bar."""
ID_CHARS = 8

PARTS = {
    "offer": later("tools on offer"),
    "system": later("instructions"),
    "person": later("what is known of the person"),
    "summary": later("summary of what was dropped"),
    "exchange": later("earlier in this conversation"),
    "tools": later("tool calls and results"),
    "block": later("memory of earlier conversations"),
    "message": later("the message"),
    "note": later("note on the message"),
    "files": later("pictures and documents"),
    "round": later("step with tools"),
}
LEFT = {
    "entry": later("remembered entry"),
    "exchange": later("earlier exchange"),
    "tools": later("tool calls and results"),
    "text": later("end of the message"),
    "offer": later("tool that might be called"),
}
RAN = {
    "done": later("done"),
    "refused": later("refused: the call was wrong"),
    "failed": later("failed"),
    "unknown": later("not known whether it was done"),
    "stopped": later("stopped: the same call again"),
    "waits": later("waits for a yes"),
}
WHY_LEFT = {
    "no_room": later("no room in the budget"),
    "summarised": later("only the summary is quoted"),
    "older": later("older than the newest ones"),
    "folded": later("goes into the summary"),
    "too_long": later("too long"),
}


def explained(
    record: TurnRecord, earlier: Iterable[Exchange], language: str, zone: tzinfo, money: MoneySettings
) -> RenderableType:
    """Model and reason, parts with their tokens, what was left out, every call, the cost; then the texts.

    earlier: what the conversation still holds; the record has only ids of it.
    """
    heading = say(
        language, "Answer {id}, {when}", id=handle_of(record.id), when=moment(record.at_ms, zone, language)
    )
    return Group(
        Text(heading, "bold"),
        _facts(record, language, money),
        *_section(say(language, "What the model was given"), _parts(record, language)),
        *_section(say(language, "Left out"), _left_out(record, language), shown=bool(record.left_out)),
        *_section(say(language, "Tools"), _tools(record, language), shown=bool(record.tools)),
        *_section(say(language, "Calls"), _calls(record.calls, language, money), shown=bool(record.calls)),
        *_texts(record, {one.id: one for one in earlier}, language),
    )


def _facts(record: TurnRecord, language: str, money: MoneySettings) -> Table:
    table = Table.grid(padding=(0, 2))
    model = record.model
    if record.asked != record.model:
        model = say(
            language, "{model}, because {asked} did not answer", model=record.model, asked=record.asked
        )
    rows = (
        (say(language, "Model"), model),
        (say(language, "Chosen because"), why_words(record.why, language) or record.why),
        (
            say(language, "Tokens"),
            say(
                language,
                "{sent} of {budget} by estimate (× {factor})",
                sent=record.estimated_tokens, budget=record.budget_tokens, factor=f"{record.correction:.2f}",
            ),
        ),
        (say(language, "Time"), f"{record.took_ms / 1000:.1f} s"),
        (say(language, "Cost"), cost_text(record.cost_microusd, money, language)),
    )  # fmt: skip
    for name, value in rows:
        table.add_row(Text(name, "dim"), clean(value))
    return table


def _parts(record: TurnRecord, language: str) -> Table:
    table = Table.grid(padding=(0, 2))
    widest = max((part.tokens for part in record.parts), default=1) or 1
    for part in record.parts:
        table.add_row(
            Text(str(round(part.tokens * record.correction)), justify="right"),
            "█" * max(1, round(BAR * part.tokens / widest)),
            say(language, PARTS[part.kind]),
            Text(part.id[:ID_CHARS], "dim"),
        )
    return table


def _left_out(record: TurnRecord, language: str) -> Table:
    table = Table.grid(padding=(0, 2))
    for left in record.left_out:
        table.add_row(
            Text(str(round(left.tokens * record.correction)), justify="right"), say(language, LEFT[left.kind]), Text(left.id[:ID_CHARS], "dim"),
            say(language, WHY_LEFT[left.why]),
        )  # fmt: skip
    return table


def _tools(record: TurnRecord, language: str) -> Table:
    table = Table.grid(padding=(0, 2))
    for tool in record.tools:
        table.add_row(
            Text(str(tool.round), justify="right"), clean(tool.name), say(language, RAN[tool.outcome])
        )
    return table


def _calls(calls: Iterable[CallRecord], language: str, money: MoneySettings) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in (
        say(language, "model"), say(language, "ended"), say(language, "seconds"), say(language, "read"),
        say(language, "from cache"), say(language, "to cache"), say(language, "written"), say(language, "cost"),
    ):  # fmt: skip
        table.add_column(name)
    for call in calls:
        counts = (call.input_tokens, call.cache_read_tokens, call.cache_write_tokens, call.output_tokens)
        table.add_row(
            call.model, " ".join(filter(None, (call.outcome, clean(call.detail)))), f"{call.took_ms / 1000:.1f}",
            *("?" if count is None else str(count) for count in counts), cost_text(call.cost_microusd, money, language),
        )  # fmt: skip
    return table


def _texts(record: TurnRecord, earlier: Mapping[str, Exchange], language: str) -> Iterable[RenderableType]:
    for part in record.parts:
        text = part.text
        if exchange := earlier.get(part.id):
            text = f"{exchange.block}{exchange.user}{exchange.note}\n\n→ {exchange.reply}"
        if text:
            yield from _section(say(language, PARTS[part.kind]), Text(clean(text)))


def _section(name: str, body: RenderableType, *, shown: bool = True) -> tuple[RenderableType, ...]:
    return (Text(""), Text(name, "bold"), Padding(body, (0, 0, 0, 2))) if shown else ()

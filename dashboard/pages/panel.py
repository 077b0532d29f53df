"""The side panel: one turn, one waiting message, one dead letter. Each has an address of its own, so that it can be linked."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dashboard.actions import DropDead, RetryDead, field_of, stamp_of
from dashboard.asked import Asked, asked_by
from dashboard.kinds import LEFT, PARTS, STEPS, WHY, WHY_LEFT, outcome_words, state_of, words_in
from dashboard.letters import attempts_line, dead_rows, error_line, read_letter
from dashboard.listed import PANEL, acts_of, item_of, item_state
from dashboard.lives import Row
from dashboard.names import Names, read_names
from dashboard.outage import patient
from dashboard.pages.now import words_for
from dashboard.queue import queue_now
from dashboard.render import page
from dashboard.waterfall import waterfall
from dashboard.words import asked_in, bodies_of, record_of, said_in
from dashboard.xray import xray
from infra.clock import offset_ms
from infra.forget import handle_of
from schemas.turn import TurnRecord

SHADES: Mapping[str, str] = {
    "instructions": "color-mix(in srgb, var(--ink) 75%, var(--sheet))",
    "tools": "color-mix(in srgb, var(--ink) 50%, var(--sheet))",
    "person": "color-mix(in srgb, var(--memory) 45%, var(--sheet))",
    "memory": "var(--memory)",
    "summary": "color-mix(in srgb, var(--memory) 70%, var(--sheet))",
    "earlier": "color-mix(in srgb, var(--running) 50%, var(--sheet))",
    "steps": "color-mix(in srgb, var(--running) 75%, var(--sheet))",
    "files": "color-mix(in srgb, var(--scheduled) 60%, var(--sheet))",
    "message": "var(--running)",
}
"""Of the context's parts: violet is memory, blue the conversation, grey what is the same for all."""


async def turn(request: Request) -> Response:
    """GET /panel/turn?id=. Raises: HTTPException: 404. Away."""
    asked = asked_by(request)
    shared, turn_id = asked.shared, request.query_params.get("id", "")
    async with patient():
        await shared.lives.read_on(shared.redis)
        row = shared.lives.turn(turn_id)
        if row is None:
            raise HTTPException(404)
        names = await read_names(shared)
        record, said = await record_of(shared, row.owner, row.id), await said_in(shared, [row])
    values, one = turn_values(row, names, record, asked), said.get(row.id)
    values |= {"question": one.question if one else _message_in(record), "reply": one.reply if one else None}
    return await page(request, "panel_turn.html", **values, **frame_values(request, asked))


def turn_values(row: Row, names: Names, record: TurnRecord | None, asked: Asked) -> dict[str, Any]:
    """Everything but what was said."""
    life, language = row.life(), asked.language
    falls = waterfall(life, row.sents, ahead_ms=offset_ms())
    return {
        "row": row,
        "life": life,
        "state": state_of(row),
        "handle": handle_of(row.id),
        "chat": names.chat(row.lane),
        "person": names.person(row.user_id),
        "falls": falls,
        "fall_lines": falls.lines(),
        "xray": xray(record) if record else None,
        "record": record,
        "error": attempts_line(life.attempts, language) if life.attempts else life.reason,
        "why": words_in(WHY, life.why, language) if life.why else "",
        "shades": SHADES,
    }


async def waiting(request: Request) -> Response:
    """GET /panel/waiting?job=&id=. Raises: HTTPException: 404. Away."""
    asked = asked_by(request)
    shared, job_id = asked.shared, request.query_params.get("job", "")
    item_id = request.query_params.get("id", "")
    async with patient():
        names, queue = await read_names(shared), await queue_now(shared.redis)
        lane = next((one for one in queue.lanes if one.job_id == job_id), None)
        bodies = await bodies_of(shared, [(job_id, item_id)])
    if lane is None or (job_id, item_id) not in bodies:
        raise HTTPException(404)
    nth = lane.item_ids.index(item_id) if item_id in lane.item_ids else lane.items
    item = item_of(lane, item_id, item_state(lane, nth), bodies[job_id, item_id])
    values = {
        "item": item,
        "lane": lane,
        "nth": nth,
        "chat": names.chat(lane.lane),
        "person": names.person(item.message.user_id) if item.message else "",
        "text": asked_in(item.message) if item.message else None,
        "acts": acts_of(item),
        "due_in_ms": lane.due_ms - queue.at_ms,
    }
    return await page(request, "panel_waiting.html", **values, **frame_values(request, asked))


async def dead(request: Request) -> Response:
    """GET /panel/dead?owner=&id=. Raises: HTTPException: 404. Away."""
    asked = asked_by(request)
    shared, params = asked.shared, request.query_params
    async with patient():
        await shared.lives.read_on(shared.redis)
        letter = await read_letter(shared, params.get("owner", ""), params.get("id", ""))
        names = await read_names(shared)
    if letter is None:
        raise HTTPException(404)
    row, stamp = dead_rows(shared.lives.newest_first()).get(letter.item_id), stamp_of(letter.raw)
    values = {
        "letter": letter,
        "chat": names.chat(letter.lane) if letter.lane else letter.owner,
        "person": names.person(letter.user_id),
        "error": error_line(letter, row, asked.language),
        "row": row,
        "life": row.life() if row else None,
        "acts": {
            "retry": field_of(RetryDead(letter.owner, letter.item_id, stamp)),
            "drop": field_of(DropDead(letter.owner, letter.item_id, stamp)),
        },
    }
    return await page(request, "panel_dead.html", **values, **frame_values(request, asked))


def frame_values(request: Request, asked: Asked) -> dict[str, Any]:
    """What all panels call."""

    def words(table: Mapping[str, str]) -> Callable[[str], str]:
        def said(name: str) -> str:
            return words_in(table, name, asked.language)

        return said

    def outcome(name: str) -> str:
        return outcome_words(name, asked.language)

    return {
        **words_for(asked),
        "is_side": request.headers.get("hx-request") == "true",
        "outcome_words": outcome,
        "step_words": words(STEPS),
        "part_words": words(PARTS),
        "left_words": words(LEFT),
        "why_left_words": words(WHY_LEFT),
    }


def _message_in(record: TurnRecord | None) -> str | None:
    return next((part.text for part in record.parts if part.kind == "message"), None) if record else None


ROUTES = (
    Route(f"{PANEL}/turn", turn, methods=["GET"]),
    Route(f"{PANEL}/waiting", waiting, methods=["GET"]),
    Route(f"{PANEL}/dead", dead, methods=["GET"]),
)

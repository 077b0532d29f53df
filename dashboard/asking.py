"""What acts of single pages have in common: they are asked about first, written into the audit log, and answered in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from redis.exceptions import RedisError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dashboard import audit
from dashboard.asked import Asked, asked_by
from dashboard.forms import Form, form_of
from dashboard.outage import Away, patient
from dashboard.render import page, partial, render, told
from infra.texts import later
from schemas.life import Action

log = structlog.get_logger()

CHANGED = later("It has changed meanwhile: look again, then decide. Nothing was done.")


async def admin_form(request: Request) -> tuple[Asked, Form]:
    """Who asks, and what they sent.

    Raises: HTTPException: 403 not as reader; what form_of raises.
    """
    asked = asked_by(request)
    if asked.role != "admin":  # the guard has said so before; this door does not rely on it
        raise HTTPException(403)
    return asked, await form_of(request)


async def ask(request: Request, asked: Asked, question: str, yes: str, fields: Mapping[str, str]) -> Response:
    """A small form that sends the same fields to the same place, with `sure=1`. fields: `back` is where "no" leads."""
    values: dict[str, Any] = {
        "action": request.url.path,
        "fields": {**fields, "sure": "1"},
        "question": question,
        "yes": yes,
        "no": asked.say(later("No, leave it")),
        "back": fields.get("back", ""),
    }
    if request.headers.get("hx-request") == "true":
        html = render("confirm.html", values)
        return HTMLResponse(partial("notice", html, "innerHTML"), headers={"HX-Reswap": "none"})
    return await page(request, "confirm_page.html", **values)


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of an act."""

    action: str
    target: str
    """Ids only, no text of anybody."""
    is_done: bool
    """False: it was not as the page had shown it, and nothing changed."""
    sentence: str
    """What is said if it is done."""
    back: str = ""
    count: int = 1


async def answer(request: Request, asked: Asked, acted: Acted) -> Response:
    """Write it down, and say what came of it: 409 if nothing did."""
    record = Action(
        at_ms=asked.now_ms,
        who=who_of(request, asked),
        action=acted.action,
        target=acted.target,
        count=acted.count,
        outcome="done" if acted.is_done else "changed",
    )
    try:
        async with patient():
            await audit.note(asked.shared.redis, [record])
    except (Away, RedisError) as error:
        log.warning("audit_not_written", record=record.model_dump(), error=type(error).__name__)
    if acted.is_done:
        return await told(request, acted.sentence, back=acted.back)
    return await told(request, asked.say(CHANGED), status=409, tone="failed")


def who_of(request: Request, asked: Asked) -> str:
    """ "admin 192.0.2.7"."""
    return f"{asked.role} {request.client.host if request.client else '?'}"

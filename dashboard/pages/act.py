"""POST /do/NAME: acts on one thing, on a selection, or on all that match a filter.

Fields: `target`, any number, or `targets`, one a line: what dashboard.actions.field_of gives. Or `query`: all that match, as
the MATCHING of a page module says it (it is asked about, with their number, and exactly those are done). `sure=1`: it was
asked. `back`: where a browser without htmx goes on.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any, Literal, cast

import structlog
from redis.exceptions import RedisError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dashboard import act_words, audit, pages
from dashboard.actions import DESTRUCTIVE, KINDS, Act, BadField, act_of, field_of
from dashboard.asked import Asked, asked_by
from dashboard.forms import Form, form_of
from dashboard.outage import Away, patient
from dashboard.perform import Performer, Report
from dashboard.render import page, partial, render, told
from infra.texts import later
from schemas.life import Action

MOST = 5_000
"""Acts of one click."""
AT_ONCE = 100
"""Of them together, and then in one record of the audit log."""

type Matching = Callable[[Asked, str], Awaitable[Sequence[Act]]]
"""What a filter stands for, the oldest first; at most MOST + 1. Raises redis-py's errors."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a form asks for."""

    name: str
    acts: tuple[Act, ...]
    """Each once."""
    is_sure: bool = False
    by_filter: bool = False
    back: str = ""

    @property
    def must_ask(self) -> bool:
        """Cannot be taken back, or nobody has seen each of them."""
        return self.by_filter or (self.name in DESTRUCTIVE and not self.is_sure)

    def fault(self, asked: Asked) -> str:
        """Why nothing of it is begun; "" if it can be."""
        if len(self.acts) > MOST:
            return asked.say(
                later("That would be more than {most} at once. Narrow the filter; nothing was changed."),
                most=MOST,
            )
        return "" if self.acts else asked.say(later("Nothing is chosen."))


async def do(request: Request) -> Response:
    """The one door of all acts.

    Raises: HTTPException: 403 not as reader, 404 no such act, 400 no form of ours. Away: Redis is, and a filter cannot be
    looked at.
    """
    asked, name = asked_by(request), request.path_params["name"]
    if asked.role != "admin":  # the guard has said so before; this door does not rely on it
        raise HTTPException(403)
    if name not in KINDS:
        raise HTTPException(404)
    wanted = await wanted_of(asked, name, await form_of(request))
    if sentence := wanted.fault(asked):
        return await told(request, sentence, status=400, tone="failed")
    if wanted.must_ask:
        return await _ask(request, asked, wanted)
    report = await perform(asked, wanted.acts, who=who_of(request, asked))
    return await _answer(request, asked, wanted, report)


async def wanted_of(asked: Asked, name: str, form: Form) -> Wanted:
    """Raises: HTTPException, Away: as `do` says."""
    fields = (*form.all("target"), *form.one("targets").splitlines())
    try:
        acts = tuple(act_of(name, field) for field in fields)
    except BadField as error:
        raise HTTPException(400) from error
    query = form.values.get("query")
    if query is not None:
        found = cast("Mapping[str, Matching]", pages.matching()).get(name)
        if found is None or fields:
            raise HTTPException(400)
        async with patient():
            acts = tuple(await found(asked, query[0]))
    return Wanted(
        name, tuple(dict.fromkeys(acts)), form.one("sure") == "1", query is not None, form.one("back")
    )


async def perform(asked: Asked, acts: Sequence[Act], *, who: str) -> Report:
    """Carry them out in bunches, each followed by its record. After one in which Redis did not answer, the rest is left."""
    shared, report = asked.shared, Report()
    performer = Performer(shared.redis, asked.now_ms, shared.settings.language)
    for bunch in batched(acts, AT_ONCE):
        done = await performer.all_of(bunch)
        report += done
        await _note(asked, records_of(done, who, asked.now_ms))
        if done.reasons["unknown"]:
            break
    return report


def records_of(report: Report, who: str, now_ms: int) -> tuple[Action, ...]:
    """At most two records: what was done, and what was not because it had changed."""
    changed = tuple(act for act, _ in report.not_done)
    records = (_record(report.done, "done", who, now_ms), _record(changed, "changed", who, now_ms))
    return tuple(record for record in records if record.count)


def _record(acts: Sequence[Act], outcome: Literal["done", "changed"], who: str, now_ms: int) -> Action:
    return Action(
        at_ms=now_ms,
        who=who,
        action=acts[0].name if acts else "",
        target=" ".join(act.target for act in acts),
        count=len(acts),
        outcome=outcome,
    )


def who_of(request: Request, asked: Asked) -> str:
    """ "admin 192.0.2.7"."""
    return f"{asked.role} {request.client.host if request.client else '?'}"


async def _note(asked: Asked, records: Sequence[Action]) -> None:
    try:
        async with patient():
            await audit.note(asked.shared.redis, records)
    except (Away, RedisError) as error:
        for record in records:
            log.warning("audit_not_written", record=record.model_dump(), error=type(error).__name__)


async def _ask(request: Request, asked: Asked, wanted: Wanted) -> Response:
    """A small form with the same targets."""
    values: dict[str, Any] = {
        "name": wanted.name,
        "question": act_words.question(wanted.name, len(wanted.acts), asked.language),
        "yes": act_words.yes(wanted.name, asked.language),
        "no": asked.say(later("No, leave it")),
        "targets": "\n".join(map(field_of, wanted.acts)),
        "back": wanted.back,
        "language": asked.language,
    }
    if request.headers.get("hx-request") == "true":
        html = render("act_confirm.html", values)
        return HTMLResponse(partial("notice", html, "innerHTML"), headers={"HX-Reswap": "none"})
    return await page(request, "act.html", **values)


async def _answer(request: Request, asked: Asked, wanted: Wanted, report: Report) -> Response:
    sentence = act_words.result(wanted.name, report, asked.language)
    if report.done:
        tone = "fallback" if report.not_done else "answered"
        return await told(request, sentence, tone=tone, back=wanted.back)
    status = 503 if report.reasons["unknown"] else 409
    return await told(request, sentence, status=status, tone="failed")


ROUTES = (Route("/do/{name}", do, methods=["POST"]),)

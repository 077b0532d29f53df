"""Schedules: reminders of people, and koi's own jobs. POST /schedules/delete deletes a reminder: `target` as the page wrote
it, `sure=1` once it was asked, `back`.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dashboard.asked import Asked
from dashboard.asking import Acted, admin_form, answer, ask
from dashboard.outage import patient
from dashboard.page import Page, Values
from dashboard.schedules import delete_reminder, owner_and_id, read_schedules
from infra.deliver import CannotDeliver
from infra.texts import later

JOB_WORDS = {
    "reminders": later("sends reminders that are due"),
    "beat": later("says that the worker lives"),
    "dead": later("tells the owner of messages that were given up"),
    "mail": later("sends alerts by mail"),
    "expire": later("removes texts that are too old"),
    "sweep": later("looks for lanes that nobody would work on"),
}


async def values(asked: Asked) -> Values:
    """Raises what redis-py raises."""
    return {
        "schedules": await read_schedules(asked.shared, asked.language),
        "job_words": {name: asked.say(words) for name, words in JOB_WORDS.items()},
    }


async def delete(request: Request) -> Response:
    """Asks first.

    Raises: HTTPException: 403 not as reader, 400 no form of ours. Away: Redis is.
    """
    asked, form = await admin_form(request)
    target, back = form.one("target"), form.one("back")
    seen, _, what = target.partition(" ")
    owner, id_ = owner_and_id(what)
    if not owner or not id_:
        raise HTTPException(400)
    if form.one("sure") != "1":
        question = asked.say(later("Delete this reminder? It will not be sent, and is gone for good."))
        return await ask(
            request, asked, question, asked.say(later("Delete")), {"target": target, "back": back}
        )
    async with patient():
        try:
            is_done = await delete_reminder(asked.shared.redis, owner, id_, seen)
        except CannotDeliver as error:
            raise HTTPException(409) from error
    sentence = asked.say(later("The reminder is deleted."))
    return await answer(request, asked, Acted("delete_reminder", what, is_done, sentence, back))


PAGE = Page("schedules", "/schedules", later("Schedules"), values, live=("reminders", "jobs"))
ROUTES = (Route("/schedules/delete", delete, methods=["POST"]),)

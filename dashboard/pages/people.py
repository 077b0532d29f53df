"""People: who may use koi, who is kept out, who asks. POST /people/VERB (dashboard.admit.Verb): `target` as the page wrote
it, `sure=1` once it was asked, `back`.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dashboard.admit import VERBS, Verb, decide
from dashboard.asked import Asked
from dashboard.asking import Acted, admin_form, answer, ask
from dashboard.outage import patient
from dashboard.page import Page, Values
from dashboard.people import read_everybody, waiting_count
from infra import people
from infra.deliver import CannotDeliver
from infra.texts import later

ROLE_WORDS = {
    "owner": later("owner"),
    "member": later("member"),
    "guest": later("guest"),
    "local": later("at this machine"),
    "blocked": later("blocked"),
}
ROLE_TONES = {
    "owner": "answered",
    "member": "answered",
    "guest": "scheduled",
    "local": "answered",
    "blocked": "failed",
}
DONE: dict[Verb, str] = {
    "approve": later("Let in, and told so."),
    "guest": later("Let in as a guest, and told so."),
    "block": later("Blocked. koi does not answer there any more."),
    "unblock": later("Blocked no more: they may ask to be let in."),
    "restore": later("May talk to koi again."),
}


async def values(asked: Asked) -> Values:
    """`page`: from 1."""
    number = asked.query.get("page", "1")
    page = int(number) if number.isdecimal() and len(number) < 7 else 1
    return {
        "everybody": await read_everybody(asked.shared, asked.now_ms, page),
        "role_words": {role: asked.say(words) for role, words in ROLE_WORDS.items()},
        "role_tones": ROLE_TONES,
    }


async def waiting(asked: Asked) -> int:
    """Beside the entry of the rail."""
    return await waiting_count(asked.shared, asked.now_ms)


async def change(request: Request) -> Response:
    """A block is asked about first.

    Raises: HTTPException: 403 not as reader, 404 no such verb, 400 no form of ours, 409 Redis refuses it. Away: Redis is.
    """
    asked, form = await admin_form(request)
    verb = VERBS.get(request.path_params["verb"])
    if verb is None:
        raise HTTPException(404)
    target, back = form.one("target"), form.one("back")
    seen, _, who = target.partition(" ")
    if not who or not who.isprintable():
        raise HTTPException(400)
    if verb == "block" and form.one("sure") != "1":
        question = asked.say(
            later("Block them? koi answers no message of theirs any more; what is remembered of them stays.")
        )
        return await ask(
            request, asked, question, asked.say(later("Block")), {"target": target, "back": back}
        )
    shared = asked.shared
    async with patient():
        owner_id = await people.owner_id(shared.redis, shared.settings)
        try:
            is_done = await decide(shared.redis, verb, who, seen, owner_id=owner_id, now_ms=asked.now_ms)
        except CannotDeliver as error:
            raise HTTPException(409) from error
    return await answer(request, asked, Acted(verb, who, is_done, asked.say(DONE[verb]), back))


PAGE = Page("people", "/people", later("People"), values, live=("waiting", "people", "groups"), count=waiting)
ROUTES = (Route("/people/{verb}", change, methods=["POST"]),)

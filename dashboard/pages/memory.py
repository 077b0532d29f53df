"""Memory: who is remembered, and of one owner (`?owner=`) what, how long still, and where it was used; forget all of it.

One entry is forgotten by POST /do/forget (dashboard.pages.act), all of an owner's texts by POST /memory/forget: `owner`, `seen`
(the epoch that the page showed), `sure=1` once it was asked, `back`.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dashboard.asked import Asked
from dashboard.asking import Acted, admin_form, answer, ask
from dashboard.memories import read_memory, read_owners
from dashboard.outage import patient
from dashboard.page import Page, Values
from infra import keys
from infra.forget import forget
from infra.texts import later
from infra.together import checked, together

MOST_CHARS = 200
QUESTION = later(
    "Forget all of this memory? Entries, facts, running conversations, waiting messages and unsent replies are gone at once "
    "and for good."
)


async def values(asked: Asked) -> Values:
    """`q`: words of a name; `page`: from 1; `owner`: one of them."""
    if owner := asked.query.get("owner", "")[:MOST_CHARS]:
        return {"memory": await read_memory(asked.shared, owner, asked.now_ms), "owners": None}
    number = asked.query.get("page", "1")
    found = await read_owners(
        asked.shared,
        asked.query.get("q", "")[:MOST_CHARS],
        int(number) if number.isdecimal() and len(number) < 7 else 1,
    )
    return {"memory": None, "owners": found}


async def forget_all(request: Request) -> Response:
    """Asks first; then everything of an owner goes in one step, unless somebody forgot meanwhile.

    Raises: HTTPException: 403 not as reader, 400 no form of ours. Away: Redis is.
    """
    asked, form = await admin_form(request)
    owner, seen, back = form.one("owner"), form.one("seen"), form.one("back")
    if not owner or not seen.isdecimal():
        raise HTTPException(400)
    if form.one("sure") != "1":
        fields = {"owner": owner, "seen": seen, "back": back}
        return await ask(request, asked, asked.say(QUESTION), asked.say(later("Forget all")), fields)
    async with patient():
        (epoch,) = checked(await together(asked.shared.redis).run(("GET", keys.epoch(owner))))
        is_same = (epoch or b"0").decode() == seen
        removed = await forget(asked.shared.redis, owner, "all") if is_same else 0
    sentence = asked.say(later("Everything of this memory is forgotten."))
    return await answer(request, asked, Acted("forget_all", owner, is_same, sentence, back, removed or 0))


PAGE = Page("memory", "/memory", later("Memory"), values, live=("owners", "memory"))
ROUTES = (Route("/memory/forget", forget_all, methods=["POST"]),)

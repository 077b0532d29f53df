"""A family talks to a real koi until there is something of everything: answers, fallbacks with a reason, a dead letter, tools, a
reminder, a group's topic, a stranger who knocks, memory, a model without a price, a turn that runs and one that fails.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from bench.house import OWNER, House, house
from bench.stack import Stack
from infra import keys
from infra.people import save_person
from schemas.person import Person
from tests.fakes.model_rules import blocks_of, text_of
from tests.fakes.model_script import OVERLOADED, Answer, Status, Use, rate_limited
from tests.system.koi import Talk, buttons_of, kill, until

BOTS = {"home": "7001", "lab": "7002"}
ANNA, DAD, MUM, BEN = 1001, 1002, 1003, 1009
"""Ben was not let in."""
NAMES = {ANNA: "Anna", DAD: "Dad", MUM: "Mum <b>x</b>"}
GROUP = -100500
TOPIC: dict[str, Any] = {"chat": {"id": GROUP, "type": "supergroup", "title": "Family", "is_forum": True}, "message_thread_id": 7, "is_topic_message": True}  # fmt: skip
CONFIG = (
    '[[bots]]\nname = "home"\ntoken_env = "HOME_TOKEN"\nmodels = ["first", "second"]\n\n'
    '[[bots]]\nname = "lab"\ntoken_env = "LAB_TOKEN"\nmodels = ["free"]\n\n'
    '[prices."first"]\ninput = 3\noutput = 15\n\n[prices."second"]\ninput = 1\noutput = 5\n'
)
EVIL = '<img src="http://example.com/x.png"><script>alert(1)</script> & "quotes"'
SLOW, STUBBORN, IMPOSSIBLE = "Write a very long story", "Ask the grumpy model", "This cannot be answered"
LONG = " It left the depot this morning and is on its way." * 9
NO_ANSWER_S = 600.0
REFUSALS = {
    "boiler": rate_limited(90), "bins": OVERLOADED, STUBBORN: Status(500, "api_error", "as scripted"),
    IMPOSSIBLE: Status(400, "invalid_request_error", "as scripted"),
}  # fmt: skip
ALWAYS = (400, 500)
"""The second model says that too."""
REMINDER = Use("create_reminder", {"text": "Bleed the radiators", "at": "2099-10-23T12:30"})


def behaves(body: dict[str, Any]) -> Answer | Status:
    """All models, by what the person wrote last."""
    last = body["messages"][-1]
    if any(block["type"] == "tool_result" for block in blocks_of(last["content"])):
        return Answer("I will remind you.")
    said = text_of(last).rpartition("</conversation_history>")[2].strip()
    if (refusal := next((one for words, one in REFUSALS.items() if words in said), None)) and (
        body["model"] != "second" or refusal.status in ALWAYS
    ):
        return refusal
    if "remind" in said:
        return Answer(uses=(REMINDER,))
    more = LONG if "parcel" in said else ""
    return Answer(
        f"About {said.split(maxsplit=1)[0]}: yes.{more}", delay_s=NO_ANSWER_S if SLOW in said else 0.0
    )


@asynccontextmanager
async def family_home(stack: Stack) -> AsyncGenerator[House]:
    """After their day; one turn still runs, with two messages behind it, and another backs off."""
    stack.config.write_text(CONFIG)
    async with house(stack, BOTS, "", KOI_TURN__ATTEMPTS="9", KOI_TURN__DEADLINE="590s") as home:
        home.model.always(behaves)
        for user_id, name in NAMES.items():
            await save_person(home.redis, Person(user_id=str(user_id), name=name))
        await _day(home, Talk(home.telegram, home.model))
        try:
            yield home
        finally:
            kill(home.worker, home.bot)  # a turn runs, and nobody waits for its end


async def _day(home: House, talk: Talk) -> None:
    await talk.say(BOTS["home"], ANNA, "Where is the parcel?", name="Anna")
    await talk.say(BOTS["home"], ANNA, "Is the boiler on?", name="Anna")
    await talk.say(BOTS["home"], DAD, "When do the bins go out?", name="Dad")
    await talk.say(BOTS["home"], DAD, EVIL, name="Dad")
    await talk.say(BOTS["home"], ANNA, "remind me of the radiators", name="Anna")
    await talk.say(BOTS["lab"], MUM, "What does that cost?", name="Mum <b>x</b>")
    await talk.say(BOTS["home"], MUM, "/help", name="Mum")
    for text in (IMPOSSIBLE, f"{IMPOSSIBLE} either"):
        await talk.say(BOTS["home"], MUM, text, name="Mum")
    await _group(talk)
    await talk.say(BOTS["home"], BEN, "May I come in?", name="Ben")
    for text in (SLOW, "and a second one", "and a third one"):
        talk.telegram.say(BOTS["home"], DAD, text, name="Dad")
        await until(lambda wanted=text: _is_taken(home, wanted), what=f"that {text} is taken")
    talk.telegram.say(BOTS["lab"], ANNA, STUBBORN, name="Anna")
    state = keys.state(keys.inbox_job(f"{BOTS['lab']}:{ANNA}:0"))
    await until(lambda: _has_failed(home, state), what="a failed attempt")


async def _group(talk: Talk) -> None:
    """Let in by the owner; then asked in a topic."""
    before = len(talk.telegram.sent(OWNER))
    talk.telegram.say(BOTS["home"], ANNA, "/new Who cooks?", name="Anna", **TOPIC)
    await until(lambda: _button(talk, before), what="a question about the group")
    await talk.tap(BOTS["home"], OWNER, _button(talk, before))
    await talk.say(BOTS["home"], ANNA, "/new Who cooks?", name="Anna", **TOPIC)


def _button(talk: Talk, before: int) -> str:
    found = [
        buttons_of(message).get("Allow this group", "") for message in talk.telegram.sent(OWNER)[before:]
    ]
    return next(filter(None, found), "")


async def _is_taken(home: House, text: str) -> bool:
    bodies = await home.redis.hgetall(keys.bodies(keys.inbox_job(f"{BOTS['home']}:{DAD}:0")))
    return any(text.encode() in body for body in bodies.values()) and (
        text != SLOW or any(text in str(asked.body["messages"][-1]) for asked in home.model.requests)
    )


async def _has_failed(home: House, state: str) -> bool:
    return bool(await home.redis.hget(state, "failures"))

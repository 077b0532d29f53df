"""The script of `koi demo`: what the person says, and a model that answers by rote. Pure but for the model's pause."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from cli.texts import say
from infra.texts import later
from llm.candidates import OFFLINE, Candidate
from llm.chain import Chain
from llm.events import Finished, Heard, Stopped, Text, Used
from llm.request import ModelRequest, Usage
from workers.brains import Brains
from workers.services import Brain

TRACKING = "1Z999AA10123456784"
SENDER = "Chemitek"
MODEL = "scripted"

ASKS = later("Check where the Chemitek parcel is")
SAYS = later("It should come Wednesday")
ASKS_OTHER_BOT = later("When does my parcel come?")
ASKS_NEXT_DAY = later("Where is my parcel?")

FOUND = later("UPS tracking {tracking} — status: in transit.\nExpected delivery: Wednesday.")
KNOWS = later("You mean the Chemitek parcel, UPS {tracking}: yes, Wednesday is what UPS says.")
KNOWS_NOTHING = later("I know of no parcel. Which one do you mean?")


def answer_to(request: ModelRequest) -> str:
    """By rote, but only from what the model was given: asked for the parcel it "finds" it; else it knows of it only if
    the tracking number is in the request.
    """
    given = "\n".join(message.text for message in request.messages)
    if TRACKING in given:
        return say(request.language, KNOWS, tracking=TRACKING)
    return say(request.language, FOUND if SENDER in given else KNOWS_NOTHING, tracking=TRACKING)


class ScriptedModel:
    """An llm.provider.Provider. With `stall`, it never answers: `stall` is told that it was asked."""

    def __init__(self, stall: Callable[[], None] | None = None) -> None:
        self._stall = stall

    async def prepare(self) -> None:
        """Nothing to load."""

    async def aclose(self) -> None:
        """Nothing to close."""

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Heard]:
        """See llm.provider.Provider."""
        if self._stall is not None:
            self._stall()
            await asyncio.Event().wait()
        yield Used(Usage(0, 0, 0, 0))
        yield Text(answer_to(request))
        yield Stopped("end_turn")
        yield Finished()


def scripted_brains(stall: Callable[[], None] | None = None) -> Brains:
    """What workers.main.serve runs with in the demo."""
    chain = Chain([(Candidate(OFFLINE, MODEL), ScriptedModel(stall))])
    return Brains(Brain(chain), {}, (chain,))

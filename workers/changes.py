"""Commands that show and change what a person keeps: each change is one step, made once, however often the turn is tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import orjson

from infra.redis_port import RedisPort
from schemas.inbound import InboundMessage
from schemas.reply import Button
from schemas.tools import Pending
from tools.catalog import Catalog
from tools.store import load_things
from tools.tool import Here, Ran, Things
from workers.agenda_list import agenda_answer
from workers.commands import role_in
from workers.facts_list import facts_answer
from workers.hands import COMMAND, Hands
from workers.listing import Edit, Listed, Shown
from workers.memos_list import memos_answer
from workers.pending import chosen_preview, confirmed, over_line
from workers.reminders import done_answer, snooze_answer
from workers.said import Said
from workers.tasks_list import tasks_answer
from workers.texts import say

type Answer = Callable[[Things, str, Here], Listed]
"""Things, what stands behind the command, where."""

ANSWERS: Mapping[str, Answer] = {
    "tasks": tasks_answer,
    "memos": memos_answer,
    "agenda": agenda_answer,
    "facts": facts_answer,
    "done": done_answer,
    "snooze": snooze_answer,
}
NOTHING = Ran("")


@dataclass(frozen=True, slots=True)
class Changed:
    """What koi answers, and what the model is told of it."""

    said: Said
    told: str = ""
    """"" : nothing."""


async def kept_answer(hands: Hands, message: InboundMessage, pending: Pending | None) -> Changed | None:
    """The answer to one of these commands; None: it is none of them.

    Raises: LeaseLost, RedisError, NewerVersion.
    """
    if (packed := hands.claim.kept.get(COMMAND)) is not None:
        return _unpacked(packed)
    command, argument = message.command, message.argument
    if command == "confirm":
        return await _confirmed(hands, chosen_preview(pending, argument))
    if command not in ANSWERS:
        return None
    answer = ANSWERS[command]
    if command == "facts" and not hands.s.tools.facts:
        role = role_in(await hands.s.people.read(), message)
        answer = partial(facts_answer, kept=False, is_owner=role == "owner")
    return await _answered(hands, lambda things: answer(things, argument, hands.here), hands.s.redis)


async def _answered(hands: Hands, decide: Callable[[Things], Listed], redis: RedisPort) -> Changed:
    shown = decide(await load_things(redis, hands.here.owner))
    if isinstance(shown, Shown):
        return Changed(Said(shown.text, shown.buttons))

    def change(things: Things) -> tuple[Ran, bytes]:
        found = decide(things)
        return (found.ran if isinstance(found, Edit) else NOTHING), _packed(
            Changed(Said(found.text, found.buttons))
        )

    return _changed(await hands.edit(change), hands.here.language)


async def _confirmed(hands: Hands, preview: Pending | None) -> Changed:
    """What waited is done."""
    if preview is None or preview.owner != hands.here.owner:
        return Changed(Said(over_line(hands.here.language)))
    catalog = hands.catalog or Catalog((), {}, ())

    def change(things: Things) -> tuple[Ran, bytes]:
        made = confirmed(preview, catalog, hands.here, things)
        return made.ran, _packed(Changed(Said(made.text), made.told))

    return _changed(await hands.edit(change), hands.here.language)


def _changed(packed: bytes | None, language: str) -> Changed:
    if packed is not None:
        return _unpacked(packed)
    return Changed(
        Said(
            say(
                language,
                "Nothing was changed: at the same moment everything was forgotten. Please do it again.",
            )
        )
    )


def _packed(changed: Changed) -> bytes:
    """As it is kept for the turn's retry."""
    rows = [[button.model_dump() for button in row] for row in changed.said.buttons]
    return orjson.dumps({"text": changed.said.text, "rows": rows, "told": changed.told})


def _unpacked(kept: bytes) -> Changed:
    found = orjson.loads(kept)
    rows = tuple(tuple(Button(**button) for button in row) for row in found["rows"])
    return Changed(Said(found["text"], rows), found["told"])

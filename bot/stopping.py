"""The two ways to end a running answer: the button under its draft, and /stop. Carried out at admission, not in lane order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from aiogram.types import MessageGenerationStopped
from pydantic import ValidationError

from bot.api import Me
from bot.translate import GENERAL_TOPIC
from infra.redis_port import RedisPort
from infra.stop import stop_turn
from schemas.inbound import InboundMessage

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Pressed:
    """Somebody pressed the button under a draft. There is one only in private chats, for who was let in."""

    lane: str
    draft_id: int


def pressed_in(raw: Mapping[str, Any], me: Me) -> Pressed | None:
    """The button that an update says was pressed; None for any other update."""
    found = raw.get("stopped_message_generation")
    if found is None:
        return None
    try:
        stopped = MessageGenerationStopped.model_validate(found)
    except ValidationError:
        return None
    topic_id = stopped.message_thread_id or 0
    topic_id = 0 if topic_id == GENERAL_TOPIC else topic_id
    return Pressed(f"{me.bot_id}:{stopped.chat.id}:{topic_id}", stopped.draft_id)


def is_stop(message: InboundMessage) -> bool:
    return message.kind == "command" and message.command == "stop"


async def press(redis: RedisPort, pressed: Pressed, *, update: str) -> None:
    """End the turn that the draft belongs to, if it still runs. Raises what redis-py raises."""
    if pressed.draft_id:
        stopped = await stop_turn(redis, pressed.lane, claim=update, draft_id=pressed.draft_id)
        log.info("stop_pressed", lane=pressed.lane, stopped=stopped)


async def stop(redis: RedisPort, message: InboundMessage) -> bool:
    """End what runs in the message's lane; the message is taken with that. False: there is nothing to stop.

    Raises what redis-py raises.
    """
    stopped = await stop_turn(redis, message.lane, claim=message.id)
    log.info("stop_asked", lane=message.lane, stopped=stopped)
    return stopped

"""Messages of a bot that this worker does not know: koi.toml was read by the bot first, or the bot was taken out or renamed.

Nobody else's model may read them, and none of them is lost: they wait until the bot is known.
"""

from collections.abc import Collection, Sequence

import structlog

from infra import keys
from infra.redis_port import RedisPort
from lanes.outcome import HandBack
from schemas.bot import BotNow
from schemas.inbound import InboundMessage
from schemas.wire import NewerVersion, NotReadable, load

FIRST_PAUSE_MS, LAST_PAUSE_MS = 1_000, 60_000
SHARE = 10
"""A message that has waited for so many seconds waits one more, within these bounds."""

log = structlog.get_logger()


class Unknown:
    """The bots that a worker was asked for and does not know; said once of each."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def hand_back(self, message: InboundMessage, now_ms: int) -> HandBack:
        """Its lane waits. now_ms: by Telegram's clock."""
        if message.bot not in self._told:
            self._told.add(message.bot)
            log.warning("bot_not_known", bot=message.bot)
        return HandBack(pause_ms(message, now_ms))


async def known_now(
    redis: RedisPort, messages: Sequence[InboundMessage], known: Collection[str]
) -> tuple[InboundMessage, ...]:
    """The messages of one lane, by the name that their bot has now, if it was renamed; () if it is not known.

    Raises what redis-py raises.
    """
    if all(is_known(message, known) for message in messages):
        return tuple(messages)
    now = _read(await redis.hget(keys.bots(), messages[0].bot_id))
    if now is None:
        return ()
    renamed = [one.model_copy(update={"bot": now.name, "of_its_own": now.of_its_own}) for one in messages]
    return tuple(renamed) if is_known(renamed[0], known) else ()


def is_known(message: InboundMessage, known: Collection[str]) -> bool:
    """known: names of bots. For a bot without persona and models of its own, the house answers."""
    return not message.of_its_own or message.bot in known


def pause_ms(message: InboundMessage, now_ms: int) -> int:
    """How long a lane has to wait. now_ms: by Telegram's clock."""
    return min(LAST_PAUSE_MS, max(FIRST_PAUSE_MS, (now_ms - message.sent_at_ms) // SHARE))


def _read(raw: bytes | None) -> BotNow | None:
    try:
        return None if raw is None else load(BotNow, raw)
    except (NotReadable, NewerVersion):
        return None

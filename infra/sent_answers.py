"""Which of Telegram's message numbers are whose answer: a reaction names nothing else. Ids only, for a day."""

from collections.abc import Sequence

from infra import keys
from infra.effect import Effect
from infra.redis_port import RedisPort

NEWEST = 20
"""Parts that are known of a lane."""
KNOWN_MS = 24 * 3_600_000
ANSWER = ":answer"
"""Ends the id of a reply that a turn gave (Reply.id)."""


def sent_effects(lane: str, reply_id: str, message_ids: Sequence[int]) -> tuple[Effect, ...]:
    """For the commit of a reply that was sent as these messages; nothing if it is no answer of a turn. 0: a number
    that Telegram did not say.
    """
    known = [message_id for message_id in message_ids if message_id]
    if not reply_id.endswith(ANSWER) or not known:
        return ()
    key, turn_id = keys.sent_answers(lane), reply_id.removesuffix(ANSWER)
    return (
        Effect("RPUSH", key, tuple(f"{message_id} {turn_id}" for message_id in known)),
        Effect("LTRIM", key, (-NEWEST, -1)),
        Effect("PEXPIRE", key, (KNOWN_MS,)),
    )


async def turn_answered(redis: RedisPort, lane: str, message_id: int) -> str:
    """The id of the turn whose answer this message is; "" if it is none of the newest."""
    for known in await redis.lrange(keys.sent_answers(lane), 0, -1):
        number, _, turn_id = known.decode().partition(" ")
        if number == str(message_id):
            return turn_id
    return ""

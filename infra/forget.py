"""Forgotten is gone: one step over everything that holds text of a memory owner.

Used by the bot when /forget is admitted, by `koi memory forget`, later by the dashboard.
"""

from infra.redis_port import RedisPort


async def forget(
    redis: RedisPort, owner: str, what: str, *, claim: str = "", newest_only: bool = False
) -> int | None:
    """Remove entries of `owner` and raise its epoch, so that running turns store no text.

    what: "all": ring, sessions, waiting messages, kept rounds, unsent replies, dead letters. "last": the newest entry.
    Anything else: every entry whose texts contain it (NFC, case-folded). For "last" and a text the running sessions
    of the owner end as well, and waiting messages, unsent replies and dead letters that contain the text go.
    claim: an update id; if it was taken before (keys.claim_of), nothing happens and None is given.

    Gives the number of ring entries removed.
    """
    raise NotImplementedError

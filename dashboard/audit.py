"""Who did what on the dashboard: ids and numbers, no text of anybody."""

import contextlib
from collections.abc import Iterable, Sequence

from infra import keys
from infra.redis_port import RedisPort
from infra.together import Command, checked, together
from schemas.life import Action
from schemas.wire import NewerVersion, NotReadable, dump, load

KEPT = 10_000
"""Records, about."""
KEPT_MS = 400 * 24 * 3_600_000


async def note(redis: RedisPort, records: Iterable[Action]) -> None:
    """Append them, in one round trip. Raises what redis-py raises."""
    key = keys.audit()
    commands: list[Command] = [
        ("XADD", key, "MAXLEN", "~", KEPT, "*", "action", dump(record)) for record in records
    ]
    if commands:
        checked(await together(redis).run(*commands, ("PEXPIRE", key, KEPT_MS)))


async def newest(redis: RedisPort, count: int) -> Sequence[Action]:
    """The newest `count`, newest first; what cannot be read is left out. Raises what redis-py raises."""
    (entries,) = checked(await together(redis).run(("XREVRANGE", keys.audit(), "+", "-", "COUNT", count)))
    found: list[Action] = []
    for _, fields in entries:
        with contextlib.suppress(NotReadable, NewerVersion, KeyError):
            found.append(load(Action, fields[b"action"]))
    return found

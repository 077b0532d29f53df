"""Acts are carried out: one, or many with a report of how many were done and why the others were not."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import structlog
from redis.exceptions import RedisError

from dashboard import notes
from dashboard.actions import (
    Abort,
    Act,
    DeleteWaiting,
    DropDead,
    Forget,
    Pause,
    Resume,
    RetryDead,
    RunLane,
    RunReminder,
    stamp_of,
)
from dashboard.outage import Away, patient
from infra import keys
from infra.dead import push_back, take_dead
from infra.deliver import CannotDeliver, deliver
from infra.effect import Effect, Expect, Push
from infra.forget import forget, handle_of
from infra.pause import pause, resume
from infra.redis_port import RedisPort
from infra.stop import abort_turn
from infra.together import checked, together
from infra.waiting import run_now, take_out
from schemas.dead import DeadLetter
from schemas.profile import Profile
from schemas.things import Reminder
from schemas.wire import NewerVersion, NotReadable, dump, load

type Why = Literal[
    "gone", "edited", "taken", "other", "ended", "already", "paused", "unreadable", "broken", "unknown"
]
"""Why nothing was done. gone: it is not there any more. edited: it holds something else. taken: its turn has begun, or is due.
other: another turn is there. ended: that turn, pause or reminder is over. already: it is paused. paused: its bot is.
unreadable: of a newer release, or no JSON. broken: Redis refuses it (a key holds another type). unknown: Redis did not answer,
so perhaps it was done.
"""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Report:
    """What became of acts, each once."""

    done: tuple[Act, ...] = ()
    not_done: tuple[tuple[Act, Why], ...] = ()

    @property
    def reasons(self) -> Counter[Why]:
        """How many were not done for which reason."""
        return Counter(why for _, why in self.not_done)

    def __add__(self, other: "Report") -> "Report":
        return Report(self.done + other.done, self.not_done + other.not_done)


@dataclass(frozen=True, slots=True)
class Performer:
    """Carries out acts."""

    redis: RedisPort
    now_ms: int
    language: str
    """Of the house: for people whose own is not known."""

    async def all_of(self, acts: Sequence[Act]) -> Report:
        """At once, in a few round trips; those of one kind in their order."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.one(act)) for act in acts]
        ends: list[tuple[Act, Why | None]] = [
            (act, task.result()) for act, task in zip(acts, tasks, strict=True)
        ]
        not_done: list[tuple[Act, Why]] = []
        for act, why in ends:
            if why is not None:
                not_done.append((act, why))
        return Report(tuple(act for act, why in ends if why is None), tuple(not_done))

    async def one(self, act: Act) -> Why | None:
        """None: it is done; else nothing changed (but for "unknown")."""
        try:
            async with patient():
                return await self._one(act)
        except Away:
            return "unknown"
        except (NotReadable, NewerVersion):
            return "unreadable"
        except (CannotDeliver, RedisError) as error:
            log.warning("action_impossible", action=act.name, error=type(error).__name__)
            return "broken"

    async def _one(self, act: Act) -> Why | None:
        match act:
            case RetryDead() | DropDead():
                return await self._dead(act)
            case RunReminder():
                return await self._remind(act)
            case Forget(owner=owner, entry_id=entry_id):
                return None if await forget(self.redis, owner, f"#{handle_of(entry_id)}") else "gone"
            case DeleteWaiting():
                return await self._delete(act)
            case _:
                return await self._control(act)

    async def _control(self, act: RunLane | Abort | Pause | Resume) -> Why | None:
        match act:
            case RunLane(job_id=job_id, turn_id=turn_id):
                end = await run_now(self.redis, job_id, turn_id)
                return None if end == "done" else end
            case Abort(lane=lane, turn_id=turn_id):
                return None if await abort_turn(self.redis, lane, turn_id) else "ended"
            case Pause(who=who):
                return None if await pause(self.redis, who, self.now_ms) else "already"
            case Resume(who=who, since_ms=since_ms):
                return None if await resume(self.redis, who, since_ms) else "ended"
            case _:
                assert_never(act)

    # ── dead letters ─────────────────────────────────────────────────────────────────────────────────────────────
    async def _dead(self, act: RetryDead | DropDead) -> Why | None:
        raw = await self._read(keys.dead_of(act.owner), act.item_id)
        if raw is None:
            return "gone"
        if stamp_of(raw) != act.seen:
            return "edited"
        pushes = await self._after_dead(act, raw)
        return None if await take_dead(self.redis, act.owner, act.item_id, raw, pushes) else "gone"

    async def _after_dead(self, act: RetryDead | DropDead, raw: bytes) -> tuple[Push, ...]:
        """Raises: NotReadable, NewerVersion: it can only be dropped, and nobody can be told."""
        try:
            letter = load(DeadLetter, raw)
        except (NotReadable, NewerVersion):
            if isinstance(act, DropDead):
                return ()
            raise
        if isinstance(act, RetryDead):
            return (push_back(letter),)
        return await self._note(notes.gone(letter.job_id, letter.id, letter.owner, letter.body), "dropped")

    # ── what waits ───────────────────────────────────────────────────────────────────────────────────────────────
    async def _delete(self, act: DeleteWaiting) -> Why | None:
        body, owner = checked(
            await together(self.redis).run(
                ("HGET", keys.bodies(act.job_id), act.item_id), ("HGET", keys.state(act.job_id), "owner")
            )
        )
        if body is None:
            return "gone"
        if stamp_of(body) != act.seen:
            return "edited"
        about = notes.gone(act.job_id, act.item_id, (owner or b"").decode(), body)
        end = await take_out(self.redis, act.job_id, act.item_id, body, await self._note(about, "deleted"))
        return None if end == "done" else end

    async def _note(self, about: notes.Gone | None, fate: notes.Fate) -> tuple[Push, ...]:
        if about is None:
            return ()
        return (notes.note(about, fate, await self._language_of(about)),)

    async def _language_of(self, about: notes.Gone) -> str:
        """What the person chose, else that of their Telegram, else that of the house."""
        if about.message is None:
            return self.language
        (raw,) = await together(self.redis).run(("GET", keys.profile(about.user_id)))
        try:
            chosen = load(Profile, raw).language if isinstance(raw, bytes) else ""
        except (NotReadable, NewerVersion):
            chosen = ""
        return chosen or about.message.language or self.language

    # ── reminders ────────────────────────────────────────────────────────────────────────────────────────────────
    async def _remind(self, act: RunReminder) -> Why | None:
        things, id_ = keys.things(act.owner), act.item_id
        raw = await self._read(things, id_)
        if raw is None:
            return "gone"
        if stamp_of(raw) != act.seen:
            return "edited"
        reminder = load(Reminder, raw)
        if not reminder.due_ms:
            return "ended"
        if reminder.due_ms <= self.now_ms:
            return "taken"
        done = await deliver(
            self.redis,
            expects=(Expect(things, id_, raw),),
            effects=(
                Effect("HSET", things, (id_, dump(reminder.model_copy(update={"due_ms": self.now_ms})))),
                Effect("HINCRBY", things, ("version", 1)),
                Effect("ZADD", keys.due(), (self.now_ms, f"{act.owner}|{id_}")),
            ),
            pushes=(),
        )
        return None if done else "edited"

    async def _read(self, key: str, field: str) -> bytes | None:
        (raw,) = checked(await together(self.redis).run(("HGET", key, field)))
        return raw

"""What can be done on the dashboard: a closed set of acts, each with what its page had shown.

An act changes something only if it still is as it was shown; what it then does is one step, so that of two clicks, or of a
click and a worker, one wins. Its form field is `SEEN TARGET` (field_of): a page writes it, a POST to /do/NAME brings it back.
"""

import hashlib
from dataclasses import dataclass
from typing import ClassVar, Self

NONE = "-"
"""Seen, where there was nothing to see."""


class BadField(ValueError):
    """The field of a form is none that a page of ours has made."""


@dataclass(frozen=True, slots=True)
class OfOwner:
    """About one thing that is kept under its memory owner."""

    owner: str
    item_id: str
    seen: str
    """stamp_of what is stored."""

    @property
    def target(self) -> str:
        """What the audit log keeps of it: ids only."""
        return f"{self.owner}|{self.item_id}"

    @classmethod
    def of(cls, target: str, seen: str) -> Self:
        """Raises: BadField."""
        return cls(*_two(target), seen)


@dataclass(frozen=True, slots=True)
class RetryDead(OfOwner):
    """A dead letter goes back into its lane, to be tried again."""

    name: ClassVar = "retry"


@dataclass(frozen=True, slots=True)
class DropDead(OfOwner):
    """A dead letter is deleted; who wrote it is told."""

    name: ClassVar = "drop"


@dataclass(frozen=True, slots=True)
class RunReminder(OfOwner):
    """A reminder is sent now; one that repeats goes on as planned."""

    name: ClassVar = "remind"


@dataclass(frozen=True, slots=True)
class Forget:
    """One remembered entry is forgotten, as by the button under /memory."""

    owner: str
    entry_id: str
    name: ClassVar = "forget"
    seen: ClassVar = NONE

    @property
    def target(self) -> str:
        return f"{self.owner}|{self.entry_id}"

    @classmethod
    def of(cls, target: str, _seen: str) -> Self:
        """Raises: BadField."""
        return cls(*_two(target))


@dataclass(frozen=True, slots=True)
class DeleteWaiting:
    """A message, or an unsent reply, that no turn has taken is removed; who wrote a message is told."""

    job_id: str
    item_id: str
    seen: str
    """stamp_of its body: it may be edited while it waits."""
    name: ClassVar = "delete"

    @property
    def target(self) -> str:
        return f"{self.job_id}|{self.item_id}"

    @classmethod
    def of(cls, target: str, seen: str) -> Self:
        """Raises: BadField."""
        job_id, item_id = _two(target)
        return cls(_job(job_id), item_id, seen)


@dataclass(frozen=True, slots=True)
class RunLane:
    """A lane that backs off, or waits for further parts, is tried now."""

    job_id: str
    turn_id: str
    """Its turn; "" for none."""
    name: ClassVar = "run"

    @property
    def seen(self) -> str:
        return self.turn_id

    @property
    def target(self) -> str:
        return self.job_id

    @classmethod
    def of(cls, target: str, seen: str) -> Self:
        """Raises: BadField."""
        return cls(_job(target), seen)


@dataclass(frozen=True, slots=True)
class Abort:
    """A turn ends early, as by /stop: what was written of its answer stays."""

    lane: str
    turn_id: str
    name: ClassVar = "abort"

    @property
    def seen(self) -> str:
        return self.turn_id

    @property
    def target(self) -> str:
        return self.lane

    @classmethod
    def of(cls, target: str, seen: str) -> Self:
        """Raises: BadField."""
        if not seen:
            raise BadField("a turn has an id")
        return cls(_lane(target), seen)


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing of a bot is begun (infra.pause)."""

    who: str
    """bot_id, or infra.pause.EVERYTHING."""
    name: ClassVar = "pause"
    seen: ClassVar = NONE

    @property
    def target(self) -> str:
        return self.who

    @classmethod
    def of(cls, target: str, _seen: str) -> Self:
        """Raises: BadField."""
        return cls(_bot(target))


@dataclass(frozen=True, slots=True)
class Resume:
    """A pause ends."""

    who: str
    since_ms: int
    """When it began."""
    name: ClassVar = "resume"

    @property
    def seen(self) -> str:
        return str(self.since_ms)

    @property
    def target(self) -> str:
        return self.who

    @classmethod
    def of(cls, target: str, seen: str) -> Self:
        """Raises: BadField."""
        if not (seen.isascii() and seen.isdigit()):
            raise BadField("not a stamp")
        return cls(_bot(target), int(seen))


type Act = RetryDead | DropDead | RunReminder | Forget | DeleteWaiting | RunLane | Abort | Pause | Resume

KINDS: dict[str, type[Act]] = {
    kind.name: kind
    for kind in (RetryDead, DropDead, RunReminder, Forget, DeleteWaiting, RunLane, Abort, Pause, Resume)
}
"""By what each is called in the address that it is posted to, and in the audit log."""
DESTRUCTIVE = frozenset({"drop", "abort", "delete", "forget"})
"""Asked about before they are done."""


def stamp_of(raw: bytes) -> str:
    """Stands for a stored value: 16 hexadecimal digits."""
    return hashlib.blake2b(raw, digest_size=8).hexdigest()


def field_of(act: Act) -> str:
    """What its form carries: what was seen, a space, the ids."""
    return f"{act.seen or NONE} {act.target}"


def act_of(name: str, field: str) -> Act:
    """The act that a form asks for.

    Raises: BadField.
    """
    kind = KINDS.get(name)
    if kind is None:
        raise BadField(f"{name} is nothing that can be done")
    seen, _, target = field.partition(" ")
    if not target:
        raise BadField("a field is `SEEN TARGET`")
    return kind.of(target, "" if seen == NONE else seen)


def _two(target: str) -> tuple[str, str]:
    """Owner or job, and id: as keys.dead() and keys.due() name things."""
    first, _, last = target.rpartition("|")
    if not first or not last:
        raise BadField("a target of two parts is `ONE|OTHER`")
    return first, last


def _job(job_id: str) -> str:
    side, _, lane = job_id.partition(":")
    if side not in {"in", "out", "fold"}:
        raise BadField("not the job of a lane")
    _lane(lane)
    return job_id


def _lane(lane: str) -> str:
    if lane.count(":") < 2:
        raise BadField("a lane is `bot:chat:topic`")
    return lane


def _bot(who: str) -> str:
    if ":" in who or not who.isprintable():
        raise BadField("not the id of a bot")
    return who

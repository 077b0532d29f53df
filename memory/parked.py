"""Conversations of the projects that a lane is not in now: one value, like the running one, and as short-lived. Pure."""

from collections.abc import Mapping

from infra import keys
from infra.effect import Effect
from memory.limits import SessionLimits
from memory.session import session_expiry, starts_session, without_expired
from schemas.memory import AnswerRecord, Parked, Session
from schemas.wire import NotReadable, dump, load


def read_parked(raw: bytes | None, now_ms: int, limits: SessionLimits) -> Parked:
    """`GET keys.parked(lane)`: those that can still go on; what cannot be read is passed over, the next change replaces it.

    Raises: NewerVersion: hand the lane back.
    """
    try:
        return Parked(sessions={}) if raw is None else live(load(Parked, raw), now_ms, limits)
    except NotReadable:
        return Parked(sessions={})


def live(parked: Parked, now_ms: int, limits: SessionLimits) -> Parked:
    """Without conversations that are over, and without what has become too old in the others; itself if that is nothing."""
    left = {
        project: without_expired(session, now_ms, limits)
        for project, session in parked.sessions.items()
        if not starts_session(now_ms, session.last_ms, limits.idle_ms)
    }
    left = {project: session for project, session in left.items() if session.exchanges}
    if left == parked.sessions:
        return parked
    return _of(left, {project: answer for project, answer in parked.answers.items() if project in left})


def park(parked: Parked, project: str, session: Session, answer: AnswerRecord | None = None) -> Parked:
    """With the conversation of `project`, as it is stored while it runs, and the last answer in it."""
    answers = _without(parked.answers, project) | ({project: answer} if answer else {})
    return _of({**parked.sessions, project: session}, answers)


def unpark(parked: Parked, project: str) -> tuple[Parked, Session | None, AnswerRecord | None]:
    """Without the conversation of `project`; and that with its last answer, None if there is none."""
    left = _of(_without(parked.sessions, project), _without(parked.answers, project))
    return left, parked.sessions.get(project), parked.answers.get(project)


def parked_expiry(parked: Parked, limits: SessionLimits) -> int:
    """When the first of its texts must go, ms by koi's clock. At least one conversation."""
    return min(session_expiry(session, limits) for session in parked.sessions.values())


def parked_effects(lane: str, parked: Parked, limits: SessionLimits) -> tuple[Effect, ...]:
    """Store them; their key lives as long as one of them can go on."""
    key = keys.parked(lane)
    if not parked.sessions:
        return Effect("DEL", key), Effect("ZREM", keys.expiry(), (key,))
    ttl_ms = min(limits.idle_ms, limits.max_age_ms)
    return (
        Effect("SET", key, (dump(parked), "PX", ttl_ms)),
        Effect("ZADD", keys.expiry(), (parked_expiry(parked, limits), key)),
    )


def _of(sessions: Mapping[str, Session], answers: Mapping[str, AnswerRecord]) -> Parked:
    return Parked(sessions=dict(sessions), answers=dict(answers))


def _without[V](values: Mapping[str, V], project: str) -> dict[str, V]:
    return {name: value for name, value in values.items() if name != project}

"""Reminders that are due are sent, and what people answer to them.

Taking a due one, queueing its message and storing its next time are one step (infra.deliver), which changes nothing if
the reminder is not as it was read: of any number of workers one sends it, and who dies before or after the step leaves
nothing half done.
"""

import hashlib
from datetime import tzinfo

import structlog
from redis.exceptions import ResponseError

from infra import keys
from infra.deliver import CannotDeliver, deliver
from infra.effect import Effect, Expect, Push
from infra.pushes import push_reply
from infra.together import together
from schemas.inbound import person_of
from schemas.things import Reminder
from schemas.wire import NewerVersion, NotReadable, dump, load
from tools.firing import (
    Fires,
    Over,
    Waits,
    decide,
    done,
    due_member,
    look_at,
    look_no_more,
    looked_at_ms,
    owner_and_id,
    read_span,
    snoozed,
)
from tools.store import VERSION
from tools.tool import Here, Ran, Refused, Things
from workers.listing import Edit, Listed, Shown, not_there, order_of
from workers.outgoing import Place, plain_reply
from workers.profile import read_profile, zone_for
from workers.reminder_text import done_text, fired_buttons, fired_text, snoozed_text
from workers.services import Services
from workers.texts import say

AT_ONCE = 100
"""Reminders that are looked at in one go."""
NOT_MINE_MS = 60_000
"""When somebody looks again at a reminder that this process cannot read or send."""

log = structlog.get_logger()


# ── firing ───────────────────────────────────────────────────────────────────────────────────────────────────────
async def fire_due(s: Services) -> int:
    """Send what is due, at most 100. Gives how many were sent by this call.

    Raises: RedisError.
    """
    now_ms = s.clock()
    members = await s.redis.zrangebyscore(keys.due(), "-inf", now_ms, 0, AT_ONCE)
    if not members:
        return 0
    named = [owner_and_id(member.decode()) for member in members]
    asked = (("HGET", keys.things(owner), id_) for owner, id_ in named)
    profiles = (("GET", keys.profile(person_of(owner))) for owner, _ in named)
    found = await together(s.redis).run(*asked, *profiles)
    sent = 0
    for (owner, id_), raw, profile in zip(named, found[: len(named)], found[len(named) :], strict=True):
        sent += await _fire(s, (owner, id_), raw, _zone(profile, s.zone), now_ms)
    return sent


def _zone(profile: bytes | ResponseError | None, house: tzinfo) -> tzinfo:
    """That of whoever reads the reminder; koi's own for a group."""
    try:
        return zone_for(read_profile(None if isinstance(profile, ResponseError) else profile), house)
    except NewerVersion:
        return house


async def _fire(
    s: Services, named: tuple[str, str], raw: bytes | ResponseError | None, zone: tzinfo, now_ms: int
) -> bool:
    """One of them. True: its message is on its way by this call."""
    owner, id_ = named
    try:
        if isinstance(raw, ResponseError):
            raise raw
        effects, pushes = _step_of(owner, id_, raw, now_ms, zone)
        expects = (Expect(keys.things(owner), id_, raw),)
        is_mine = await deliver(s.redis, expects=expects, effects=effects, pushes=pushes)
    except (NewerVersion, Refused, ValueError, CannotDeliver, ResponseError) as error:
        log.warning("reminder_left", reminder=id_, error=type(error).__name__)
        later = {due_member(owner, id_): float(now_ms + NOT_MINE_MS)}
        await s.redis.zadd(keys.due(), later, xx=True)  # whoever can read it puts a wrong score right
        return False
    if is_mine and pushes:
        log.info("reminder_sent", reminder=id_)
    return is_mine and bool(pushes)


def _step_of(
    owner: str, id_: str, raw: bytes | None, now_ms: int, zone: tzinfo
) -> tuple[tuple[Effect, ...], tuple[Push, ...]]:
    """What changes, and the message if there is one.

    Raises: NewerVersion. Refused: its rule is not known here.
    """
    if raw is None:
        return (look_no_more(owner, id_),), ()
    try:
        reminder = load(Reminder, raw)
    except NotReadable:
        log.warning("thing_unreadable", thing=id_)
        return (look_no_more(owner, id_),), ()
    things, version = keys.things(owner), Effect("HINCRBY", keys.things(owner), (VERSION, 1))
    match decide(reminder, now_ms):
        case Waits(at_ms=at_ms):
            return (look_at(owner, id_, at_ms),), ()
        case Over():
            return (Effect("HDEL", things, (id_,)), version, look_no_more(owner, id_)), ()
        case Fires() as fires:
            new = fires.reminder
            put = Effect("HSET", things, (id_, dump(new)))
            message = _message(owner, reminder.due_ms, fires, now_ms, zone)
            return (put, version, look_at(owner, id_, looked_at_ms(new))), (message,)


def _message(owner: str, due_ms: int, fires: Fires, now_ms: int, zone: tzinfo) -> Push:
    """To the chat where the reminder was made. Its id is one of this occurrence of this reminder."""
    reminder = fires.reminder
    name = hashlib.sha256(f"{due_member(owner, reminder.id)}|{due_ms}".encode()).hexdigest()[:32]
    place = Place.of_lane(reminder.lane, owner)
    reply = plain_reply(
        place, f"{name}:reminder", fired_text(fires, now_ms, zone), language=reminder.language
    )
    return push_reply(reply.model_copy(update={"buttons": fired_buttons(reminder)}))


# ── /done and /snooze ────────────────────────────────────────────────────────────────────────────────────────────
def done_answer(things: Things, argument: str, here: Here) -> Listed:
    """The answer to `/done r4`."""
    reminder = things.by_id.get(order_of(argument).id)
    if not isinstance(reminder, Reminder):
        return _no_reminder(argument, here)
    ran = done(reminder, here)
    return Edit(ran, done_text(_after(ran), reminder, here))


def snooze_answer(things: Things, argument: str, here: Here) -> Listed:
    """The answer to `/snooze r4 10m`; ten minutes if no span was said."""
    id_, _, span = argument.strip().partition(" ")
    reminder = things.by_id.get(order_of(id_).id)
    if not isinstance(reminder, Reminder):
        return _no_reminder(id_, here)
    try:
        ran = snoozed(reminder, read_span(span or "10m"), here)
    except Refused:
        return Shown(say(here.language, "Write /snooze {id} 10m, 1h or 1d.", id=reminder.id))
    return Edit(ran, snoozed_text(_after(ran) or reminder, here))


def _after(ran: Ran) -> Reminder | None:
    """The reminder as it is then; None: it is deleted."""
    return next((thing for thing in ran.put if isinstance(thing, Reminder)), None)


def _no_reminder(argument: str, here: Here) -> Shown:
    id_ = order_of(argument).id
    return (
        not_there("agenda", id_, here.language)
        if id_
        else Shown(say(here.language, "Which reminder? /agenda shows them."))
    )

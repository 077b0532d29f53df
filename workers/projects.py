"""Projects of a lane: each has its own conversation, and names the entries that come from it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from infra import keys
from infra.clean import clean
from infra.cut import cut
from infra.effect import Effect
from infra.redis_port import RedisPort
from memory.limits import SessionLimits
from memory.parked import park, parked_effects, read_parked, unpark
from memory.session import end_effects, session_effects
from memory.summary import VISIBLE
from schemas.memory import AnswerRecord, Parked, RingEntry, Session
from schemas.reply import Button
from schemas.wire import dump
from workers.said import Said
from workers.texts import say
from workers.times import span

NAME_CHARS = 40
MOST_OFFERED = 6
COMMAND_BYTES = 64
"""Of a button: Bot API, callback_data."""
NONE = frozenset({"none", "off", "leave", "kein", "keins", "aus", "-"})
NOT_IN_NAMES: Mapping[int, str] = dict.fromkeys(map(ord, "[]<>·/\\"), " ")
"""What would end or imitate koi's frames around a name; with a slash it would be the path of a folder (memory.context)."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What lies on it: the lane's project and conversations."""

    lane: str
    project: str
    """ "" is none."""
    session: Session | None
    """The one that runs, as workers.known has it (its summary taken)."""
    answer: AnswerRecord | None
    """The last one of the lane."""
    parked: Parked
    entries: Sequence[RingEntry]
    limits: SessionLimits
    language: str
    now_ms: int


def read_project(raw: bytes | None) -> str:
    """`GET keys.project(lane)`; "" is none."""
    return "" if raw is None else raw.decode(errors="replace")


async def load_parked(redis: RedisPort, lane: str, now_ms: int, limits: SessionLimits) -> Parked:
    """Only /project needs it. Raises: NewerVersion. RedisError."""
    return read_parked(await redis.get(keys.parked(lane)), now_ms, limits)


def project_said(desk: Desk, argument: str) -> Said:
    """The answer to /project, with or without a name."""
    if not argument:
        return _shown(desk)
    if argument.strip().casefold() in NONE:
        return _switched(desk, "")
    name = _called(argument, known_projects(desk))
    if not name:
        return Said(say(desk.language, "A project needs a name: /project garden."), _buttons(desk))
    return _switched(desk, name)


def known_projects(desk: Desk) -> tuple[str, ...]:
    """Names, the current one first, then those whose conversations wait, then those that are remembered, newest first."""
    waiting = sorted(desk.parked.sessions, key=lambda name: -desk.parked.sessions[name].last_ms)
    remembered = (entry.workdir for entry in reversed(desk.entries))
    names = (desk.project, *waiting, *remembered)
    return tuple(dict.fromkeys(name for name in names if name and name == _name(name)))


def switch_effects(desk: Desk, project: str) -> tuple[tuple[Effect, ...], tuple[Effect, ...]]:
    """What changes when the lane goes to another project: Said.effects and Said.texts.

    The conversation until now is put aside under its own project; that of the new one goes on, if it still runs.
    """
    parked, session, answer = unpark(desk.parked, project)
    if desk.session is not None:
        parked = park(parked, desk.project, desk.session, desk.answer)
    name, last_answer = keys.project(desk.lane), keys.answer(desk.lane)
    effects = (
        Effect("SET", name, (project,)) if project else Effect("DEL", name),
        Effect("SET", last_answer, (dump(answer), "PX", desk.limits.max_age_ms))
        if answer
        else Effect("DEL", last_answer),
    )
    ended = end_effects(desk.lane)
    goes_on = session_effects(desk.lane, session, desk.limits) if session else ()
    return effects, (*ended, *goes_on, *parked_effects(desk.lane, parked, desk.limits))


def _shown(desk: Desk) -> Said:
    language = desk.language
    lines = [
        say(language, "This chat is about the project “{name}”. /project none leaves it.", name=desk.project)
        if desk.project
        else say(language, "This chat is about no project in particular."),
        say(language, "/project and a name goes to another one, which has a conversation of its own."),
    ]
    return Said("\n".join(lines), _buttons(desk))


def _switched(desk: Desk, project: str) -> Said:
    if project == desk.project:
        return _shown(desk)
    language = desk.language
    lines = [
        say(language, "From now on this chat is about the project “{name}”.", name=project)
        if project
        else say(language, "From now on this chat is about no project in particular."),
        say(language, "Its conversation goes on where it was.")
        if project in desk.parked.sessions
        else say(language, "Its conversation begins with your next message."),
    ]
    if desk.session is not None:
        left = span(desk.session.last_ms + desk.limits.idle_ms - desk.now_ms, language).rstrip(".")
        lines.append(say(language, "The one until now waits for {span}.", span=left))
    effects, texts = switch_effects(desk, project)
    back = _button(desk.project, say(language, "Back to {name}", name=desk.project), language)
    return Said(" ".join(lines), _that_fit([back]), effects, texts)


def _buttons(desk: Desk) -> tuple[tuple[Button, ...], ...]:
    """Known projects, and the way out."""
    others = _that_fit(
        _button(name, name, desk.language) for name in known_projects(desk) if name != desk.project
    )
    return (*others[:MOST_OFFERED], *(((_button("", "", desk.language),),) if desk.project else ()))


def _that_fit(buttons: Iterable[Button]) -> tuple[tuple[Button, ...], ...]:
    """One a row. A name may be too long for a button in bytes; it can still be typed."""
    return tuple((button,) for button in buttons if len(button.command.encode()) <= COMMAND_BYTES)


def _button(project: str, text: str, language: str) -> Button:
    """It goes to the project; "" leaves the one that the lane is in."""
    if not project:
        return Button(text=say(language, "Leave the project"), command="/project -")
    return Button(text=text, command=f"/project {project}")


def _called(argument: str, known: Sequence[str]) -> str:
    """As a known project is called that differs in case only, else as it was typed."""
    name = _name(argument)
    return next((one for one in known if one.casefold() == name.casefold()), name)


def _name(text: str) -> str:
    """One line of at most NAME_CHARS; "" if nothing of it can be seen."""
    name = cut(" ".join(clean(text).translate(NOT_IN_NAMES).split()), NAME_CHARS)
    return name if VISIBLE.search(name) and name.casefold() not in NONE else ""

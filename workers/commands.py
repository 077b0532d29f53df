"""What koi answers to commands, without a model. Pure.

A command's answer is a text, perhaps with buttons (commands that are sent with a tap) and effects.

/forget was carried out when it was admitted; here it is only answered. `/new text` ends the session here too, and the
turn goes on with the text (workers.turn).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from infra.cut import cut
from infra.forget import folded
from infra.people import People
from infra.settings import MoneySettings
from llm.routing import Models, Tier
from memory.limits import MemoryLimits
from schemas.inbound import InboundMessage
from schemas.memory import AnswerRecord, RingEntry
from schemas.profile import Profile
from schemas.things import Thing
from schemas.tools import Pending
from workers.house import ROLES
from workers.model import (
    ModelState,
    choice_effect,
    chosen_text,
    model_buttons,
    model_text,
    not_understood_text,
    wish_of,
)
from workers.outgoing import is_local
from workers.pending import change_line, chosen_preview, drop_effects, over_line
from workers.plans import Plan
from workers.profile import Person, guess_said, language_said, profile_said, timezone_said
from workers.recall import Reader, forget_buttons, memory_text, why_text
from workers.rich import RichState, rich_said
from workers.said import Said
from workers.services import DOLLARS, OFFLINE_ONLY
from workers.stop import nothing_to_stop_line
from workers.texts import say, say_n
from workers.times import span
from workers.usage import NOTHING_USED, Usage, usage_text

NAME_CHARS = 32
NOBODY = Profile()


@dataclass(frozen=True, slots=True)
class Asked:
    """A command, and what is known when it is answered."""

    message: InboundMessage
    reader: Reader
    limits: MemoryLimits
    entries: tuple[RingEntry, ...] = ()
    answer: AnswerRecord | None = None
    money: MoneySettings = DOLLARS
    role: str = "member"
    """One of ROLES."""
    usage: Usage = NOTHING_USED
    """Only /usage looks at it, and at `allowance`."""
    allowance: Plan | None = None
    models: Models = OFFLINE_ONLY
    """What this person may be answered by; only /model looks at it, and at `wanted`."""
    wanted: Tier | None = None
    profile: Profile = NOBODY
    """Of whoever asks."""
    house: tzinfo = UTC
    """koi's own zone."""
    rich: bool = False
    """Answers in this chat may be rich messages; only /rich looks at it."""
    readers: tuple[str, ...] = ()
    """The services that are given what this person writes; only /start names them."""
    kept: int = 0
    """Things on request that hold what was to be forgotten; only /forget looks at it."""
    pending: Pending | None = None
    """What waits for an answer; only /change looks at it."""

    @property
    def person(self) -> Person:
        return Person(self.message, self.profile, self.house, self.reader.now_ms)

    @property
    def language(self) -> str:
        return self.reader.language

    @property
    def max_age(self) -> str:
        return span(self.limits.max_age_ms, self.language)


def command_answer(asked: Asked) -> Said:
    """The answer to any command, also to one that koi does not know."""
    said = ANSWERS.get(asked.message.command, _unknown)(asked)
    return Said(said) if isinstance(said, str) else said


def role_in(people: People, message: InboundMessage) -> str:
    """As koi calls it: whoever was let in is a member; whoever sits at the machine before anybody paired owns it."""
    if is_local(message.bot_id) and not people.owner_id:
        return "owner"
    role = people.role_of(message.user_id)
    return "member" if role == "stranger" else role


def mentions(thing: Thing, what: str) -> bool:
    """One of its texts contains `what`, as /forget compares."""
    needle = folded(what)
    return any(needle in folded(text) for text in thing.model_dump().values() if isinstance(text, str))


def _start(asked: Asked) -> Said:
    hello = "\n".join(
        (
            say(asked.language, "Hello! Just write to me; /help shows what else I can do."),
            say(
                asked.language,
                "• For {span} I remember what we talked about, also when you come back later.",
                span=asked.max_age,
            ),
            _who_reads(asked),
            say(asked.language, "• /forget all deletes at once what I remember."),
        )
    )
    guess = guess_said(asked.person)
    return replace(guess, text=f"{hello}\n\n{guess.text}") if guess else Said(hello)


def _who_reads(asked: Asked) -> str:
    if not asked.readers:
        return say(asked.language, "• What you write stays on this machine: no model service is set up.")
    return say(
        asked.language,
        "• My answers come from {services}: what you write is sent there.",
        services=", ".join(asked.readers),
    )


def _help(asked: Asked) -> str:
    everybodys = say(
        asked.language,
        "/new – end this conversation and begin a new one; /new and a text begins it with that text\n"
        "/memory – what I remember\n"
        "/forget all, /forget last, /forget and a text – forget everything, the newest entry, or every entry "
        "that contains the text\n"
        "/why – what my last answer was made of and what it cost\n"
        "/model – which model answers; choose another\n"
        "/usage – what you used today and this month\n"
        "/tasks, /memos, /agenda, /facts – what I keep for you; see and change it\n"
        "/project and a name – a conversation of its own for it\n"
        "/language, /timezone – how I talk to you, and which clock I go by\n"
        "/rich – tables and formulas laid out by Telegram itself\n"
        "/whoami – your id and your role\n"
        "/help – this list",
    )
    groups = say(
        asked.language,
        "In a group I answer who mentions me, replies to me or sends a command. More than that I need not see: Telegram's "
        "privacy mode keeps the rest from me, and may stay on (@BotFather, /setprivacy).",
    )
    if asked.message.chat_kind == "group":
        return f"{groups}\n\n{everybodys}"
    if asked.role != "owner":
        return f"{everybodys}\n\n{groups}"
    owners = say(
        asked.language,
        "For you as my owner:\n"
        "/status – how I am doing\n"
        "/people – who may talk to me\n"
        "/approve and a code – let somebody in\n"
        "/block and an id – answer somebody no more",
    )
    return f"{everybodys}\n\n{groups}\n\n{owners}"


def _new(asked: Asked) -> str:
    over = say(asked.language, "This conversation is over. Your next message begins a new one.")
    if not asked.entries:
        return f"{over} " + say(asked.language, "I remember nothing of earlier ones.")
    return f"{over} " + say_n(
        asked.language,
        "I still remember {n} exchange of the last {span} and will be told of it again: /memory shows it, /forget all "
        "removes it.",
        "I still remember {n} exchanges of the last {span} and will be told of them again: /memory shows them, "
        "/forget all removes them.",
        len(asked.entries),
        span=asked.max_age,
    )


def _forget(asked: Asked) -> str:
    if asked.message.forgot is None:
        return say(
            asked.language,
            "What shall I forget?\n/forget all – everything\n/forget last – the newest entry\n"
            "/forget and a text – every entry that contains the text",
        )
    ended = say(asked.language, "The running conversation has ended too, so that nothing of it comes back.")
    if asked.kept:
        stays = say_n(
            asked.language,
            "{n} task, memo, event or reminder with it stays until you delete it: /tasks, /memos, /agenda.",
            "{n} tasks, memos, events or reminders with it stay until you delete them: /tasks, /memos, /agenda.",
            asked.kept,
        )
        ended = f"{ended} {stays}"
    if asked.message.forgot == 0:
        return say(asked.language, "I remembered nothing of that kind.") + f" {ended}"
    gone = say_n(
        asked.language, "I have forgotten {n} entry.", "I have forgotten {n} entries.", asked.message.forgot
    )
    return f"{gone} {ended}"


def _whoami(asked: Asked) -> str:
    message = asked.message
    kind = say(asked.language, "group") if message.chat_kind == "group" else say(asked.language, "private")
    return say(
        asked.language,
        "Your id: {user_id}\nYour role: {role}\nMemory store: {store}\nChat: {chat_id} ({kind})\nBot: {bot}",
        user_id=message.user_id,
        role=say(asked.language, ROLES[asked.role]),
        store=message.store,
        chat_id=message.chat_id,
        kind=kind,
        bot=message.bot,
    )


def _memory(asked: Asked) -> str:
    return memory_text(asked.entries, asked.limits, asked.reader)


def _why(asked: Asked) -> Said:
    text = why_text(asked.answer, asked.entries, asked.limits, asked.reader, asked.money)
    return Said(text, forget_buttons(asked.answer, asked.entries, asked.reader))


def _model(asked: Asked) -> Said:
    state = ModelState(
        asked.models,
        asked.language,
        asked.wanted,
        asked.answer.model if asked.answer else "",
        asked.answer.why if asked.answer else "",
        by_plan=asked.allowance is not None and bool(asked.allowance.models),
        is_owner=asked.role == "owner",
    )
    argument = asked.message.argument
    wish = wish_of(argument)
    if wish is None:
        text = not_understood_text(state, cut(argument, NAME_CHARS)) if argument else model_text(state)
        return Said(text, model_buttons(state))
    has_choice = len(asked.models.tiers) > 1
    return Said(
        chosen_text(state, wish), effects=(choice_effect(asked.message.lane, wish),) if has_choice else ()
    )


def _usage(asked: Asked) -> str:
    return usage_text(asked.usage, asked.allowance, asked.money, asked.reader, asked.house)


def _change(asked: Asked) -> Said:
    preview = chosen_preview(asked.pending, asked.message.argument)
    if preview is None:
        return Said(over_line(asked.language))
    return Said(change_line(preview, asked.language), effects=drop_effects(asked.message.lane))


def _unknown(asked: Asked) -> str:
    name = cut(asked.message.command, NAME_CHARS)
    return say(asked.language, "I do not know /{name}. /help shows what I can do.", name=name)


ANSWERS: Mapping[str, Callable[[Asked], str | Said]] = {
    "start": _start,
    "help": _help,
    "new": _new,
    "forget": _forget,
    "whoami": _whoami,
    "memory": _memory,
    "why": _why,
    "model": _model,
    "usage": _usage,
    "language": lambda asked: language_said(asked.person),
    "timezone": lambda asked: timezone_said(asked.person),
    "profile": lambda asked: profile_said(asked.person),
    "rich": lambda asked: rich_said(RichState(asked.message, asked.role, asked.rich)),
    "change": _change,
    "pick": lambda asked: over_line(asked.language),
    "stop": lambda asked: nothing_to_stop_line(asked.language),
}

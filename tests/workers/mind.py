"""A model that knows nothing but its request: what it calls and says is a function of the body alone. Pure.

It understands a handful of sentences, in English and German. Ids it takes from results in the window, dates from what it is
told of the person and from the note behind the message; what is not there it cannot do, and says so.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast

import orjson

from tests.fakes.model_rules import blocks_of, text_of
from tests.fakes.model_script import Answer, Use

type Json = dict[str, Any]

BEGAN = re.compile(r"This conversation began \w+ (\d+ \w+ \d{4} \d\d:\d\d) (\S+)\.")
NOTE = re.compile(r"\n\n\[(?:\w{3} (\d+ \w{3} \d{4}) )?(\d\d:\d\d)\]$")
FRIDAY = 4
HELPLESS = "I do not know what you mean."


@dataclass(frozen=True, slots=True)
class Called:
    """A call in the window, and what came of it."""

    name: str
    arguments: Json
    result: Json
    """By name; {} for a sentence."""


@dataclass(frozen=True)
class Seen:
    """What a request shows."""

    body: Json

    @cached_property
    def asked_at(self) -> int:
        """Index of the person's last message."""
        messages = self.body["messages"]
        return max(at for at, one in enumerate(messages) if one["role"] == "user" and text_of(one).strip())

    @cached_property
    def text(self) -> str:
        """The person's last words, without the note."""
        return NOTE.sub("", text_of(self.body["messages"][self.asked_at])).strip()

    @cached_property
    def now(self) -> datetime:
        """As the person's clock shows it."""
        began = BEGAN.search(self.system)
        assert began, "nothing was said of the time"
        then = datetime.strptime(began[1], "%d %B %Y %H:%M")  # noqa: DTZ007 — wall time
        note = NOTE.search(text_of(self.body["messages"][self.asked_at]))
        if note is None:
            return then
        day = datetime.strptime(note[1], "%d %b %Y") if note[1] else then  # noqa: DTZ007
        hour, minute = map(int, note[2].split(":"))
        return day.replace(hour=hour, minute=minute)

    @cached_property
    def zone(self) -> str:
        began = BEGAN.search(self.system)
        return began[2] if began else ""

    @cached_property
    def system(self) -> str:
        return text_of({"content": self.body["system"]})

    @cached_property
    def before(self) -> tuple[Called, ...]:
        """Calls of earlier turns, oldest first."""
        return tuple(_calls(self.body["messages"][: self.asked_at]))

    @cached_property
    def now_called(self) -> tuple[Called, ...]:
        """Calls of this turn."""
        return tuple(_calls(self.body["messages"][self.asked_at :]))

    def day(self, ahead: int) -> str:
        """0: today."""
        return (self.now + timedelta(days=ahead)).date().isoformat()

    @property
    def friday(self) -> str:
        """The next one."""
        return self.day((FRIDAY - self.now.weekday() - 1) % 7 + 1)

    @property
    def touched(self) -> Json:
        """The thing that was made or changed last; {} if the window shows none."""
        done = [one.result for one in self.before if {"made", "changed"} & set(one.result)]
        return done[-1] if done else {}

    @property
    def made(self) -> Json:
        """The task that was made last, as it was then."""
        done = [one.result for one in self.before if one.result.get("made") == "task"]
        return done[-1] if done else {}


type Wants = tuple[Use, ...]
type Intent = Callable[[Seen, re.Match[str]], Wants]


def decide(body: Json) -> Answer:
    """Calls, or a last sentence."""
    seen = Seen(body)
    for pattern, intent in INTENTS:
        if match := pattern.search(seen.text):
            uses = intent(seen, match)
            break
    else:
        uses = ()
    if uses:
        return Answer("", uses, thinking=f"They said {seen.text!r}; what is it about?")
    return Answer(_sentence(seen.now_called[-1].result if seen.now_called else {}))


# ── what sentences mean ──────────────────────────────────────────────────────────────────────────────────────────
def _add(seen: Seen, match: re.Match[str]) -> Wants:
    title = match[1].capitalize()
    return () if seen.now_called else (Use("create_task", {"title": title, "list": match[2]}),)


def _dentist(seen: Seen, match: re.Match[str]) -> Wants:
    """Looks before it writes; and takes tomorrow for the day after, until it is told."""
    wrong = seen.day(2)
    match len(seen.now_called):
        case 0:
            return (Use("list_agenda", {"first_day": wrong, "last_day": wrong}),)
        case 1:
            start = f"{wrong}T{int(match[2]):02}:00"
            return (Use("create_calendar_event", {"title": match[1], "start": start, "zone": seen.zone}),)
        case _:
            return ()


def _tomorrow(seen: Seen, _: re.Match[str]) -> Wants:
    return _moved(seen, seen.day(1))


def _friday(seen: Seen, _: re.Match[str]) -> Wants:
    return _moved(seen, seen.friday)


def _moved(seen: Seen, day: str) -> Wants:
    """Whatever was spoken of last; an event keeps its time of day."""
    thing = seen.touched
    if seen.now_called or not thing:
        return ()
    if thing.get("made", thing.get("changed")) == "task":
        return (Use("update_task", {"id": thing["id"], "due": day}),)
    time = re.search(r"T\d\d:\d\d", thing["start"])
    return (Use("update_calendar_event", {"id": thing["id"], "start": day + (time[0] if time else "")}),)


def _priority(seen: Seen, match: re.Match[str]) -> Wants:
    if seen.now_called or not seen.made:
        return ()
    question, *options = (
        ("To which?", "high", "low") if match[1] == "priority" else ("Auf welche?", "hoch", "niedrig")
    )
    return (Use("ask_clarification", {"question": question, "options": options}),)


def _level(seen: Seen, match: re.Match[str]) -> Wants:
    """Only as the answer to the question."""
    asked = bool(seen.before) and seen.before[-1].name == "ask_clarification"
    if seen.now_called or not asked or not seen.made:
        return ()
    level = "high" if match[0].casefold() in {"high", "hoch"} else "low"
    return (Use("update_task", {"id": seen.made["id"], "priority": level}),)


def _memo(seen: Seen, match: re.Match[str]) -> Wants:
    if seen.now_called or not seen.touched:
        return ()
    return (Use("create_memo", {"text": match[1], "about": seen.touched["id"]}),)


def _two_more(seen: Seen, _: re.Match[str]) -> Wants:
    """Two honest equal calls."""
    if seen.now_called or not seen.made:
        return ()
    return (Use("create_task", {"title": seen.made["title"], "list": seen.made["list"]}),) * 2


INTENTS: tuple[tuple[re.Pattern[str], Intent], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), intent)
    for pattern, intent in (
        (r"^Add (\w+) to my (list)", _add),
        (r"^Setz (\w+) auf meine (Liste)", _add),
        (
            r"^Set it for tomorrow|^no, I said tomorrow|^Mach das für morgen|^nein, ich sagte morgen",
            _tomorrow,
        ),
        (r"^Change the (priority)|^Ändere die (Priorität)", _priority),
        (r"^(?:high|low|hoch|niedrig)$", _level),
        (r"^move that to Friday|^verschieb das auf Freitag", _friday),
        (r"^Two more of the same|^Noch zwei davon", _two_more),
        (r"^(Dentist) tomorrow at (\d+)", _dentist),
        (r"^(Zahnarzt) morgen um (\d+)", _dentist),
        (r"^add a memo to it too: (.+)", _memo),
        (r"^schreib auch noch eine Notiz dazu: (.+)", _memo),
    )
)


def _sentence(done: Json) -> str:
    """What was done, in one sentence."""
    what = done.get("title") or done.get("text")
    when = done.get("due") or done.get("start") or ""
    if not what:
        return HELPLESS
    return " ".join(part for part in ("OK:", what, when, done.get("priority", "")) if part)


# ── the window ───────────────────────────────────────────────────────────────────────────────────────────────────
def _calls(messages: list[Json]) -> Iterator[Called]:
    uses: dict[str, Json] = {}
    for block in (block for message in messages for block in blocks_of(message["content"])):
        if block["type"] == "tool_use":
            uses[block["id"]] = block
        if block["type"] == "tool_result":
            use = uses[block["tool_use_id"]]
            yield Called(use["name"], use["input"], _read(text_of({"content": block["content"]})))


def _read(text: str) -> Json:
    """A result: lines of `name: value`, or JSON."""
    if text.startswith("{"):
        return cast("Json", orjson.loads(text))
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)

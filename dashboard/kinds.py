"""What states, outcomes and parts are called, and the colour of each. Pure."""

from collections.abc import Mapping
from functools import cache

from dashboard.lives import Row
from dashboard.texts import say
from infra.texts import later

STATES: dict[str, tuple[str, str]] = {
    "waiting": ("waiting", later("waiting")),
    "held": ("waiting", later("waiting for more parts")),
    "running": ("running", later("running")),
    "retrying": ("scheduled", later("tried again soon")),
    "paused": ("waiting", later("paused")),
    "stuck": ("failed", later("stuck")),
    "answered": ("answered", later("answered")),
    "fallback": ("fallback", later("answered by fallback")),
    "line": ("answered", later("answered by koi")),
    "stopped": ("waiting", later("stopped")),
    "failed": ("failed", later("failed")),
}
"""State → colour and word."""

OUTCOMES = {
    "answered": later("answered"),
    "tools": later("wants tools"),
    "truncated": later("cut at its length"),
    "interrupted": later("broke off"),
    "stopped": later("stopped"),
    "refused": later("refused"),
    "paused": later("went on"),
    "rate_limited": later("rate-limited"),
    "overloaded": later("overloaded"),
    "server_error": later("error of the service"),
    "timeout": later("no answer in time"),
    "deadline": later("time was up"),
    "broken": later("connection lost"),
    "malformed": later("answer not readable"),
    "empty": later("empty answer"),
    "unauthorized": later("key refused"),
    "unpaid": later("no credit left"),
    "forbidden": later("not allowed"),
    "unknown_model": later("unknown model"),
    "rejected": later("question rejected"),
    "too_long": later("too long for the model"),
    "abandoned": later("given up"),
    "cancelled": later("cancelled"),
    "done": later("done"),
    "failed": later("failed"),
    "unknown": later("not known whether it was done"),
    "waits": later("waits for a yes"),
    "sent": later("sent"),
    "gone": later("bot was blocked"),
    "dead": later("given up"),
}

STEPS = {
    "telegram": later("Telegram"),
    "queue": later("Queue"),
    "memory": later("Memory and context"),
    "call": later("Model"),
    "tool": later("Tool"),
    "commit": later("Saved"),
    "outbox": later("Outbox"),
    "send": later("Sent"),
}
"""Of a waterfall."""

PARTS = {
    "instructions": later("Instructions"),
    "tools": later("Tools on offer"),
    "person": later("What is known of the person"),
    "memory": later("Remembered"),
    "summary": later("Summary of what was dropped"),
    "earlier": later("Earlier in this conversation"),
    "steps": later("Tool calls and results"),
    "files": later("Pictures and documents"),
    "message": later("The message"),
}
"""Of a context (dashboard.xray.GROUPS)."""

LEFT = {
    "entry": later("remembered entry"),
    "exchange": later("earlier exchange"),
    "tools": later("tool calls and results"),
    "text": later("end of the message"),
    "offer": later("tool that might be called"),
}
WHY_LEFT = {
    "no_room": later("no room in the budget"),
    "summarised": later("only the summary is quoted"),
    "older": later("older than the newest ones"),
    "folded": later("goes into the summary"),
    "too_long": later("too long"),
}
WHY = {
    "asked_for": later("that is what was asked for with /model"),
    "only_model": later("there is nothing to choose from"),
    "attachment": later("something was sent along"),
    "link": later("there is a link in the message"),
    "code": later("there is code or a log in the message"),
    "tools": later("the answer before it took several steps"),
    "several_requests": later("the message asks for several things"),
    "constraints": later("there are several numbers to keep in mind"),
    "long": later("the message is long"),
    "demanding": later("the message says a lot in few words"),
    "ongoing_strong": later("the strong model is already on it"),
    "short_request": later("a small request"),
}


def state_of(row: Row) -> str:
    """The one that is shown."""
    return states_of(row)[0]


def states_of(row: Row) -> tuple[str, ...]:
    """All that a query finds it by: whatever a model or koi said is answered too, as the counters have it."""
    if row.state == "dead":
        return ("failed",)
    if row.state == "answered":
        return ("fallback", "answered") if row.fell_back else ("answered",)
    return (row.state, "answered")


def tone_of(state: str) -> str:
    return STATES[state][0]


@cache
def state_words(state: str, language: str) -> str:
    return say(language, STATES[state][1])


def outcome_words(outcome: str, language: str) -> str:
    """As it is, if it is none that is known."""
    return say(language, OUTCOMES[outcome]) if outcome in OUTCOMES else outcome.replace("_", " ")


def words_in(table: Mapping[str, str], name: str, language: str) -> str:
    """Of STEPS, PARTS, LEFT, WHY_LEFT or WHY; as it is, if it is none that is known."""
    return say(language, table[name]) if name in table else name

"""System: processes, Redis, queues, pauses, settings, what is kept how long, what was done here."""

from importlib.metadata import PackageNotFoundError, version

from dashboard.actions import Pause, Resume, field_of
from dashboard.asked import Asked
from dashboard.in_force import in_force, kept_by
from dashboard.machine import Bot, read_system
from dashboard.page import Page, Values
from infra.pause import EVERYTHING
from infra.texts import later

KIND_WORDS = {"bot": later("Bot"), "worker": later("Worker"), "dashboard": later("Dashboard")}
START = {
    "bot": later(
        "No bot has checked in: nothing comes in or goes out. Start it: docker compose up -d bot, or koi up."
    ),
    "worker": later(
        "No worker has checked in: nothing is answered. Start it: docker compose up -d worker, or koi up."
    ),
    "dashboard": "",
}
COUNT_WORDS = {
    "lives": later("records of turns and replies"),
    "calls": later("records of model calls"),
    "audit": later("records of what was done here"),
    "texts": later("keys with texts that expire"),
    "reminders": later("reminders"),
    "dead": later("dead letters"),
    "people": later("people with a role"),
    "groups": later("groups that were decided about"),
    "mails": later("alerts to be mailed"),
}
RETENTION = {
    "entries": later("Remembered entries"),
    "conversations": later("Running conversations, after the last message"),
    "records": later("What answers were made of"),
    "waiting": later("Waiting messages and unsent replies: until they are answered or sent"),
    "dead": later("Dead letters: until somebody retries or drops them"),
    "things": later("Tasks, memos, events, reminders and facts: until who made them deletes them"),
    "lives": later("Records of turns and replies, ids and numbers only"),
    "minutes": later("Counters by the minute"),
    "calls": later("Records of model calls"),
    "spent": later("Counters of what people used"),
    "audit": later("Records of what was done on the dashboard"),
    "seen": later("Ids of messages, so that none is taken twice"),
}
OUTCOME_WORDS = {"done": later("done"), "changed": later("had changed"), "refused": later("refused")}
OUTCOME_TONES = {"done": "answered", "changed": "fallback", "refused": "failed"}


async def values(asked: Asked) -> Values:
    """Raises what redis-py raises."""
    settings = asked.shared.settings
    return {
        "system": await read_system(asked.shared),
        "kind_words": {kind: asked.say(words) for kind, words in KIND_WORDS.items()},
        "start": {kind: asked.say(words) if words else "" for kind, words in START.items()},
        "count_words": {kind: asked.say(words) for kind, words in COUNT_WORDS.items()},
        "outcome_words": {outcome: asked.say(words) for outcome, words in OUTCOME_WORDS.items()},
        "outcome_tones": OUTCOME_TONES,
        "retention": {what: asked.say(words) for what, words in RETENTION.items()},
        "kept": kept_by(settings),
        "settings": in_force(settings),
        "version": koi_version(),
        "pause_all": field_of(Pause(EVERYTHING)),
        "resume_all": resume_all,
        "bot_field": bot_field,
    }


def resume_all(since_ms: int) -> str:
    """Of the form that ends the pause of everything."""
    return field_of(Resume(EVERYTHING, since_ms))


def bot_field(bot: Bot) -> str:
    """Of the form that pauses it, or resumes it."""
    return field_of(Pause(bot.id) if bot.since_ms is None else Resume(bot.id, bot.since_ms))


def koi_version() -> str:
    """Of this process; "" if koi was not installed as a package."""
    try:
        return version("koi")
    except PackageNotFoundError:
        return ""


PAGE = Page(
    "system",
    "/system",
    later("System"),
    values,
    live=("processes", "redis_state", "queues", "pauses", "actions"),
)

"""What is asked before acts, and said after them. Pure."""

from dashboard.perform import Report, Why
from dashboard.texts import say, say_n


def question(name: str, n: int, language: str) -> str:
    """Before acts that cannot be taken back, or all that match a filter."""
    return {
        "retry": say_n(language, "Try {n} message again?", "Try {n} messages again?", n),
        "drop": say_n(
            language,
            "Drop {n} message for good? Its text is deleted, and who wrote it is told.",
            "Drop {n} messages for good? Their texts are deleted, and who wrote them is told.",
            n,
        ),
        "abort": say_n(
            language,
            "Stop {n} answer? What is written of it so far is sent.",
            "Stop {n} answers? What is written of them so far is sent.",
            n,
        ),
        "delete": say_n(
            language,
            "Delete {n} waiting message? It will not be answered, and who wrote it is told.",
            "Delete {n} waiting messages? They will not be answered, and who wrote them is told.",
            n,
        ),
        "run": say_n(language, "Try {n} chat now?", "Try {n} chats now?", n),
        "remind": say_n(language, "Send {n} reminder now?", "Send {n} reminders now?", n),
        "pause": say_n(language, "Pause {n} bot?", "Pause {n} bots?", n),
        "resume": say_n(language, "Resume {n} bot?", "Resume {n} bots?", n),
        "forget": say_n(
            language,
            "Forget {n} entry? It is gone at once, and conversations of its owner begin anew.",
            "Forget {n} entries? They are gone at once, and conversations of their owners begin anew.",
            n,
        ),
    }[name]


def yes(name: str, language: str) -> str:
    """On the button that does it."""
    return {
        "retry": say(language, "Try again"),
        "drop": say(language, "Drop"),
        "abort": say(language, "Stop"),
        "delete": say(language, "Delete"),
        "run": say(language, "Try now"),
        "remind": say(language, "Send now"),
        "pause": say(language, "Pause"),
        "resume": say(language, "Resume"),
        "forget": say(language, "Forget"),
    }[name]


def result(name: str, report: Report, language: str) -> str:
    """What was done, and of the rest how many were not, and why."""
    parts = [_done(name, len(report.done), language)] if report.done else []
    parts += [_why(why, n, language) for why, n in report.reasons.items()]
    return " ".join(parts)


def _done(name: str, n: int, language: str) -> str:
    return {
        "retry": say_n(language, "{n} message is tried again.", "{n} messages are tried again.", n),
        "drop": say_n(language, "{n} message dropped.", "{n} messages dropped.", n),
        "abort": say_n(language, "{n} answer is being stopped.", "{n} answers are being stopped.", n),
        "delete": say_n(language, "{n} message deleted.", "{n} messages deleted.", n),
        "run": say_n(language, "{n} chat is tried now.", "{n} chats are tried now.", n),
        "remind": say_n(language, "{n} reminder is on its way.", "{n} reminders are on their way.", n),
        "pause": say(language, "Paused. What is running ends; what comes in waits and is kept."),
        "resume": say(language, "Resumed. What waited is answered now."),
        "forget": say_n(language, "{n} entry forgotten.", "{n} entries forgotten.", n),
    }[name]


def _why(why: Why, n: int, language: str) -> str:
    return {
        "gone": say_n(language, "{n} was not there any more.", "{n} were not there any more.", n),
        "edited": say_n(
            language,
            "{n} holds something else now: look again.",
            "{n} hold something else now: look again.",
            n,
        ),
        "taken": say_n(language, "{n} is already being worked on.", "{n} are already being worked on.", n),
        "other": say_n(
            language,
            "In {n} chat something else is in work now.",
            "In {n} chats something else is in work now.",
            n,
        ),
        "ended": say_n(language, "{n} was over already.", "{n} were over already.", n),
        "already": say_n(language, "{n} was paused already.", "{n} were paused already.", n),
        "paused": say_n(language, "{n} waits for the end of a pause.", "{n} wait for the end of a pause.", n),
        "unreadable": say_n(
            language, "{n} cannot be read by this release.", "{n} cannot be read by this release.", n
        ),
        "broken": say_n(
            language,
            "{n} cannot be changed: Redis refuses it.",
            "{n} cannot be changed: Redis refuses it.",
            n,
        ),
        "unknown": say_n(
            language,
            "Redis did not answer: {n} may have been done or not. Look again.",
            "Redis did not answer: {n} may have been done or not. Look again.",
            n,
        ),
    }[why]

"""What koi adds below an answer: that it is late, cut off or stopped, that a file was read only in part. Pure."""

from datetime import tzinfo

from memory.session import suggests_fresh_start
from schemas.memory import Session
from workers.converse import Answered
from workers.cut_off import ending_line
from workers.messages import Turn
from workers.outgoing import in_markdown
from workers.services import Services
from workers.texts import say, say_n
from workers.times import moment
from workers.usage import cost_text, used_up_line
from workers.words import cut_line, unreadable_line


def notes_of(
    turn: Turn, answered: Answered, session: Session, s: Services, *, zone: tzinfo, file_line: str
) -> list[str]:
    """In the order in which they are read. session: with this answer in it. file_line: of the files that were sent."""
    completion, language = answered.completion, turn.language
    notes = [
        _late_line(turn, zone),
        ending_line(completion.ending, completion.text or answered.rounds.text, language),
        _stop_line(answered, s, language, zone),
        in_markdown(file_line),
        unreadable_line(turn.words, language),
        cut_line(language) if answered.plan.is_cut else "",
        _long_line(session, language) if suggests_new(session, answered, s) else "",
    ]
    return [note for note in notes if note]


def suggests_new(session: Session, answered: Answered, s: Services) -> bool:
    """The conversation is long: a button begins a new one."""
    return suggests_fresh_start(session, s.session.suggest_new_after) and not answered.rounds.ends


def _long_line(session: Session, language: str) -> str:
    return say_n(
        language,
        "We have exchanged {n} message. If you begin something new, a fresh start keeps answers quick; what we talked "
        "about stays remembered.",
        "We have exchanged {n} messages. If you begin something new, a fresh start keeps answers quick; what we talked "
        "about stays remembered.",
        session.total,
    )


def _stop_line(answered: Answered, s: Services, language: str, zone: tzinfo) -> str:
    match answered.stop:
        case "rounds":
            return say_n(
                language,
                "I stopped after {n} step with my tools; what was done until then stands. Write “go on”, and I continue.",
                "I stopped after {n} steps with my tools; what was done until then stands. Write “go on”, and I continue.",
                len(answered.rounds.done),
            )
        case "cost":
            most = cost_text(s.max_turn_microusd, s.money, language)
            return say(
                language,
                "I stopped here: going on could cost more than {most}, the most that one message may cost. What was done "
                "until then stands.",
                most=most,
            )
        case "plan":
            return used_up_line(language, answered.used_up, zone) if answered.used_up else ""
        case "repeats":
            return say(
                language, "I stopped here: I did the same thing again and again without getting any further."
            )
        case None:
            return ""


def _late_line(turn: Turn, zone: tzinfo) -> str:
    if not turn.late_ms:
        return ""
    when = moment(turn.late_ms, zone, turn.language)
    return say(turn.language, "I was away: your message is from {when}.", when=when)

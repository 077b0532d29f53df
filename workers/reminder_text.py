"""What people read of their reminders. Pure."""

from datetime import tzinfo

from schemas.reply import Button
from schemas.things import Reminder
from tools.firing import Fires, zone_of
from tools.times import for_people, written
from tools.tool import Here
from workers.listing import Rows, moment_of
from workers.texts import say, say_n
from workers.zones import named


def fired_text(fires: Fires, now_ms: int, here: tzinfo) -> str:
    """ "⏰ 08:00 · Take the pills", always with its time, since whoever sends it may be late; with its zone, if that is not
    `here`, where the person is; if koi was late, that and when it was due.
    """
    reminder, language = fires.reminder, fires.reminder.language
    zone = zone_of(reminder)
    city = "" if zone.key == named(here).key else f" ({zone.key.rpartition('/')[2].replace('_', ' ')})"
    lines = [f"⏰ {fires.local:%H:%M}{city} · {reminder.text}"]
    if fires.late:
        at = for_people(written(fires.local.replace(second=0)), zone, zone, language, now_ms)
        lines.append(say(language, "It was due {at}; koi was not running then.", at=at))
    if fires.missed:
        lines.append(
            say_n(
                language,
                "It was due {n} more time since.",
                "It was due {n} more times since.",
                fires.missed,
            )
        )
    return "\n".join(lines)


def fired_buttons(reminder: Reminder) -> Rows:
    language = reminder.language
    return (
        (
            Button(text=say(language, "✓ Done"), command=f"/done {reminder.id}"),
            Button(text=say(language, "10 min"), command=f"/snooze {reminder.id} 10m"),
            Button(text=say(language, "1 hour"), command=f"/snooze {reminder.id} 1h"),
            Button(text=say(language, "1 day"), command=f"/snooze {reminder.id} 1d"),
        ),
    )


def done_text(after: Reminder | None, before: Reminder, here: Here) -> str:
    """after: None: it is over and deleted."""
    if after is None:
        return say(here.language, "✓ Done: {text}", text=before.text)
    return say(
        here.language, "✓ Done: {text}. Next: {at}.", text=before.text, at=moment_of(after.due_ms, here)
    )


def snoozed_text(reminder: Reminder, here: Here) -> str:
    """reminder: as it is afterwards."""
    return say(here.language, "⏰ {at} · {text}", text=reminder.text, at=moment_of(reminder.due_ms, here))

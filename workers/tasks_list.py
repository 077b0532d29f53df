"""/tasks: what is to be done, and what a tap does to it. Pure.

/tasks, /tasks 2 (a page), /tasks shopping (a list, or words), /tasks t17 (one task with its buttons), and
/tasks done|open|high|normal|tomorrow|delete t17.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from zoneinfo import ZoneInfo

from infra.texts import later
from schemas.reply import Button
from schemas.things import Task
from tools.fields import matches
from tools.times import at_ms, for_people, is_day, kept_local, kept_zone, local_at
from tools.tool import Here, Ran, Things
from workers.listing import (
    Edit,
    Line,
    Listed,
    Order,
    Rows,
    Shown,
    brief,
    delete_button,
    deleted_text,
    gone,
    memo_lines,
    moment_of,
    not_for_it,
    not_there,
    order_of,
    page_of,
)
from workers.texts import say, say_n

COMMAND = "tasks"
MARKS = {"high": "❗", "normal": "•", "low": "•"}
PRIORITIES = {"high": later("high"), "low": later("low")}


def tasks_answer(things: Things, argument: str, here: Here) -> Listed:
    """The answer to `/tasks ARGUMENT`."""
    order = order_of(argument)
    if not order.id:
        return _list(things, order, here)
    task = things.by_id.get(order.id)
    if not isinstance(task, Task):
        return not_there(COMMAND, order.id, here.language)
    if not order.verb:
        return Shown(task_text(task, things, here), _buttons(task, here.language))
    if order.verb == "delete":
        return gone(deleted_text(task.title, task.id, things, here.language), task.id, _all(here.language))
    return _edit(task, order.verb, here)


# ── all ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _list(things: Things, order: Order, here: Here) -> Listed:
    tasks = [thing for thing in things.by_id.values() if isinstance(thing, Task)]
    if not tasks:
        return Shown(_none(here))
    found = [task for task in tasks if matches(order.words, task.title, task.note, task.list_name)]
    in_order = sorted(found, key=lambda task: _rank(task, here))
    head = _head(found, here.language)
    return page_of(in_order, lambda task: _line(task, here), head, order, here, command=COMMAND)


def _none(here: Here) -> str:
    if here.private:
        return say(
            here.language,
            "You have no tasks. Just write me what is to be done, for instance: “Put bread on my shopping list.”",
        )
    return say(
        here.language,
        "This group has no tasks. Just write what is to be done, for instance: “Put bread on the shopping list.”",
    )


def _head(tasks: Sequence[Task], language: str) -> str:
    done = sum(task.done_ms > 0 for task in tasks)
    head = say_n(language, "{n} open task", "{n} open tasks", len(tasks) - done)
    return head + (", " + say(language, "{n} done", n=done) if done else "")


def _line(task: Task, here: Here) -> Line:
    """ "❗ Call the dentist · Fri, 27 Nov, overdue · health · Project: teeth · t17"."""
    parts = [f"{_mark(task)} {brief(task.title)}"]
    if task.due and not task.done_ms:
        parts.append(due_text(task, here))
    parts += [task.list_name] if task.list_name else []
    parts += [say(here.language, "Project: {name}", name=task.project)] if task.project else []
    label = task.title if _mark(task) == MARKS["normal"] else f"{_mark(task)} {task.title}"
    return Line(task.id, " · ".join([*parts, task.id]), label)


def _mark(task: Task) -> str:
    return "✓" if task.done_ms else MARKS[task.priority]


def _rank(task: Task, here: Here) -> tuple[float, ...]:
    """Overdue ones, high ones, those with a time, the others, low ones, and last what is done, the newest first."""
    if task.done_ms:
        return (9, -task.done_ms)
    due = _over_ms(task, here)
    if due <= here.now_ms:
        return (0, due)
    grade = {"high": 1, "normal": 2 if task.due else 3, "low": 4}[task.priority]
    return (grade, due, -task.made_ms)


def _over_ms(task: Task, here: Here) -> float:
    """When it is overdue, ms since 1970: of a day its end."""
    if not task.due:
        return inf
    local = kept_local(task.due)
    return at_ms(local + timedelta(days=1) if is_day(task.due) else local, _zone(task, here))


def _zone(task: Task, here: Here) -> ZoneInfo:
    return kept_zone(task.zone, here.zone)


def due_text(task: Task, here: Here) -> str:
    """ "Fri, 27 Nov, overdue"."""
    when = for_people(task.due, _zone(task, here), here.zone, here.language, here.now_ms)
    is_over = not task.done_ms and _over_ms(task, here) <= here.now_ms
    return say(here.language, "{when}, overdue", when=when) if is_over else when


# ── one ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def task_text(task: Task, things: Things, here: Here) -> str:
    """All of one task, with the memos about it."""
    language = here.language
    lines = [f"{_mark(task)} {task.title}"]
    if task.done_ms:
        lines.append(say(language, "Done: {when}", when=moment_of(task.done_ms, here)))
    if task.due:
        lines.append(say(language, "Due: {when}", when=due_text(task, here)))
    if task.list_name:
        lines.append(say(language, "List: {name}", name=task.list_name))
    if task.priority != "normal":
        lines.append(say(language, "Priority: {priority}", priority=say(language, PRIORITIES[task.priority])))
    if task.project:
        lines.append(say(language, "Project: {name}", name=task.project))
    lines += ["", task.note] if task.note else []
    lines += memo_lines(task.id, things)
    return "\n".join([*lines, "", f"{task.id} · {moment_of(task.made_ms, here)}"])


def _buttons(task: Task, language: str) -> Rows:
    delete, back = delete_button(COMMAND, task.id, language), (_all(language),)
    if task.done_ms:
        return (_button(OPEN, task, language), delete), back
    graded = NORMAL if task.priority == "high" else HIGH
    return (
        (_button(DONE, task, language), _button(TOMORROW, task, language)),
        (_button(graded, task, language), delete),
        back,
    )


def _all(language: str) -> Button:
    return Button(text=say(language, "All tasks"), command=f"/{COMMAND}")


DONE, OPEN, HIGH, NORMAL, TOMORROW = "done", "open", "high", "normal", "tomorrow"
LABELS = {
    DONE: later("✓ Done"),
    OPEN: later("Open again"),
    HIGH: later("Important"),
    NORMAL: later("Not so important"),
    TOMORROW: later("Tomorrow"),
}


def _button(verb: str, task: Task, language: str) -> Button:
    return Button(text=say(language, LABELS[verb]), command=f"/{COMMAND} {verb} {task.id}")


# ── changed ──────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Change:
    update: Mapping[str, object]
    text: str


def _edit(task: Task, verb: str, here: Here) -> Listed:
    language = here.language
    change = _change(task, verb, here)
    if change is None:
        return not_for_it(COMMAND, task.id, language)
    if all(getattr(task, name) == value for name, value in change.update.items()):
        return Shown(change.text, ((_all(language),),))
    changed = task.model_copy(update={**change.update, "changed_ms": here.now_ms})
    undo = (_button(OPEN, task, language),) if verb == DONE else ()
    return Edit(Ran(change.text, put=(changed,)), change.text, ((*undo, _all(language)),))


def _change(task: Task, verb: str, here: Here) -> Change | None:
    language, title = here.language, brief(task.title)
    match verb:
        case "done":
            return Change(
                {"done_ms": task.done_ms or here.now_ms}, say(language, "Done: {title}", title=title)
            )
        case "open":
            return Change({"done_ms": 0}, say(language, "Open again: {title}", title=title))
        case "high":
            return Change({"priority": "high"}, say(language, "Important: {title}", title=title))
        case "normal":
            return Change({"priority": "normal"}, say(language, "Not so important: {title}", title=title))
        case "tomorrow":
            due, zone = _tomorrow(task, here), _zone(task, here)
            when = for_people(due, zone, here.zone, language, here.now_ms)
            text = say(language, "{title}: due {when}", title=title, when=when)
            return Change({"due": due, "zone": zone.key, "done_ms": 0}, text)
        case _:
            return None


def _tomorrow(task: Task, here: Here) -> str:
    """The day after today where the task is due; its time of day stays."""
    day = (local_at(here.now_ms, _zone(task, here)) + timedelta(days=1)).date().isoformat()
    return day if not task.due or is_day(task.due) else day + task.due[len("2026-12-01") :]

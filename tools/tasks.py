"""Tasks: things to be done, also the items of lists ("bread" of "shopping"). Pure."""

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.things import Priority, Task
from tools.fields import LIST_CHARS, MayBeBlank, OneLine, Text, Title, answer, filled, folded, matches
from tools.lookup import find, label, things_about
from tools.texts import say
from tools.times import for_model, for_people, future, kept_zone, read_when
from tools.tool import Arguments, Here, Ran, Refused, Things, Tool, new_id

OPEN_MOST = 500
"""Open tasks of one owner."""
SHOWN_MOST = 50
"""Rows of `list_tasks`."""
DONE_SHOWN_MS = 30 * 24 * 3_600_000
"""How long done tasks stand among all others."""
RANKS: dict[Priority, int] = {"high": 0, "normal": 1, "low": 2}

type ListName = Annotated[OneLine, Field(max_length=LIST_CHARS)]


# ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────
class CreateTask(Arguments):
    title: Title
    list: ListName = Field("", description="e.g. shopping")
    due: OneLine = Field("", description="2026-12-01 or 2026-12-01T08:00, local")
    priority: Priority = "normal"
    note: Text = ""


def create_task(asked: CreateTask, here: Here, things: Things) -> Ran:
    task = _new(asked, here, things)
    return Ran(answer(made="task", **_row(task)), put=(task,))


def preview_create(asked: CreateTask, here: Here, things: Things) -> str:
    task = _new(asked, here, things)
    return say(
        here.language, "New task: {task}", task="\n".join((_told(task, here), *_note(task.note, here)))
    )


def _new(asked: CreateTask, here: Here, things: Things) -> Task:
    _refuse_too_many(things)
    due, zone = _due(asked.due, here)
    return Task(
        id=new_id("t", things),
        title=asked.title,
        note=asked.note,
        list_name=_list_name(asked.list, things),
        due=due,
        zone=zone,
        priority=asked.priority,
        project=here.project,
        made_ms=here.now_ms,
        changed_ms=here.now_ms,
    )


# ── update ───────────────────────────────────────────────────────────────────────────────────────────────────────
class UpdateTask(Arguments):
    id: OneLine = Field(description="e.g. t17")
    title: Title | None = None
    list: ListName | None = None
    due: OneLine | None = Field(None, description='"" clears')
    priority: Priority | None = None
    note: Text | None = Field(None, description="replaces the old")
    status: Literal["open", "done", "deleted"] | None = None


def update_task(asked: UpdateTask, here: Here, things: Things) -> Ran:
    task = find(Task, asked.id, things)
    if asked.status == "deleted":
        related = tuple(thing.id for thing in things_about(task.id, things))
        return Ran(answer(deleted=task.id, title=task.title, still_kept_about_it=related), drop=(task.id,))
    new = _changed(task, asked, here, things)
    if new == task:
        return Ran(answer(unchanged="task", **_row(task)))
    return Ran(answer(changed="task", **_row(new)), put=(new,))


def preview_update(asked: UpdateTask, here: Here, things: Things) -> str:
    task = find(Task, asked.id, things)
    if asked.status == "deleted":
        return say(here.language, "Delete task: {task}", task=_told(task, here))
    new = _changed(task, asked, here, things)
    told = "\n".join((_told(new, here), *(_note(new.note, here) if new.note != task.note else ())))
    if new.done_ms and not task.done_ms:
        return say(here.language, "Task done: {task}", task=told)
    if task.done_ms and not new.done_ms:
        return say(here.language, "Task open again: {task}", task=told)
    return say(here.language, "Change task {old}: {task}", old=label(task), task=told)


def _changed(task: Task, asked: UpdateTask, here: Here, things: Things) -> Task:
    """The task as it will be; the same value if it is so already. Raises: Refused."""
    given = asked.model_dump(exclude={"id", "status"}, exclude_none=True)
    if not given and asked.status is None:
        raise Refused(
            f"Nothing to change in {task.id} was given; give title, list, due, priority, note or status."
        )
    if "list" in given:
        given["list_name"] = _list_name(given.pop("list"), things)
    if "due" in given and given["due"] != task.due:
        given["due"], given["zone"] = _due(given["due"], here)
    if asked.status == "done":
        given["done_ms"] = task.done_ms or here.now_ms
    if asked.status == "open" and task.done_ms:
        _refuse_too_many(things)
        given["done_ms"] = 0
    new = task.model_copy(update=given)
    return task if new == task else new.model_copy(update={"changed_ms": here.now_ms})


# ── list ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class ListTasks(Arguments):
    list: OneLine = ""
    status: Literal["open", "done", "all"] = "open"
    due_until: OneLine = Field("", description="date, inclusive")
    query: MayBeBlank = ""


def list_tasks(asked: ListTasks, here: Here, things: Things) -> Ran:
    until = read_when(asked.due_until, here.zone).text if asked.due_until else ""
    found = [
        task
        for task in chosen(things, asked.status, here.now_ms)
        if (not asked.list or folded(task.list_name) == folded(asked.list))
        and (not until or (task.due and task.due[: len(until)] <= until))
        and matches(asked.query, task.id, task.title, task.note)
    ]
    rows = [_row(task) for task in found[:SHOWN_MOST]]
    lists = () if found else sorted({task.list_name for task in _tasks(things) if task.list_name})
    return Ran(answer(in_all=len(found), lists_there_are=lists, tasks=rows))


def chosen(things: Things, status: Literal["open", "done", "all"], now_ms: int) -> list[Task]:
    """Open ones first, by due time, importance and age; then done ones, the newest first. Of `all`, those done long ago
    are left out.
    """
    tasks = _tasks(things)
    wanted = [task for task in tasks if not task.done_ms] if status != "done" else []
    wanted.sort(key=lambda task: (not task.due, task.due, RANKS[task.priority]))
    if status == "open":
        return wanted
    since_ms = now_ms - DONE_SHOWN_MS if status == "all" else 0
    done = [task for task in tasks if task.done_ms and task.done_ms >= since_ms]
    return wanted + sorted(done, key=lambda task: -task.done_ms)


# ── one task ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _tasks(things: Things) -> list[Task]:
    return [thing for thing in things.by_id.values() if isinstance(thing, Task)]


def _refuse_too_many(things: Things) -> None:
    if sum(not task.done_ms for task in _tasks(things)) >= OPEN_MOST:
        raise Refused(
            f"There are {OPEN_MOST} open tasks already, the most there may be; finish or delete some first."
        )


def _due(text: str, here: Here) -> tuple[str, str]:
    """What is kept of a due time, and its zone; "" for none. Raises: Refused."""
    if not text:
        return "", ""
    found = future(text, "", here, fold="first")
    return found.text, found.zone.key


def _list_name(name: str, things: Things) -> str:
    """As the list is written already."""
    there = (task.list_name for task in reversed(_tasks(things)))
    return next((one for one in there if folded(one) == folded(name)), name)


def _row(task: Task) -> dict[str, Any]:
    """For the model; without what is not set."""
    return filled(
        id=task.id,
        title=task.title,
        list=task.list_name,
        due=for_model(task.due) if task.due else "",
        priority=task.priority if task.priority != "normal" else "",
        status="done" if task.done_ms else "open",
        note=task.note,
        project=task.project,
    )


def _told(task: Task, here: Here) -> str:
    """ "Bread (list “shopping”), due Tue, 1 Dec, high priority", in the person's language."""
    parts = [task.title]
    if task.list_name:
        parts[0] += " " + say(here.language, "(list “{name}”)", name=task.list_name)
    if task.due:
        zone = kept_zone(task.zone, here.zone)
        time = for_people(task.due, zone, here.zone, here.language, here.now_ms)
        parts.append(say(here.language, "due {time}", time=time))
    if task.priority == "high":
        parts.append(say(here.language, "high priority"))
    if task.priority == "low":
        parts.append(say(here.language, "low priority"))
    return ", ".join(parts)


def _note(note: str, here: Here) -> tuple[str, ...]:
    return (say(here.language, "Note: {note}", note=note),) if note else ()


TOOLS: tuple[Tool[Any], ...] = (
    Tool("create_task", "Add a task, or an item to a list.", CreateTask, create_task, preview=preview_create),
    Tool(
        "update_task",
        "Change, finish, reopen or delete a task.",
        UpdateTask,
        update_task,
        preview=preview_update,
    ),
    Tool("list_tasks", "Find tasks and list items.", ListTasks, list_tasks, changes=False),
)

"""Memos: notes, by themselves or about a task, event or reminder. Pure."""

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.things import Memo
from tools.fields import TEXT_CHARS, MayBeBlank, OneLine, Text, answer, filled, folded, matches
from tools.lookup import find, find_any, id_of, label
from tools.texts import say
from tools.tool import Arguments, Here, Ran, Refused, Things, Tool, new_id

MOST = 500
"""Memos of one owner."""
SHOWN_MOST = 20
"""Of those that `find_memos` found."""
SHOWN_CHARS = 8_000
"""Of their texts together; longer ones are cut, each to its share."""

type NotBlank = Annotated[Text, Field(min_length=1)]


# ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────
class CreateMemo(Arguments):
    text: NotBlank
    title: MayBeBlank = ""
    about: OneLine = Field("", description="id of a task, event or reminder")


def create_memo(asked: CreateMemo, here: Here, things: Things) -> Ran:
    memo = _new(asked, here, things)
    return Ran(answer(made="memo", **_row(memo)), put=(memo,))


def preview_create(asked: CreateMemo, here: Here, things: Things) -> str:
    return say(here.language, "New memo: {memo}", memo=_told(_new(asked, here, things), here, things))


def _new(asked: CreateMemo, here: Here, things: Things) -> Memo:
    if sum(isinstance(thing, Memo) for thing in things.by_id.values()) >= MOST:
        raise Refused(f"There are {MOST} memos already, the most there may be; delete some first.")
    return Memo(
        id=new_id("m", things),
        text=asked.text,
        title=asked.title,
        about=_about(asked.about, things),
        project=here.project,
        made_ms=here.now_ms,
        changed_ms=here.now_ms,
    )


def _about(id_: str, things: Things) -> str:
    """The id of what the memo is about. Raises: Refused: that is not there, or a memo itself."""
    if not id_:
        return ""
    found = find_any(id_, things)
    if isinstance(found, Memo):
        raise Refused(f"{found.id} is a memo; about must be the id of a task, event or reminder.")
    return found.id


# ── update ───────────────────────────────────────────────────────────────────────────────────────────────────────
class UpdateMemo(Arguments):
    id: OneLine = Field(description="e.g. m2")
    text: NotBlank | None = Field(None, description="replaces the old")
    append: NotBlank | None = Field(None, description="a line behind the old")
    title: MayBeBlank | None = None
    status: Literal["kept", "deleted"] = "kept"


def update_memo(asked: UpdateMemo, here: Here, things: Things) -> Ran:
    memo = find(Memo, asked.id, things)
    if asked.status == "deleted":
        return Ran(answer(deleted=memo.id, title=label(memo)), drop=(memo.id,))
    new = _changed(memo, asked, here)
    if new == memo:
        return Ran(answer(unchanged="memo", **_row(memo)))
    return Ran(answer(changed="memo", **_row(new)), put=(new,))


def preview_update(asked: UpdateMemo, here: Here, things: Things) -> str:
    memo = find(Memo, asked.id, things)
    if asked.status == "deleted":
        return say(here.language, "Delete memo: {memo}", memo=label(memo))
    told = _told(_changed(memo, asked, here), here, things)
    return say(here.language, "Change memo {old}: {memo}", old=label(memo), memo=told)


def _changed(memo: Memo, asked: UpdateMemo, here: Here) -> Memo:
    """The memo as it will be; the same value if it is so already. Raises: Refused."""
    if asked.text is None and asked.append is None and asked.title is None:
        raise Refused(
            f"Nothing to change in {memo.id} was given; give text, append, title or status deleted."
        )
    text = memo.text if asked.text is None else asked.text
    if asked.append is not None:
        text = f"{text}\n{asked.append}"
    if len(text) > TEXT_CHARS:
        raise Refused(
            f"{memo.id} would have {len(text)} characters, {TEXT_CHARS} are the most; make a second memo instead."
        )
    new = memo.model_copy(update={"text": text, "title": memo.title if asked.title is None else asked.title})
    return memo if new == memo else new.model_copy(update={"changed_ms": here.now_ms})


# ── find ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class FindMemos(Arguments):
    query: MayBeBlank = Field("", description="words that all occur")
    about: OneLine = ""


def find_memos(asked: FindMemos, here: Here, things: Things) -> Ran:
    del here
    found = found_memos(things, asked.query, asked.about)
    shown = found[:SHOWN_MOST]
    whole = sum(len(memo.text) for memo in shown) <= SHOWN_CHARS
    most = TEXT_CHARS if whole else SHOWN_CHARS // len(shown)
    return Ran(
        answer(
            in_all=len(found),
            note="" if whole else "Long texts are cut (…); a query that finds fewer shows more.",
            memos=[_row(memo, most) for memo in shown],
        )
    )


def found_memos(things: Things, query: str, about: str) -> list[Memo]:
    """Those in which (or in the name of what they are about) every word of the query occurs; changed last, first."""

    def context(memo: Memo) -> str:
        return label(things.by_id[memo.about]) if memo.about in things.by_id else ""

    memos = [thing for thing in things.by_id.values() if isinstance(thing, Memo)]
    found = [
        memo
        for memo in memos
        if (not about or memo.about == id_of(about))
        and (folded(query) == memo.id or matches(query, memo.title, memo.text, context(memo)))
    ]
    found.reverse()  # of one moment: the newest first
    return sorted(found, key=lambda memo: -memo.changed_ms)


# ── one memo ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _row(memo: Memo, most_chars: int = TEXT_CHARS) -> dict[str, Any]:
    """For the model; without what is not set."""
    text = memo.text if len(memo.text) <= most_chars else memo.text[:most_chars] + "…"
    return filled(
        id=memo.id,
        title=memo.title,
        text=text,
        about=memo.about,
        project=memo.project,
    )


def _told(memo: Memo, here: Here, things: Things) -> str:
    """Title, what it is about, text, in the person's language."""
    lines = [memo.title] if memo.title else []
    if memo.about in things.by_id:
        lines.append(say(here.language, "about {title}", title=label(things.by_id[memo.about])))
    return "\n".join((", ".join(lines), memo.text)) if lines else memo.text


TOOLS: tuple[Tool[Any], ...] = (
    Tool("create_memo", "Keep a note.", CreateMemo, create_memo, preview=preview_create),
    Tool("update_memo", "Change or delete a memo.", UpdateMemo, update_memo, preview=preview_update),
    Tool("find_memos", "Find memos, newest first.", FindMemos, find_memos, changes=False),
)

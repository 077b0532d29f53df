"""/people: everybody with their role, groups, and who waits. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from infra.cut import shorten
from schemas.person import Knock
from schemas.reply import Button
from workers.house import ROLES, House, approve_button, block_button, is_group, unblock_button
from workers.plans import plan_of
from workers.said import Said
from workers.texts import say, say_n
from workers.times import moment

PER_PAGE = 10
LABEL_CHARS = 24
"""Of a name on a button."""
ORDER = ("owner", "member", "guest", "blocked")


@dataclass(frozen=True, slots=True)
class Row:
    """A line, and the buttons that go with it."""

    line: str
    buttons: tuple[Button, ...] = ()


def people_said(house: House, argument: str) -> Said:
    """All of them. argument: a page, from 1."""
    waiting = [_waiting(house, knock) for knock in house.knocks]
    people = [_person(house, user_id) for user_id in _ids(house)]
    groups = [_group(house, chat_id) for chat_id in sorted(house.people.groups)]
    rows = [*waiting, *people, *groups]
    pages = max(1, -(-len(rows) // PER_PAGE))
    page = min(max(1, int(argument) if argument.isdecimal() else 1), pages)
    shown = rows[(page - 1) * PER_PAGE : page * PER_PAGE]
    lines = [_head(house), "", *(row.line for row in shown)]
    if pages > 1:
        lines += ["", say(house.language, "Page {page} of {pages}", page=page, pages=pages)]
    return Said("\n".join(lines), (*_buttons(shown), *_turning(page, pages, house.language)))


def waiting_said(house: House) -> Said:
    """Who asks to be let in."""
    if not house.knocks:
        return Said(say(house.language, "Nobody waits to be let in. /people shows everybody."))
    rows = [_waiting(house, knock) for knock in house.knocks[:PER_PAGE]]
    return Said("\n".join(row.line for row in rows), _buttons(rows))


def role_word(role: str, language: str) -> str:
    return say(language, ROLES[role])


def _head(house: House) -> str:
    can = sum(house.people.role_of(user_id) != "blocked" for user_id in _ids(house))
    return say_n(house.language, "{n} person may talk to me:", "{n} people may talk to me:", can)


def _ids(house: House) -> list[str]:
    """Of all people, by role, those who came first before the others; ids of the settings without a record last."""
    people = house.people
    known = {*people.by_id, *people.allowed, *filter(None, [people.owner_id])}

    def rank(user_id: str) -> tuple[int, int, str]:
        person = people.by_id.get(user_id)
        return ORDER.index(people.role_of(user_id)), person.since_ms if person else house.now_ms, user_id

    return sorted(known, key=rank)


def _person(house: House, user_id: str) -> Row:
    """ "• Ann (43): member, since 5 Apr, 14:23, plan free"."""
    language, role, person = house.language, house.people.role_of(user_id), house.people.by_id.get(user_id)
    plan = plan_of(house.plans, user_id, house.people.owner_id)
    facts = [role_word(role, language), *_since(house, person.since_ms if person else 0)]
    facts += [] if role == "blocked" or plan is None else [say(language, "plan {plan}", plan=plan.name)]
    facts += ["TELEGRAM_ALLOWED_USERS"] if user_id in house.people.allowed else []
    return Row(_line(house, user_id, facts), _switch(house, user_id, is_blocked=role == "blocked"))


def _group(house: House, chat_id: str) -> Row:
    group, language = house.people.groups[chat_id], house.language
    word = say(language, "blocked") if group.role == "blocked" else say(language, "group, everybody there")
    facts = [word, *_since(house, group.since_ms)]
    return Row(_line(house, chat_id, facts), _switch(house, chat_id, is_blocked=group.role == "blocked"))


def _waiting(house: House, knock: Knock) -> Row:
    code, language = f"{knock.code[:4]}-{knock.code[4:]}", house.language
    if is_group(knock.who):
        what = say(language, "group, waits to be allowed")
    else:
        what = say(language, "waits, code {code}", code=code)
    approve = approve_button(knock, language, _label(house, knock.who))
    return Row(_line(house, knock.who, [what]), (approve, block_button(knock.who, language)))


def _line(house: House, who: str, facts: Iterable[str]) -> str:
    name = house.known_name(who)
    return f"• {name} ({who}): {', '.join(facts)}" if name else f"• {who}: {', '.join(facts)}"


def _since(house: House, at_ms: int) -> list[str]:
    if not at_ms:
        return []
    return [say(house.language, "since {when}", when=moment(at_ms, house.zone, house.language))]


def _switch(house: House, who: str, *, is_blocked: bool) -> tuple[Button, ...]:
    """Nobody blocks the owner."""
    if who == house.people.owner_id:
        return ()
    name = _label(house, who)
    if is_blocked:
        return (unblock_button(who, house.language, name=name),)
    return (block_button(who, house.language, name),)


def _label(house: House, who: str) -> str:
    return shorten(house.name_of(who), LABEL_CHARS)


def _buttons(rows: Iterable[Row]) -> tuple[tuple[Button, ...], ...]:
    return tuple(row.buttons for row in rows if row.buttons)


def _turning(page: int, pages: int, language: str) -> tuple[tuple[Button, ...], ...]:
    back = [Button(text=say(language, "‹ Back"), command=f"/people {page - 1}")] if page > 1 else []
    more = [Button(text=say(language, "More ›"), command=f"/people {page + 1}")] if page < pages else []
    return ((*back, *more),) if back or more else ()

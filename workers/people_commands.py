"""/people, /approve, /block and /unblock: the owner decides who gets in. Pure.

/approve CODE [guest], /approve group CODE; /block ID, /unblock ID [member|guest], where an id is a person's or a group's.
"""

import re
from collections.abc import Callable, Mapping

from infra.effect import Push
from infra.knocks import answered_effects
from infra.people import code_in, group_effect, person_effect, stranger_effect, unknown_group_effect
from infra.pushes import push_reply
from schemas.inbound import InboundMessage
from schemas.person import Knock
from workers.house import House, LetIn, block_button, is_group, unblock_button
from workers.outgoing import Place, plain_reply
from workers.people_list import people_said, role_word, waiting_said
from workers.said import Said
from workers.texts import say

GUEST = frozenset({"guest", "gast"})
MEMBER = frozenset({"member", "mitglied"})
ID = re.compile(r"-?[0-9]{1,20}")


def people_answer(house: House) -> Said:
    """The answer to one of COMMANDS."""
    refusal = refused(house.message, house.role, house.language)
    if refusal:
        return Said(refusal)
    return COMMANDS[house.message.command](house, house.message.argument)


def refused(message: InboundMessage, role: str, language: str) -> str:
    """Why whoever wrote may not use a command of the owner's here; "" if they may."""
    if role != "owner":
        return say(language, "Only my owner can do that. /help shows what I can do for you.")
    if message.chat_kind == "group":
        return say(language, "Write me that in our private chat: here everybody would read it.")
    return ""


# ── let in ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _approve(house: House, argument: str) -> Said:
    words = argument.casefold().split()
    if not words:
        return waiting_said(house)
    codes = {code_in(argument), *map(code_in, words)} - {""}
    knock = next((knock for knock in house.knocks if knock.code in codes), None)
    if knock is None:
        return Said(
            say(
                house.language,
                "I know no request with this code. A code is good for an hour, and once; whoever it was for gets a new one by "
                "writing to me again. /people shows everybody.",
            )
        )
    if is_group(knock.who):
        return _approve_group(house, knock)
    return _approve_person(house, knock, "guest" if GUEST.intersection(words) else "member")


def _approve_person(house: House, knock: Knock, role: LetIn) -> Said:
    name, language = house.name_of(knock.who), house.language
    known = {"language": knock.language, "chat_bot_id": knock.bot_id}
    person = house.person(knock.who, role).model_copy(update=known)
    text = say(
        language, "{name} is let in ({role}) and has been told.", name=name, role=role_word(role, language)
    )
    hello = say(
        knock.language,
        "Good news, {name}: you are let in. Just write to me; what we talk about I remember for a day. /forget all removes "
        "it, /help shows the rest.",
        name=name,
    )
    effects = (person_effect(person), *answered_effects(knock))
    return Said(text, ((block_button(knock.who, language),),), effects, pushes=(_tell(knock, hello),))


def _approve_group(house: House, knock: Knock) -> Said:
    text = say(
        house.language,
        "Everybody in the group {name} may talk to me there now, and has been told. In private they still have to be let in.",
        name=house.name_of(knock.who),
    )
    hello = say(
        knock.language,
        "Hello everybody! From now on all of you may talk to me here: mention me, reply to me or use a command. /help shows "
        "what I can do, /forget all removes what I remember of this group.",
    )
    effects = (group_effect(house.group(knock.who, "approved")), *answered_effects(knock))
    return Said(text, ((block_button(knock.who, house.language),),), effects, pushes=(_tell(knock, hello),))


def _tell(knock: Knock, text: str) -> Push:
    """Where they wrote from, by the bot they wrote to."""
    place = Place(knock.bot_id, knock.who)
    return push_reply(plain_reply(place, f"knock:{knock.code}:approved", text, language=knock.language))


# ── block and unblock ────────────────────────────────────────────────────────────────────────────────────────────
def _block(house: House, argument: str) -> Said:
    who, language = _id_in(argument), house.language
    if not who:
        return Said(_whom(language))
    if who == house.people.owner_id:
        return Said(say(language, "That is you. Nobody can block my owner."))
    name, knock = house.name_of(who), house.knock_of(who)
    if is_group(who):
        effect = group_effect(house.group(who, "blocked"))
        text = say(
            language,
            "The group {name} is blocked: I answer only you and people you have let in there, and do not ask again.",
            name=name,
        )
    else:
        effect = person_effect(house.person(who, "blocked"))
        text = say(language, "{name} is blocked and gets no answer any more.", name=name)
    undo = unblock_button(who, language, role=_role_before(house, who))
    return Said(text, ((undo,),), (effect, *(answered_effects(knock) if knock else ())))


def _role_before(house: House, who: str) -> LetIn | None:
    """What a tap on "Unblock" gives back; None: nothing, they were strangers or blocked before."""
    if is_group(who):
        return "member" if house.people.group_role(who) == "approved" else None
    match house.people.role_of(who):
        case "member" | "guest" as role:
            return role
        case _:
            return None


def _unblock(house: House, argument: str) -> Said:
    who, words, language = _id_in(argument), frozenset(argument.casefold().split()), house.language
    if not who:
        return Said(_whom(language))
    role = house.people.group_role(who) if is_group(who) else house.people.role_of(who)
    name = house.name_of(who)
    if role != "blocked":
        return Said(say(language, "{name} is not blocked. /people shows everybody.", name=name))
    if words & (MEMBER | GUEST):
        return _restored(house, who, "guest" if words & GUEST else "member")
    if is_group(who):
        text = say(language, "The group {name} is no longer blocked; when somebody writes to me there, I ask you.", name=name)  # fmt: skip
        return Said(text, effects=(unknown_group_effect(who),))
    if who in house.people.allowed:
        text = say(language, "{name} is no longer blocked and may write to me.", name=name)
    else:
        text = say(language, "{name} is no longer blocked and may ask to be let in.", name=name)
    return Said(text, effects=(stranger_effect(who),))


def _restored(house: House, who: str, role: LetIn) -> Said:
    """As before the block."""
    name, language = house.name_of(who), house.language
    if is_group(who):
        text = say(language, "Everybody in the group {name} may talk to me there again.", name=name)
        return Said(text, effects=(group_effect(house.group(who, "approved")),))
    text = say(language, "{name} may talk to me again ({role}).", name=name, role=role_word(role, language))
    return Said(text, effects=(person_effect(house.person(who, role)),))


def _id_in(argument: str) -> str:
    return next((word for word in argument.split() if ID.fullmatch(word)), "")


def _whom(language: str) -> str:
    return say(language, "Whom? I need the id: /people shows everybody with theirs, and buttons.")


COMMANDS: Mapping[str, Callable[[House, str], Said]] = {
    "people": people_said,
    "approve": _approve,
    "block": _block,
    "unblock": _unblock,
}

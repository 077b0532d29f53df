"""What people and the owner are told when somebody unknown asks to be let in. Pure."""

from bot import notice
from bot.texts import say
from infra.effect import Push
from infra.people import People
from schemas.inbound import InboundMessage
from schemas.person import Knock
from schemas.reply import Button

ANSWERS = 3
"""How often somebody is told their code while it is good; then nothing more is said."""


def told(message: InboundMessage, knock: Knock, times: int) -> tuple[Push, ...]:
    """The code, with what to do with it. times: how often they asked."""
    if times > ANSWERS:
        return ()
    text = say(
        message.language,
        "Hello {name}! I only talk to people my owner has let in. I have just asked: tell them the code {code}, so that "
        "they know it is you. As soon as they agree you will hear from me here. (The code is good for an hour.)",
        name=knock.name or message.user_id,
        code=spaced(knock.code),
    )
    return (notice.answer(message, f"{message.id}:knock", text),)


def asked(message: InboundMessage, knock: Knock, people: People, bot: str) -> Push:
    """For the owner, once per code: whoever stores it claims its id, so its repeats are not stored."""
    owner = people.by_id.get(people.owner_id)
    language = (owner.language if owner else "") or message.language
    asks = _group_line if knock.kind == "group" else _person_line
    return notice.to_owner(
        about=f"knock:{knock.code}",
        bot_id=(owner.chat_bot_id if owner else "") or knock.bot_id,
        user_id=people.owner_id,
        text=asks(message, knock, language, bot),
        language=language,
        buttons=_buttons(knock, language),
    )


def spaced(code: str) -> str:
    """ "K7QX-2MPD": easier to read out; infra.people.code_in reads it back."""
    return f"{code[:4]}-{code[4:]}"


def _person_line(message: InboundMessage, knock: Knock, language: str, bot: str) -> str:
    return say(
        language,
        "“{name}” (id {user_id}) would like to talk to {bot}. Their code is {code}, good for an hour. Names can be made up: "
        "if you are not sure, ask them for the code.",
        name=knock.name,
        user_id=message.user_id,
        bot=bot,
        code=spaced(knock.code),
    )


def _group_line(message: InboundMessage, knock: Knock, language: str, bot: str) -> str:
    return say(
        language,
        "“{name}” (id {user_id}) wrote to {bot} in the group “{group}” (id {chat_id}). If you allow it, everybody there may "
        "talk to me, in that group. Until then I answer there only you and people you have let in.",
        name=" ".join(message.user_name.split()),
        user_id=message.user_id,
        bot=bot,
        group=knock.name,
        chat_id=knock.who,
    )


def _buttons(knock: Knock, language: str) -> tuple[tuple[Button, ...], ...]:
    """The tap is the owner's, so the commands are."""
    block = Button(text=say(language, "Block"), command=f"/block {knock.who}")
    if knock.kind == "group":
        allow = Button(text=say(language, "Allow this group"), command=f"/approve group {knock.code}")
        return (allow,), (block,)
    approve = Button(text=say(language, "Let in"), command=f"/approve {knock.code}")
    as_guest = Button(text=say(language, "As a guest"), command=f"/approve {knock.code} guest")
    return (approve, as_guest), (block,)

"""What koi answers to the owner's own commands: reads what they look at, and has them answered."""

from datetime import tzinfo

from schemas.inbound import InboundMessage
from workers.commands import role_in
from workers.house import House, load_everybody
from workers.people_commands import COMMANDS, people_answer, refused
from workers.said import Said
from workers.services import Services
from workers.status import load_status, status_text

OWNER_COMMANDS = frozenset({*COMMANDS, "status"})


async def owner_said(
    s: Services, message: InboundMessage, *, language: str, zone: tzinfo, now_ms: int
) -> Said:
    """The answer to one of OWNER_COMMANDS, whoever sent it. zone: of whoever reads it.

    Raises what redis-py raises.
    """
    refusal = refused(message, role_in(await s.people.read(), message), language)
    if refusal:
        return Said(refusal)
    if message.command == "status":
        return Said(status_text(await load_status(s.redis, now_ms, s.zone), s.money, language))
    people, knocks = await load_everybody(s.redis, s.people, now_ms)
    role = role_in(people, message)
    return people_answer(House(message, role, people, knocks, language, zone, now_ms, s.plans))

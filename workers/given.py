"""What a turn is made from: the model's view of the person, and what it may do for them. No I/O."""

from datetime import tzinfo

from lanes.claim import Claim
from llm.request import Tool
from memory.ratio import start
from tools.facts import facts_text
from tools.tool import Here
from workers.choose import Chosen
from workers.hands import Hands
from workers.known import Known
from workers.messages import Turn
from workers.plan import Given
from workers.profile import zone_for
from workers.prompt import TOOLS, now_note, person_text, system_prompt
from workers.services import OFFLINE_ONLY, Brain, Services

MINUTE_MS = 60_000


def hands_for(s: Services, claim: Claim, turn: Turn, known: Known) -> Hands:
    """For whoever wrote."""
    first = turn.first
    here = Here(
        owner=first.owner,
        lane=first.lane,
        language=turn.language,
        zone=zone_for(known.profile, s.zone),
        now_ms=turn.began_ms,
        project=known.project,
        private=first.chat_kind == "private",
    )
    offered = s.hub.offered(bot=first.bot, user_id=first.user_id) if s.hub else ()
    outside = {tool.name: tool for tool in offered}
    return Hands(s, claim, here, s.catalog, outside, s.hub, first.bot, first.user_id, s.tools.confirm)


def given_for(  # noqa: PLR0913 — all that is known
    s: Services, turn: Turn, known: Known, brain: Brain, chosen: Chosen, hands: Hands, *, plan: str
) -> Given:
    """plan: its name, "" for none. Tools and what is known of the person are only for models that can make use of it."""
    session = None if turn.starts_anew else known.session
    zone, thinks = known.zone(s.zone), brain.models != OFFLINE_ONLY
    tools = offer(s, hands) if thinks else ()
    since_ms = session.started_ms if session else turn.began_ms
    return Given(
        words=turn.words,
        lane=turn.first.lane,
        language=turn.language,
        system=system_prompt(name=turn.first.bot, persona=brain.persona, language=turn.language),
        session=session,
        entries=known.remembered.entries,
        answer=known.answer,
        memory=s.memory,
        limits=s.session,
        zone=zone,
        ratio=known.ratios.get(chosen.model, start()),
        effort=chosen.choice.effort,
        late_ms=turn.late_ms,
        person=_person(turn, known, hands, since_ms, plan) if thinks else "",
        tools=tools,
        tool_rules=TOOLS,
        web=s.tools.web and thinks,
        now=_now(turn.began_ms, session.started_ms, hands.here.zone) if session and thinks else "",
        project=known.project,
    )


def offer(s: Services, hands: Hands) -> tuple[Tool, ...]:
    """koi's own first, in an order that never changes."""
    outside = (Tool(tool.name, tool.description, tool.schema) for tool in hands.outside.values())
    return (*s.own_tools, *outside)


def _now(began_ms: int, started_ms: int, zone: tzinfo) -> str:
    """ "" in the minute in which the conversation began: that the model knows."""
    return "" if began_ms // MINUTE_MS == started_ms // MINUTE_MS else now_note(began_ms, started_ms, zone)


def _person(turn: Turn, known: Known, hands: Hands, since_ms: int, plan: str) -> str:
    here = hands.here
    return person_text(
        name=turn.first.user_name if here.private else "",
        language=turn.language,
        zone=here.zone,
        began_ms=since_ms,
        plan=plan,
        project=known.project,
        facts=facts_text(known.facts, here.zone, turn.language) if known.facts else "",
    )

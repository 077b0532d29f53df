"""One turn: what waits in a lane, answered together."""

import asyncio

import structlog

from lanes.claim import Claim
from lanes.outcome import Commit, Done, Failed, HandBack, Outcome
from llm.offline import unconfigured_line
from schemas.inbound import InboundMessage
from schemas.wire import NewerVersion
from workers.alerts import BrokenMemory, tell_owner
from workers.bury import given_up, set_aside
from workers.commands import Asked, command_text, role_in
from workers.converse import Caller, converse
from workers.finish import Turn, commit_of_answer, commit_of_line
from workers.known import Known, load_known
from workers.outgoing import is_local
from workers.plan import Given
from workers.prompt import system_prompt
from workers.recall import Reader
from workers.services import Brain, Services
from workers.waiting import Waiting
from workers.words import Words, empty_line, unreadable_line

NEWER_PAUSE_MS = 5_000
"""Until a process that knows the newer version had time to take the lane."""
LATE_MS = 600_000
"""A message that waited longer than that is answered with a word about it."""

log = structlog.get_logger()


class TurnHandler:
    """The inbox side of a lane: lanes.outcome.Handler. What it does not expect becomes a Failed in lanes."""

    def __init__(self, services: Services) -> None:
        self.s = services

    async def run(self, claim: Claim) -> Outcome:
        """Read, know, answer; the steps of a turn in order."""
        s, now_ms = self.s, self.s.clock()
        deadline_at = asyncio.get_running_loop().time() + s.deadline_s
        waiting = Waiting.of(claim.items)
        if waiting.unreadable:
            return Done(set_aside(claim, waiting.unreadable, now_ms=now_ms, language=s.language))
        if waiting.newer:
            return HandBack(NEWER_PAUSE_MS)
        if not waiting.messages:
            return Done(Commit())
        turn = turn_of(claim.turn_id, waiting.messages, now_ms, ahead_ms=s.ahead_ms)
        with structlog.contextvars.bound_contextvars(turn_id=turn.id, lane=claim.lane):
            try:
                known = await load_known(s, turn.first, now_ms)
            except NewerVersion:
                return HandBack(NEWER_PAUSE_MS)
            if known.broken:
                await tell_owner(s, BrokenMemory(known.broken), turn.place)
            return await self._own_line(turn, known) or await self._answer(turn, known, deadline_at)

    def bury(self, claim: Claim, reason: str) -> Commit:
        """See lanes.outcome.Handler."""
        return given_up(claim, reason, now_ms=self.s.clock(), language=self.s.language)

    async def _own_line(self, turn: Turn, known: Known) -> Done | None:
        """What koi answers without a model, if that is enough."""
        first = turn.first
        if first.kind == "command" and not (turn.starts_anew and turn.words.text):
            return Done(commit_of_line(turn, command_text(await self._asked(turn, known))))
        if not turn.words.text:
            line = unreadable_line(turn.words, turn.language) or empty_line(turn.language)
            return Done(commit_of_line(turn, line))
        if not self.s.brain_of(first.bot).configured and not is_local(first.bot_id):
            return Done(commit_of_line(turn, unconfigured_line(turn.language), failed=True))
        return None

    async def _answer(self, turn: Turn, known: Known, deadline_at: float) -> Outcome:
        """What the model answers."""
        s, first = self.s, turn.first
        brain = s.brain_of(first.bot)
        caller = Caller(turn.id, first.lane, first.user_id, turn.place, deadline_at)
        answered = await converse(s, brain.chain, _given(s, turn, known, brain), caller)
        if isinstance(answered, Failed):
            return answered
        completion = answered.completion
        log.info(
            "turn_answered", messages=len(turn.messages), model=completion.model, ending=completion.ending,
            calls=len(completion.calls), took_ms=s.clock() - turn.began_ms,
        )  # fmt: skip
        return Done(commit_of_answer(turn, answered.plan, completion, known.remembered, s))

    async def _asked(self, turn: Turn, known: Known) -> Asked:
        reader = Reader(turn.language, self.s.zone, turn.began_ms)
        role = role_in(await self.s.people.read(), turn.first) if turn.first.command == "whoami" else ""
        return Asked(turn.first, reader, self.s.memory, known.remembered.entries, known.answer, role)


def turn_of(turn_id: str, messages: tuple[InboundMessage, ...], now_ms: int, *, ahead_ms: int = 0) -> Turn:
    """messages: at least one; a command is alone. ahead_ms: by how much koi's clock is shifted against Telegram's."""
    first = messages[0]
    waited_ms = now_ms - ahead_ms - first.sent_at_ms
    return Turn(
        id=turn_id,
        messages=messages,
        began_ms=now_ms,
        words=Words.of(messages),
        starts_anew=first.kind == "command" and first.command == "new",
        late_ms=first.sent_at_ms + ahead_ms if waited_ms > LATE_MS else 0,
    )


def _given(s: Services, turn: Turn, known: Known, brain: Brain) -> Given:
    return Given(
        words=turn.words,
        lane=turn.first.lane,
        language=turn.language,
        system=system_prompt(name=turn.first.bot, persona=brain.persona, language=turn.language),
        session=None if turn.starts_anew else known.session,
        entries=known.remembered.entries,
        answer=known.answer,
        memory=s.memory,
        limits=s.session,
        zone=s.zone,
        late_ms=turn.late_ms,
    )

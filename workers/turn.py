"""One turn: what waits in a lane, answered together."""

import asyncio
from dataclasses import replace

import structlog

from lanes.claim import Claim
from lanes.outcome import Commit, Done, Failed, HandBack, Outcome
from llm.offline import unconfigured_line
from memory.ratio import start
from schemas.wire import NewerVersion
from workers.alert_text import BrokenMemory
from workers.alerts import tell_owner
from workers.bury import given_up, set_aside
from workers.choose import Chosen, choose, models_for
from workers.commands import Asked, command_answer, role_in
from workers.converse import Answered, Caller, NotAsked, converse
from workers.finish import commit_of_answer, commit_of_line
from workers.fold import bury_fold, is_fold, run_fold
from workers.known import Known, load_known
from workers.messages import Turn, of_one_person, turn_of
from workers.outgoing import is_local
from workers.plan import Given
from workers.plans import plan_of
from workers.prompt import system_prompt
from workers.recall import Reader
from workers.services import Brain, Services
from workers.usage import NOTHING_USED, load_usage, used_up_line
from workers.waiting import Waiting
from workers.words import empty_line, unreadable_line

NEWER_PAUSE_MS = 5_000
"""Until a process that knows the newer version had time to take the lane."""

log = structlog.get_logger()


class TurnHandler:
    """The inbox side of a lane: lanes.outcome.Handler. What it does not expect becomes a Failed in lanes."""

    def __init__(self, services: Services) -> None:
        self.s = services

    async def run(self, claim: Claim) -> Outcome:
        """Read, know, answer; the steps of a turn in order."""
        if is_fold(claim):
            return await run_fold(self.s, claim)
        s, now_ms = self.s, self.s.clock()
        deadline_at = asyncio.get_running_loop().time() + s.deadline_s
        waiting = Waiting.of(claim.items)
        if waiting.unreadable:
            return Done(set_aside(claim, waiting.unreadable, now_ms=now_ms, language=s.language))
        if waiting.newer:
            return HandBack(NEWER_PAUSE_MS)
        if not waiting.messages:
            return Done(Commit())
        messages = of_one_person(waiting.messages) if s.plans.any else waiting.messages
        turn = turn_of(claim.turn_id, messages, now_ms, ahead_ms=s.ahead_ms)
        with structlog.contextvars.bound_contextvars(turn_id=turn.id, lane=claim.lane):
            try:
                known = await load_known(s, turn.first, now_ms)
            except NewerVersion:
                return HandBack(NEWER_PAUSE_MS)
            if known.broken:
                await tell_owner(s, BrokenMemory(known.broken), turn.place)
            outcome = await self._own_line(turn, known) or await self._answer(turn, known, deadline_at)
            return outcome if len(messages) == len(claim.items) else _leaving_the_rest(outcome, claim, turn)

    def bury(self, claim: Claim, reason: str) -> Commit:
        """See lanes.outcome.Handler."""
        if is_fold(claim):
            return bury_fold(self.s, claim)
        return given_up(claim, reason, now_ms=self.s.clock(), language=self.s.language)

    async def _own_line(self, turn: Turn, known: Known) -> Done | None:
        """What koi answers without a model, if that is enough."""
        first = turn.first
        if first.kind == "command" and not (turn.starts_anew and turn.words.text):
            said = command_answer(await self._asked(turn, known))
            return Done(commit_of_line(turn, said.text, buttons=said.buttons, effects=said.effects))
        if not turn.words.text:
            line = unreadable_line(turn.words, turn.language) or empty_line(turn.language)
            return Done(commit_of_line(turn, line))
        if not self.s.brain_of(first.bot).configured and not is_local(first.bot_id):
            return Done(commit_of_line(turn, unconfigured_line(turn.language), failed=True))
        return None

    async def _answer(self, turn: Turn, known: Known, deadline_at: float) -> Outcome:
        """What the model answers, if the person's plan allows it."""
        s, first = self.s, turn.first
        allowance = plan_of(s.plans, first.user_id, (await s.people.read()).owner_id) if s.plans.any else None
        used_up = await s.purse.admit(allowance, first.user_id, turn.answers)
        if used_up is not None:
            return Done(commit_of_line(turn, used_up_line(turn.language, used_up, s.zone)))
        brain = s.brain_of(first.bot)
        models = models_for(brain, allowance)
        chosen = choose(brain, models, known, turn.words, turn.began_ms, anew=turn.starts_anew)
        caller = Caller(
            turn.id,
            first.lane,
            first.bot,
            first.user_id,
            turn.place,
            turn.began_ms,
            deadline_at,
            allowance,
            known.outages,
            known.ratios,
        )
        answered = await converse(s, chosen, _given(s, turn, known, brain, chosen), caller)
        match answered:
            case Failed():
                return answered
            case NotAsked(used_up=used_up, reason=reason):
                log.info("turn_not_allowed", reason=reason)
                return Done(commit_of_line(turn, used_up_line(turn.language, used_up, s.zone)))
            case Answered(completion=completion):
                log.info(
                    "turn_answered", messages=len(turn.messages), model=completion.model, ending=completion.ending,
                    tier=chosen.choice.tier, why=chosen.choice.why, calls=len(completion.calls),
                    took_ms=s.clock() - turn.began_ms,
                )  # fmt: skip
                return Done(commit_of_answer(turn, answered, known, chosen, s))

    async def _asked(self, turn: Turn, known: Known) -> Asked:
        """What the command's answer is made from; more is read only for those that need it."""
        s, first = self.s, turn.first
        people = await s.people.read()
        allowance = plan_of(s.plans, first.user_id, people.owner_id)
        wants_usage = first.command == "usage"
        return Asked(
            first,
            Reader(turn.language, s.zone, turn.began_ms),
            s.memory,
            known.remembered.entries,
            known.answer,
            s.money,
            role=role_in(people, first),
            usage=await load_usage(s.redis, first.user_id, turn.began_ms, s.zone)
            if wants_usage
            else NOTHING_USED,
            allowance=allowance,
            models=models_for(s.brain_of(first.bot), allowance),
            wanted=known.wanted,
        )


def _leaving_the_rest(outcome: Outcome, claim: Claim, turn: Turn) -> Outcome:
    """The first messages of the claim were answered; the others are the next turn."""
    if not isinstance(outcome, Done):
        return outcome
    return Done(replace(outcome.commit, remove=tuple(item.id for item in claim.items[: len(turn.messages)])))


def _given(s: Services, turn: Turn, known: Known, brain: Brain, chosen: Chosen) -> Given:
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
        ratio=known.ratios.get(chosen.model, start()),
        effort=chosen.choice.effort,
        late_ms=turn.late_ms,
    )

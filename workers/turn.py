"""One turn: what waits in a lane, answered together."""

import asyncio
from dataclasses import replace

import structlog

from infra.forget import meant
from infra.sent_answers import turn_answered
from lanes.claim import Claim
from lanes.outcome import Commit, Done, Failed, HandBack, Outcome
from llm.offline import unconfigured_line
from schemas.wire import NewerVersion
from tools.store import load_things
from workers.alert_text import BrokenMemory
from workers.alerts import tell_owner
from workers.bury import UNREADABLE, given_up, set_aside
from workers.changes import Changed, kept_answer
from workers.choose import choose, models_for
from workers.chronicle import Chronicle
from workers.commands import Asked, command_answer, mentions, role_in
from workers.converse import Answered, Caller, NotAsked, converse
from workers.files import Gathered, answered_line, gather, with_files
from workers.finish import commit_of_answer, commit_of_line, told_effects
from workers.fold import bury_fold, is_fold, run_fold
from workers.given import given_for, hands_for
from workers.hands import Hands
from workers.known import Known, load_known
from workers.life import answer_of, exchange_of
from workers.messages import Turn, addressed, of_one_person, turn_of
from workers.outgoing import is_local
from workers.owner import OWNER_COMMANDS, owner_said
from workers.pending import drop_effects
from workers.plans import plan_of
from workers.profile import Person, place_in, place_said
from workers.projects import Desk, load_parked, project_said
from workers.recall import Reader
from workers.retry_command import Retried, is_offer, known_for, nothing_line, offer_said, offers, retried
from workers.said import Said
from workers.said_before import is_unchanged
from workers.services import Services
from workers.unknown import Unknown, known_now
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
        self._acted: set[str] = set()
        """Turns whose last attempt here failed after it had changed something."""
        self._chronicle = Chronicle(services.clock, services.ahead_ms)
        self._unknown = Unknown()

    def renewed(self, services: Services) -> "TurnHandler":
        """One with other services, for the turns that begin from now on; it knows what this one did."""
        handler = TurnHandler(services)
        handler._acted, handler._chronicle = self._acted, self._chronicle
        return handler

    async def run(self, claim: Claim) -> Outcome:
        """Read, know, answer; the steps of a turn in order."""
        if is_fold(claim):
            return await run_fold(self.s, claim)
        s, now_ms = self.s, self.s.clock()
        deadline_at = asyncio.get_running_loop().time() + s.deadline_s
        waiting = Waiting.of(claim.items)
        if (decided := self._unread(claim, waiting, now_ms)) is not None:
            return decided
        messages = await known_now(s.redis, waiting.messages, s.brains)
        if not messages:
            return self._unknown.hand_back(waiting.messages[0], now_ms - s.ahead_ms)
        messages = of_one_person(messages) if s.by_person else messages
        turn = turn_of(claim.turn_id, messages, now_ms, ahead_ms=s.ahead_ms)
        self._chronicle.begin(turn.id, now_ms)
        with structlog.contextvars.bound_contextvars(turn_id=turn.id, lane=claim.lane):
            try:
                known = await load_known(s, turn.first, now_ms)
                turn = addressed(turn, known.profile, known.pending, known.session)
                outcome = await self._run(claim, turn, known, deadline_at)
            except NewerVersion:
                return HandBack(NEWER_PAUSE_MS)
            if len(messages) < len(claim.items):
                outcome = _leaving_the_rest(outcome, claim, turn)
            return self._chronicle.ended(outcome, claim, turn)

    def _unread(self, claim: Claim, waiting: Waiting, now_ms: int) -> Outcome | None:
        """What is decided without reading a message."""
        if waiting.unreadable:
            aside = set_aside(claim, waiting.unreadable, now_ms=now_ms, language=self.s.language)
            return Done(self._chronicle.dead(claim, aside, UNREADABLE))
        if waiting.newer:
            return HandBack(NEWER_PAUSE_MS)
        return None if waiting.messages else Done(Commit())

    def bury(self, claim: Claim, reason: str) -> Commit:
        """See lanes.outcome.Handler."""
        if is_fold(claim):
            return bury_fold(self.s, claim)
        items = claim.items
        if self.s.by_person:  # the others were never tried
            messages = Waiting.of(items).messages
            tried = {message.id for message in of_one_person(messages)} if messages else set[str]()
            items = tuple(item for item in items if item.id in tried) or items
        del self.s.lost_microusd[claim.turn_id]
        has_acted = claim.turn_id in self._acted
        self._acted.discard(claim.turn_id)
        buried = given_up(
            claim, items, reason, now_ms=self.s.clock(), language=self.s.language, has_acted=has_acted
        )
        return self._chronicle.dead(claim, buried, reason)

    async def _run(self, claim: Claim, turn: Turn, known: Known, deadline_at: float) -> Outcome:
        if known.broken:
            await tell_owner(self.s, BrokenMemory(known.broken), turn.place)
        if is_without_news(turn, known):
            return Done(Commit())
        again: Retried | None = None
        if turn.first.command == "retry":
            found = await self._retried(turn, known)
            if isinstance(found, Commit):
                return Done(found)
            again, turn, known = found, turn.asking(found.question), known_for(found, known)
        gathered = await gather(self.s, turn, deadline_at)
        turn = replace(turn, words=with_files(turn.words, gathered))
        hands = replace(hands_for(self.s, claim, turn, known), noted=self._chronicle.of(turn.id))
        own = await self._own_line(turn, known, hands, gathered)
        outcome = Done(own) if own else await self._answer(turn, known, hands, deadline_at, (gathered, again))
        if isinstance(outcome, Done):  # nothing of the files stays behind
            return Done(replace(outcome.commit, effects=(*outcome.commit.effects, *gathered.effects)))
        return outcome

    async def _retried(self, turn: Turn, known: Known) -> Retried | Commit:
        """What is asked again; or what koi answers instead."""
        first = turn.first
        if is_offer(first.argument, first.reaction):
            turn_id = await turn_answered(self.s.redis, first.lane, first.message_id)
            if not offers(known.session, known.answer, turn_id):
                return Commit()
            said = offer_said(turn.language)
            return commit_of_line(turn, said.text, buttons=said.buttons)
        found = retried(
            known.session, known.remembered, known.answer, owner=first.owner, argument=first.argument
        )
        return found or commit_of_line(turn, nothing_line(turn.language))

    async def _own_line(self, turn: Turn, known: Known, hands: Hands, gathered: Gathered) -> Commit | None:
        """What koi answers without a model, if that is enough."""
        first = turn.first
        if turn.is_command:
            changed = await self._commanded(turn, known, hands)
            said = changed.said
            told = told_effects(turn, said.text, changed.told, known, self.s) if changed.told else ()
            hands.noted.exchange = exchange_of(known.session, turn.id) if told else ("", 0)
            commit = commit_of_line(
                turn, said.text, buttons=said.buttons, effects=said.effects, texts=(*said.texts, *told)
            )
            return replace(commit, pushes=(*commit.pushes, *said.pushes))
        if not turn.words.text:
            if (place := place_in(turn.messages)) is not None:
                said = await place_said(Person(first, known.profile, self.s.zone, turn.began_ms), *place)
                return commit_of_line(turn, said.text, buttons=said.buttons, effects=said.effects)
            lines = (gathered.line, unreadable_line(turn.words, turn.language))
            return commit_of_line(turn, " ".join(filter(None, lines)) or empty_line(turn.language))
        if not self.s.brain_of(first.bot).configured and not is_local(first.bot_id):
            return commit_of_line(turn, unconfigured_line(turn.language), failed=True)
        return None

    async def _commanded(self, turn: Turn, known: Known, hands: Hands) -> Changed:
        """The answer to a command."""
        first = turn.first
        changed = await kept_answer(hands, first, known.pending)
        if changed is not None:
            return changed
        if first.command in OWNER_COMMANDS:
            return Changed(
                await owner_said(
                    self.s, first, language=turn.language, zone=known.zone(self.s.zone), now_ms=turn.began_ms
                )
            )
        if first.command == "project":
            return Changed(await self._project(turn, known))
        return Changed(command_answer(await self._asked(turn, known)))

    async def _answer(
        self,
        turn: Turn,
        known: Known,
        hands: Hands,
        deadline_at: float,
        more: tuple[Gathered, Retried | None],
    ) -> Outcome:
        """What the model answers, if the person's plan allows it."""
        s, first = self.s, turn.first
        allowance = plan_of(s.plans, first.user_id, (await s.people.read()).owner_id) if s.plans.any else None
        used_up = await s.purse.admit(allowance, first.user_id, turn.answers)
        if used_up is not None:
            return Done(commit_of_line(turn, used_up_line(turn.language, used_up, known.zone(s.zone))))
        brain = s.brain_of(first.bot)
        models = models_for(brain, allowance)
        gathered, again = more
        files = len(gathered.images) + len(gathered.documents)
        chosen = choose(brain, models, known, turn.words, turn.began_ms, anew=turn.starts_anew, files=files)
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
            turn.answers,
            hands.noted,
        )
        given = given_for(s, turn, known, brain, chosen, hands, plan=allowance.name if allowance else "")
        given = replace(
            given, files=gathered, notes=tuple(filter(None, (gathered.note, again.note if again else "")))
        )
        answered = await converse(s, chosen, given, caller, hands)
        match answered:
            case Failed():
                self._acted.discard(turn.id)
                if hands.acted:
                    self._acted.add(turn.id)
                return answered
            case NotAsked(used_up=used_up, reason=reason):
                log.info("turn_not_allowed", reason=reason)
                return Done(commit_of_line(turn, used_up_line(turn.language, used_up, known.zone(s.zone))))
            case Answered(completion=completion):
                log.info(
                    "turn_answered", messages=len(turn.messages), model=completion.model, ending=completion.ending,
                    tier=chosen.choice.tier, why=chosen.choice.why, calls=len(answered.calls),
                    rounds=len(answered.rounds.done), stop=answered.stop, took_ms=s.clock() - turn.began_ms,
                )  # fmt: skip
                hands.noted.answer = answer_of(answered, chosen, hands)
                if completion.ending != "refused":
                    hands.noted.exchange = exchange_of(answered.plan.session, turn.id)
                line = answered_line(gathered, completion.unseen, turn.language)
                commit = commit_of_answer(turn, answered, known, chosen, s, file_line=line)
                if again and completion.ending != "refused":  # the new answer takes the place of the first
                    commit = replace(commit, texts=(*again.texts, *commit.texts))
                return Done(commit)

    async def _project(self, turn: Turn, known: Known) -> Said:
        s, lane = self.s, turn.first.lane
        parked = await load_parked(s.redis, lane, turn.began_ms, s.session)
        desk = Desk(
            lane, known.project, known.session, known.answer, parked, known.remembered.entries, s.session, turn.language, turn.began_ms
        )  # fmt: skip
        said = project_said(desk, turn.first.argument)
        return replace(said, effects=(*said.effects, *drop_effects(lane))) if said.effects else said

    async def _asked(self, turn: Turn, known: Known) -> Asked:
        """What the command's answer is made from; more is read only for those that need it."""
        s, first = self.s, turn.first
        people = await s.people.read()
        allowance = plan_of(s.plans, first.user_id, people.owner_id)
        wants_usage = first.command == "usage"
        return Asked(
            first,
            Reader(turn.language, known.zone(s.zone), turn.began_ms),
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
            profile=known.profile,
            house=s.zone,
            pending=known.pending,
            rich=known.rich,
            readers=s.brain_of(first.bot).readers,
            kept=await self._still_kept(turn) if first.command == "forget" else 0,
        )

    async def _still_kept(self, turn: Turn) -> int:
        """How many things hold what was to be forgotten: a person asked for them, so they stay."""
        what = meant(turn.first.argument)
        if not what or what == "last":
            return 0
        things = (await load_things(self.s.redis, turn.first.owner)).by_id.values()
        return len(things) if what == "all" else sum(mentions(thing, what) for thing in things)


def is_without_news(turn: Turn, known: Known) -> bool:
    """Nothing but edits that say what was answered already (a link preview came)."""
    entries = known.remembered.entries
    return all(message.edited and is_unchanged(message, known.session, entries) for message in turn.messages)


def _leaving_the_rest(outcome: Outcome, claim: Claim, turn: Turn) -> Outcome:
    """The first messages of the claim were answered; the others are the next turn."""
    if not isinstance(outcome, Done):
        return outcome
    return Done(replace(outcome.commit, remove=tuple(item.id for item in claim.items[: len(turn.messages)])))

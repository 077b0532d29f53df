"""What a conversation drops is folded into a summary beside it, and nothing waits for that."""

from dataclasses import dataclass, replace

import pytest

from infra import keys
from infra.forget import forget
from infra.redis_port import RedisPort
from lanes.claim import Claim, claim_due
from lanes.commit import Committed, commit, release
from lanes.outcome import Commit, Done, Failed, HandBack, Outcome
from llm.errors import NoModelAnswered, NotAllowed, RequestRejected
from llm.request import Completion
from memory.session import read_session
from schemas.call import CallRecord
from schemas.memory import Fold, FoldWanted, Session
from schemas.wire import load
from tests.workers.stage import BERLIN, House, ScriptedChain, completion, open_house
from workers.fold import bury_fold, is_fold, run_fold
from workers.services import Brain

LANE, OWNER = "7:42:0", "home:u:42"
WORDS = "The parcel is on its way. " * 30
"""About 210 tokens."""


@dataclass
class Talk:
    """A house whose conversations are small, and whose light model writes summaries."""

    house: House
    light: ScriptedChain

    @property
    def redis(self) -> RedisPort:
        return self.house.redis

    async def say(self, number: int) -> None:
        """One message and its turn; what else is due waits."""
        await self.house.push(self.house.message(f"Question {number}: where is it?"))
        for claim in await self.claims(folds=False):
            await self.house.settle(claim, await self.house.handler.run(claim))

    async def claims(self, *, folds: bool) -> list[Claim]:
        """What is due of one kind; the other is given back."""
        queue = keys.inbox_queue()
        found, _ = await claim_due(self.redis, queue, lease_ms=9_000, wanted=9, prefix="test", per_turn=20)
        for claim in found:
            if is_fold(claim) != folds:
                await release(self.redis, queue, claim)
        return [claim for claim in found if is_fold(claim) == folds]

    async def fold_claim(self) -> Claim:
        (claim,) = await self.claims(folds=True)
        return claim

    async def fold(self) -> Outcome:
        """The fold job that is due, and its end."""
        claim = await self.fold_claim()
        outcome = await self.house.handler.run(claim)
        if isinstance(outcome, Failed):
            end = self.house.handler.bury(claim, outcome.reason)
            await commit(self.redis, keys.inbox_queue(), claim, end)
        else:
            await self.house.settle(claim, outcome)
        return outcome

    async def session(self) -> Session:
        raw = await self.redis.get(keys.session(LANE))
        session = read_session(raw, self.house.now_ms, self.house.services.session)
        assert session is not None
        return session

    async def until_something_left(self) -> int:
        """Talk until the conversation is trimmed; gives the number of the last message."""
        for number in range(1, 30):
            await self.say(number)
            if (await self.session()).leaving:
                return number
        raise AssertionError("nothing ever left")

    @property
    def asked(self) -> list[str]:
        """All messages of the last request to the strong model."""
        return [message.text for message in self.house.chain.requests[-1].messages]


@pytest.fixture
def talk(redis: RedisPort) -> Talk:
    house = open_house(redis, [WORDS] * 40)
    light = ScriptedChain()
    house.services = replace(
        house.services,
        brain=replace(house.services.brain, light=light),
        session=replace(house.services.session, budget_tokens=2_000, folds=True),
        memory=replace(house.services.memory, budget_tokens=50),
        zone=BERLIN,
    )
    return Talk(house, light)


async def test_what_is_dropped_comes_back_as_a_summary_by_the_light_model(talk: Talk) -> None:
    number = await talk.until_something_left()
    left = (await talk.session()).leaving
    talk.light.script.append("They asked for the parcel.")

    assert isinstance(await talk.fold(), Done)

    (request,) = talk.light.requests
    assert request.messages[0].text.startswith("<conversation_history>\n")
    assert '"person":"Question 1: where is it?"' in request.messages[0].text
    stored = load(Fold, await talk.redis.get(keys.fold(LANE)) or b"")
    assert stored.covers == tuple(one.id for one in left)

    await talk.say(number + 1)

    assert talk.asked[0].startswith(
        "<conversation_summary>\nThey asked for the parcel.\n</conversation_summary>\n\n"
    )
    session = await talk.session()
    assert (session.summary, session.leaving) == ("They asked for the parcel.", ())
    assert session.total == number + 1
    assert await talk.redis.exists(keys.fold(LANE), keys.items(keys.fold_job(LANE))) == 0


async def test_the_next_summary_is_written_from_the_last_one(talk: Talk) -> None:
    number = await talk.until_something_left()
    talk.light.script = ["First notes.", "Second notes."]
    await talk.fold()
    while len(talk.light.requests) < 2:
        number += 1
        await talk.say(number)
        if (await talk.session()).leaving:
            await talk.fold()

    await talk.say(number + 1)

    prompt = talk.light.requests[1].messages[0].text
    assert prompt.startswith(
        "<conversation_summary>\nFirst notes.\n</conversation_summary>\n\n<conversation_history>"
    )
    assert "Question 1:" not in prompt
    assert (await talk.session()).summary == "Second notes."


async def test_every_call_for_a_summary_is_recorded_for_the_person(talk: Talk) -> None:
    await talk.until_something_left()
    await talk.house.services.recorder.flush()
    before = len(await talk.redis.xrange(keys.calls()))
    talk.light.requests += talk.house.chain.requests  # call ids are numbered by them

    await talk.fold()
    await talk.house.services.recorder.flush()

    records = [load(CallRecord, fields[b"record"]) for _, fields in await talk.redis.xrange(keys.calls())]
    assert len(records) == before + 1
    assert (records[-1].why, records[-1].user_id, records[-1].lane) == ("fold", "42", LANE)


FAILURES = {
    "nobody answers": NoModelAnswered((), "HTTP 529", worth_retrying=False),
    "rejected": RequestRejected((), "HTTP 400", too_long=True),
    "used up": NotAllowed("plan free is used up"),
    "declined": replace(completion(""), ending="refused"),
}


@pytest.mark.parametrize("said", FAILURES.values(), ids=FAILURES.keys())
async def test_a_summary_that_cannot_be_made_costs_only_what_was_dropped(
    talk: Talk, said: Completion | Exception
) -> None:  # C28
    number = await talk.until_something_left()
    kept = (await talk.session()).exchanges
    talk.light.script.append(said)

    outcome = await talk.fold()
    await talk.say(number + 1)

    assert isinstance(outcome, Failed)
    assert outcome.final
    session = await talk.session()
    assert (session.summary, session.leaving) == ("", ())
    assert session.exchanges[:-1] == kept
    assert talk.asked[:-1] == [text for one in kept for text in (one.user + one.note, one.reply)]
    assert await talk.redis.hlen(keys.dead_of(OWNER)) == 0


async def test_a_failure_that_may_pass_is_tried_again_and_half_a_summary_is_none(talk: Talk) -> None:
    await talk.until_something_left()
    claim = await talk.fold_claim()
    talk.light.script = [
        NoModelAnswered((), "HTTP 429", retry_after_s=7.0),
        NoModelAnswered((), "HTTP 429", retry_after_s=7_000.0),
        replace(completion("They ask"), ending="interrupted"),
        replace(completion("They asked for"), ending="truncated"),
    ]

    outcomes = [await run_fold(talk.house.services, claim) for _ in range(4)]

    assert outcomes[0] == Failed("HTTP 429", retry_after_ms=7_000)
    assert outcomes[1] == Failed("HTTP 429", retry_after_ms=7_000_000, final=True)
    assert outcomes[2] == Failed("the summary was not finished")
    assert isinstance(outcomes[3], Done)


async def test_while_a_summary_waits_to_be_taken_no_other_is_made(talk: Talk) -> None:
    await talk.until_something_left()
    claim = await talk.fold_claim()
    await talk.redis.set(keys.fold(LANE), "waiting")

    assert await run_fold(talk.house.services, claim) == Done(Commit())
    assert talk.light.requests == []


async def test_a_summary_of_what_was_forgotten_meanwhile_is_not_stored(talk: Talk) -> None:
    await talk.until_something_left()
    claim = await talk.fold_claim()

    async def person_forgets() -> None:
        await forget(talk.redis, OWNER, "all")

    talk.light.before = person_forgets
    outcome = await run_fold(talk.house.services, claim)

    assert isinstance(outcome, Done)
    assert outcome.commit.effects == ()
    assert await commit(talk.redis, keys.inbox_queue(), claim, outcome.commit) is not Committed.DONE
    assert await talk.redis.exists(keys.fold(LANE), keys.session(LANE)) == 0


async def test_forgetting_empties_the_job_too(talk: Talk) -> None:
    await talk.until_something_left()
    assert await talk.redis.llen(keys.items(keys.fold_job(LANE))) > 0

    await forget(talk.redis, OWNER, "all")

    assert await talk.redis.exists(keys.items(keys.fold_job(LANE)), keys.bodies(keys.fold_job(LANE))) == 0
    assert await talk.claims(folds=True) == []


async def test_a_conversation_that_is_over_is_not_summarised(talk: Talk) -> None:
    await talk.until_something_left()
    talk.house.later(minutes=31)

    assert await talk.fold() == Done(Commit())
    assert talk.light.requests == []


async def test_what_cannot_be_read_is_let_go_and_what_is_newer_is_left_to_others(talk: Talk) -> None:
    await talk.until_something_left()
    claim = await talk.fold_claim()
    item = claim.items[0]

    def with_body(body: bytes) -> Claim:
        return replace(claim, items=(replace(item, body=body),))

    s = talk.house.services
    assert await run_fold(s, with_body(b"not json")) == Done(Commit())
    assert bury_fold(s, with_body(b"not json")) == Commit()
    assert isinstance(await run_fold(s, with_body(b'{"v": 99}')), HandBack)
    assert b"Question" not in item.body
    assert load(FoldWanted, item.body).bot == "parcels"


async def test_a_bot_without_a_light_model_uses_its_own(talk: Talk) -> None:
    talk.house.services = replace(talk.house.services, brain=Brain(talk.house.chain))
    await talk.until_something_left()
    before = len(talk.house.chain.requests)

    await talk.fold()

    assert len(talk.house.chain.requests) == before + 1


async def test_switched_off_nothing_waits_and_nothing_is_asked(talk: Talk) -> None:
    s = talk.house.services
    talk.house.services = replace(s, session=replace(s.session, folds=False))

    for number in range(24):
        await talk.say(number)

    session = await talk.session()
    assert session.total == 24 > len(session.exchanges)
    assert session.leaving == ()
    assert await talk.claims(folds=True) == []

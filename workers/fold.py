"""The job of a fold lane: what a conversation dropped becomes part of its running summary (memory.fold)."""

import asyncio

import structlog

from infra import keys
from infra.together import checked, together
from lanes.claim import Claim
from lanes.outcome import Commit, Done, Failed, HandBack, Outcome
from llm.errors import NoModelAnswered, NotAllowed, RequestRejected
from llm.request import CallEnded, Completion, Message, ModelRequest
from memory.fold import INSTRUCTIONS, fold_effects, fold_of, fold_prompt, given_up
from memory.ratio import factor, start
from memory.session import read_session
from memory.tokens import estimate_tokens
from schemas.memory import FoldWanted, Session
from schemas.wire import NewerVersion, NotReadable, load
from workers.plans import plan_of
from workers.purse import Wallet
from workers.records import FOLD
from workers.services import Services
from workers.unknown import LAST_PAUSE_MS

NEWER_PAUSE_MS = 5_000
"""Until a process that knows the newer version had time to take the lane."""
LONGEST_WAIT_S = 120.0
"""A service that asks to be left alone for longer: the exchanges go without a summary."""
SUMMARY_TOKENS = 2_000
"""Of the answer, thinking included; the summary itself has a few hundred."""

log = structlog.get_logger()


def is_fold(claim: Claim) -> bool:
    """Whether the claim is of a fold lane, not of messages."""
    return claim.job_id.startswith(keys.fold_job(""))


async def run_fold(s: Services, claim: Claim) -> Outcome:
    """Have the light model write the new summary, and leave it for the next turn.

    Nothing to do if the conversation is over, was forgotten, or has yet to take the last summary.
    """
    try:
        wanted = load(FoldWanted, claim.items[-1].body)
        session = await _waiting(s, claim.lane)
    except NewerVersion:
        return HandBack(NEWER_PAUSE_MS)
    except NotReadable:
        return Done(Commit())
    if session is None or session.id != wanted.session_id or not session.leaving:
        return Done(Commit())
    if wanted.of_its_own and wanted.bot not in s.brains:
        return HandBack(LAST_PAUSE_MS)
    written = await _ask(s, wanted, session)
    if isinstance(written, Failed):
        return written
    fold = fold_of(session, written)
    log.info("conversation_folded", lane=claim.lane, exchanges=len(fold.covers), chars=len(fold.summary))
    return Done(Commit(texts=fold_effects(claim.lane, fold, s.clock(), s.session)))


def bury_fold(s: Services, claim: Claim) -> Commit:
    """Nobody could write it: the conversation goes on without what was to be folded."""
    fold = given_up(_wanted(claim))
    if fold is None:
        return Commit()
    log.warning("fold_given_up", lane=claim.lane, exchanges=len(fold.covers))
    return Commit(texts=fold_effects(claim.lane, fold, s.clock(), s.session))


async def _waiting(s: Services, lane: str) -> Session | None:
    """The conversation as it is stored; None if there is none, or a summary still waits to be taken."""
    raw, fold_raw = checked(
        await together(s.redis).run(("GET", keys.session(lane)), ("GET", keys.fold(lane)))
    )
    return None if fold_raw is not None else read_session(raw, s.clock(), s.session)


async def _ask(s: Services, wanted: FoldWanted, session: Session) -> str | Failed:
    async def on_call(call: CallEnded) -> None:
        s.recorder.ended(
            call, turn_id=wanted.turn_id, lane=wanted.lane, user_id=wanted.user_id, bot=wanted.bot, why=FOLD
        )

    brain = s.brain_of(wanted.bot)
    request = ModelRequest(INSTRUCTIONS, (Message("user", fold_prompt(session)),), SUMMARY_TOKENS)
    wallet = await _wallet(s, wanted.user_id, request)
    deadline_at = asyncio.get_running_loop().time() + s.deadline_s
    try:
        completion = await (brain.light or brain.chain).complete(
            request, deadline_at=deadline_at, on_call=on_call, before_call=wallet.before_call
        )
    except NoModelAnswered as error:
        return _failed(error)
    except (RequestRejected, NotAllowed) as error:
        return Failed(error.reason, final=True)
    return _usable(completion)


async def _wallet(s: Services, user_id: str, request: ModelRequest) -> Wallet:
    """A summary is paid like an answer, and no plan is passed for one."""
    allowance = plan_of(s.plans, user_id, (await s.people.read()).owner_id) if s.plans.any else None
    tokens = estimate_tokens(request.system) + sum(estimate_tokens(one.text) for one in request.messages)
    tokens = round(tokens * factor(start()))  # who knows how the light model counts
    return Wallet(s.purse, allowance, user_id, lambda _: tokens)


def _failed(error: NoModelAnswered) -> Failed:
    wait_s = error.retry_after_s
    final = not error.worth_retrying or (wait_s is not None and wait_s > LONGEST_WAIT_S)
    return Failed(error.reason, retry_after_ms=None if wait_s is None else round(wait_s * 1000), final=final)


def _usable(completion: Completion) -> str | Failed:
    """Half a summary would lose what the other half should have kept; a long one is cut."""
    match completion.ending:
        case "complete" | "truncated":
            return completion.text
        case "refused":
            return Failed("the model declined to summarise", final=True)
        case "interrupted" | "stopped" | "tools":
            return Failed("the summary was not finished")


def _wanted(claim: Claim) -> list[FoldWanted]:
    """What of the items can be read."""
    found: list[FoldWanted] = []
    for item in claim.items:
        try:
            found.append(load(FoldWanted, item.body))
        except (NotReadable, NewerVersion):
            continue
    return found

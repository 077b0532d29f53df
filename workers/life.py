"""What a turn's commit writes down of it for the dashboard: one entry of keys.life(), and the counters of the minute (UTC) in
which it was made. Ids, numbers and names only. Pure.

messages: of turns that ended. answered: those of them that a model or koi's own line answered, also if the person stopped it
early. fallback: those answered by another model than the one asked, or by the same at another service. failed: those that
became dead letters. turns: that ended. conversations: begun. exchanges: with a model. retries: earlier attempts of those
turns, failed or died. A dead letter that is tried again is a new turn; a turn that ends without a word (an edit that
changes nothing) is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain

from infra import keys
from infra.clean import clean
from infra.effect import Effect
from infra.lives import written
from lanes.claim import Claim
from lanes.outcome import Commit
from schemas.call import CallRecord
from schemas.inbound import person_of
from schemas.life import Attempt, ToolUse, TurnLife
from schemas.memory import Session
from schemas.tools import KeptRound
from schemas.wire import NewerVersion, NotReadable, load
from workers.choose import Chosen
from workers.converse import Answered
from workers.hands import Hands
from workers.messages import Turn
from workers.noted import Answer, Noted, together
from workers.turn_record import asked_of, cost_of, read_tokens, written_tokens
from workers.waiting import Waiting

MINUTES_TTL_MS = 32 * 24 * 3_600_000
MINUTE_MS = 60_000
REASON_CHARS = 300


# ── effects ──────────────────────────────────────────────────────────────────────────────────────────────────────
def with_life(commit: Commit, life: TurnLife) -> Commit:
    """The commit that writes this down too."""
    failed = life.message_ids if life.state == "dead" else ()
    one = _counted({"failed": 1}, life.committed_ms)
    return replace(
        commit,
        effects=(*commit.effects, *life_effects(life)),
        letters=(*commit.letters, *((id_, one) for id_ in failed)),
    )


def life_effects(life: TurnLife) -> tuple[Effect, ...]:
    """All but "failed", which counts with the dead letter: only if its owner has not forgotten the message meanwhile."""
    counts = {what: n for what, n in counts_of(life).items() if what != "failed"}
    counted = _counted(counts, life.committed_ms)
    return (*written("turn", life), counted, Effect("PEXPIRE", counted.key, (MINUTES_TTL_MS,)))


def counts_of(life: TurnLife) -> Mapping[str, int]:
    """By how much the counters grow; nothing that is 0."""
    messages, is_dead = len(life.message_ids), life.state == "dead"
    counts = {
        "messages": messages,
        "answered": 0 if is_dead else messages,
        "fallback": messages if life.fell_back else 0,
        "failed": messages if is_dead else 0,
        "turns": 1,
        "conversations": int(life.exchange == 1),
        "exchanges": int(life.exchange > 0 and life.state != "line"),
        "retries": life.failures,
    }
    return {what: n for what, n in counts.items() if n}


def _counted(counts: Mapping[str, int], at_ms: int) -> Effect:
    key, minute = minute_of(at_ms)
    pairs = ((f"{minute}:{what}", n, f"total:{what}", n) for what, n in counts.items())
    return Effect("HINCRBY", key, tuple(chain.from_iterable(pairs)))


def minute_of(at_ms: int) -> tuple[str, str]:
    """The key of the counters, and "HHMM"."""
    return _minute(at_ms // MINUTE_MS)


@lru_cache(maxsize=8)
def _minute(minute: int) -> tuple[str, str]:
    at = datetime.fromtimestamp(minute * MINUTE_MS / 1000, UTC)
    return keys.minutes(f"{at:%Y-%m-%d}"), f"{at:%H%M}"


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────
def is_silent(commit: Commit) -> bool:
    """Nothing was said and nothing changed: an edit without news, a message that was forgotten before it was read."""
    return not (commit.pushes or commit.effects or commit.texts)


def turn_life(
    turn: Turn, claim: Claim, commit: Commit, noted: Noted, *, ahead_ms: int, now_ms: int
) -> TurnLife:
    """Of a turn that was answered. ahead_ms: by how much koi's clock is shifted against Telegram's."""
    first, answer = turn.first, noted.answer
    calls = together(noted.calls, answer.calls)
    session_id, exchange = noted.exchange
    return TurnLife(
        id=turn.id,
        lane=first.lane,
        owner=first.owner,
        bot=first.bot,
        user_id=first.user_id,
        message_ids=_removed(claim, commit),
        state=answer.state,
        sent_ms=first.sent_at_ms,
        received_ms=_received_ms(claim, noted.began_ms, first.sent_at_ms + ahead_ms),
        taken_ms=noted.began_ms,
        built_ms=noted.built_ms,
        committed_ms=now_ms,
        attempts=_attempts(calls),
        tools=answer.tools,
        failures=claim.failures + claim.deaths,
        asked=answer.asked,
        asked_service=answer.asked_service,
        model=answer.model,
        service=answer.service,
        why=answer.why,
        tier=answer.tier,
        input_tokens=read_tokens(calls),
        output_tokens=written_tokens(calls),
        cost_microusd=cost_of(calls),
        session_id=session_id,
        exchange=exchange,
        entry_ids=answer.entry_ids,
        reply_ids=_replies(commit),
    )


def dead_life(
    claim: Claim, commit: Commit, reason: str, noted: Noted, *, ahead_ms: int, now_ms: int
) -> TurnLife:
    """Of one that was given up. Of attempts whose worker died nobody knows more than that; then there is no cost either."""
    ids = _removed(claim, commit)
    messages = Waiting.of(item for item in claim.items if item.id in ids).messages
    first = messages[0] if messages else None
    calls = together(noted.calls, _kept_calls(claim))
    began_ms = noted.began_ms or now_ms
    sent_ms = first.sent_at_ms if first else 0
    return TurnLife(
        id=claim.turn_id,
        lane=claim.lane,
        owner=claim.owner,
        bot=first.bot if first else "",
        user_id=first.user_id if first else person_of(claim.owner),
        message_ids=ids,
        state="dead",
        sent_ms=sent_ms,
        received_ms=_received_ms(claim, began_ms, sent_ms + ahead_ms if sent_ms else began_ms),
        taken_ms=began_ms,
        built_ms=noted.built_ms,
        committed_ms=now_ms,
        attempts=_attempts(calls),
        tools=tuple(noted.tools.values()),
        failures=claim.failures + claim.deaths,
        reason=" ".join(clean(reason).split())[:REASON_CHARS],
        asked=calls[0].asked if calls else "",
        why=calls[0].why if calls else "",
        input_tokens=read_tokens(calls),
        output_tokens=written_tokens(calls),
        cost_microusd=None if claim.deaths and not calls else cost_of(calls),
        reply_ids=_replies(commit),
    )


def answer_of(answered: Answered, chosen: Chosen, hands: Hands) -> Answer:
    """By whom, at which service, what from. Only names of tools that there are: others may be words of a person."""
    completion = answered.completion
    asked = asked_of(completion)
    skipped = (one.service for one in completion.skipped if one.by == "breaker" and one.model == asked)
    called = (call.service for call in answered.calls if call.model == asked)
    answering = (call.service for call in reversed(answered.calls) if call.model == completion.model)
    return Answer(
        state="stopped" if completion.ending == "stopped" else "answered",
        asked=asked,
        asked_service=next(chain(skipped, called), ""),
        model=completion.model,
        service=next(answering, ""),
        why=chosen.choice.why,
        tier=chosen.choice.tier,
        calls=answered.calls,
        tools=tuple(
            hands.noted.tools.get((nth, call.id)) or ToolUse(name=hands.name_of(call), outcome=result.outcome)
            for nth, one in enumerate(answered.rounds.done, 1)
            for call, result in zip(one.kept.calls, one.results, strict=True)
        ),
        entry_ids=answered.plan.entry_ids,
    )


def exchange_of(session: Session | None, turn_id: str) -> tuple[str, int]:
    """Id of the conversation and number of the exchange that memory.session.extend makes of this turn."""
    if session is None:
        return turn_id, 1
    return session.id, (session.total or len(session.exchanges)) + 1


def _received_ms(claim: Claim, began_ms: int, sent_ms: int) -> int:
    """By the age that the item had when it was claimed; after 48 h only Telegram's stamp is left."""
    return began_ms - claim.age_ms if claim.age_ms is not None else min(began_ms, sent_ms)


def _removed(claim: Claim, commit: Commit) -> tuple[str, ...]:
    """Ids of the messages that end with it."""
    return tuple(item.id for item in claim.items) if commit.remove is None else commit.remove


def _replies(commit: Commit) -> tuple[str, ...]:
    return tuple(push.item_id for push in commit.pushes if push.job_id.startswith(keys.outbox_job("")))


def _attempts(calls: Sequence[CallRecord]) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(
            model=call.model, service=call.service, outcome=call.outcome, detail=call.detail,
            ended_ms=call.at_ms, took_ms=call.took_ms,
        )
        for call in calls
    )  # fmt: skip


def _kept_calls(claim: Claim) -> tuple[CallRecord, ...]:
    """Of the rounds that a turn had kept when it was claimed."""
    calls: list[CallRecord] = []
    for name, value in claim.kept.items():
        if name.startswith("round:"):
            try:
                calls += load(KeptRound, value).made
            except (NotReadable, NewerVersion):
                continue
    return tuple(calls)

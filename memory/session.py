"""The running conversation of one lane: one value, replaced whole at each commit. Pure."""

from collections.abc import Sequence
from typing import Literal

from infra import keys
from infra.clean import clean
from infra.cut import cut
from infra.effect import Effect
from memory.limits import SessionLimits
from memory.tokens import estimate_tokens
from memory.trim import LEAST_RESULT_TOKENS, cut_middle
from memory.window import MESSAGE_TOKENS, counted, recounted, round_tokens
from schemas.memory import Exchange, Session, ToolRound
from schemas.wire import dump, load

MOST_BUDGETS = 2
"""How many times `session.budget_tokens` a single text may have: room for a budget that is raised."""
CHARS_PER_TOKEN = 4
"""Of ordinary prose; bounds a single text."""


def starts_session(now_ms: int, last_ms: int, idle_ms: int) -> bool:
    """Whether a message at `now_ms` begins a new conversation, the last exchange having ended at `last_ms`."""
    return now_ms - last_ms > idle_ms


def read_session(raw: bytes | None, now_ms: int, limits: SessionLimits) -> Session | None:
    """`GET keys.session(lane)`: the conversation that still runs, without what has become too old; None for none.

    Raises: NewerVersion: hand the lane back. NotReadable: report it and go on with None; the commit replaces it.
    """
    if raw is None:
        return None
    session = load(Session, raw)
    if starts_session(now_ms, session.last_ms, limits.idle_ms):
        return None
    session = without_expired(session, now_ms, limits)
    return session if session.exchanges else None


def without_expired(session: Session, now_ms: int, limits: SessionLimits) -> Session:
    """The session without exchanges older than `max_age_ms`, and without blocks and a summary that quote one so old.

    Stamps from the future (the clock jumped back) become `now_ms`, so that what they date expires too. The session
    itself if nothing is to be changed.
    """
    oldest_ms = now_ms - limits.max_age_ms
    changes: dict[str, object] = {}
    for name, exchanges in (("exchanges", session.exchanges), ("leaving", session.leaving)):
        left = tuple(_as_of(one, now_ms, oldest_ms) for one in exchanges if one.at_ms > oldest_ms)
        if len(left) < len(exchanges) or any(
            new is not old for new, old in zip(left, exchanges, strict=True)
        ):
            changes[name] = left
    if session.summary and session.summary_oldest_ms <= oldest_ms:
        changes |= {"summary": "", "summary_oldest_ms": 0}
    if session.last_ms > now_ms:
        changes["last_ms"] = now_ms
    return session.model_copy(update=changes | {"v": Session.newest}) if changes else session


def new_exchange(  # noqa: PLR0913 — the parts of one value
    turn_id: str,
    at_ms: int,
    user: str,
    reply: str,
    *,
    block: str = "",
    block_oldest_ms: int = 0,
    note: str = "",
    rounds: Sequence[ToolRound] = (),
    asked_tokens: int = 0,
    reply_tokens: int = 0,
) -> Exchange:
    """A question and its answer, as they may be stored; note and rounds as the model was given them.

    asked_tokens, reply_tokens: estimates of block, user and note together, and of the reply, if they are known.
    """
    user, reply = clean(user), clean(reply)
    asked, answered = (
        asked_tokens or estimate_tokens(block + user + note),
        reply_tokens or estimate_tokens(reply),
    )
    return Exchange(
        id=turn_id,
        at_ms=at_ms,
        user=user,
        reply=reply,
        block=block,
        block_oldest_ms=block_oldest_ms,
        note=note,
        rounds=tuple(rounds),
        tokens=asked + answered + 2 * MESSAGE_TOKENS + sum(map(round_tokens, rounds)),
    )


def extend(
    session: Session | None,
    exchange: Exchange,
    seen: Sequence[str],
    now_ms: int,
    limits: SessionLimits,
    tier: Literal["", "light", "strong"] = "",
) -> Session:
    """The session after one more exchange, which ended at `now_ms`; None: it begins with this one.

    session: as it was trimmed for this exchange, so its stored size is bounded; so is a single text of the new one.
    seen: ids of the ring entries that were known when the exchange's context was built. tier: of the model that answered; "": as before.
    """
    newest = _bounded(counted(exchange), MOST_BUDGETS * limits.budget_tokens)
    if session is None:
        return Session(
            id=exchange.id, started_ms=exchange.at_ms, last_ms=now_ms, exchanges=(newest,), seen=tuple(seen),
            total=1, tier=tier,
        )  # fmt: skip
    return session.model_copy(
        update={
            "v": Session.newest,
            "last_ms": now_ms,
            "exchanges": (*map(counted, session.exchanges), newest),
            "total": (session.total or len(session.exchanges)) + 1,
            "seen": tuple(seen),
            "tier": tier or session.tier,
        }
    )


def suggests_fresh_start(session: Session, after: int) -> bool:
    """Whether the conversation has just had its `after`-th exchange, or as many again."""
    return session.total > 0 and session.total % after == 0


def session_effects(lane: str, session: Session, limits: SessionLimits) -> tuple[Effect, ...]:
    """Store the session; its key lives as long as it can go on."""
    key = keys.session(lane)
    ttl_ms = min(limits.idle_ms, limits.max_age_ms)
    return (
        Effect("SET", key, (dump(session), "PX", ttl_ms)),
        Effect("ZADD", keys.expiry(), (session_expiry(session, limits), key)),
    )


def end_effects(lane: str) -> tuple[Effect, ...]:
    """The conversation is over: its texts go."""
    session, fold = keys.session(lane), keys.fold(lane)
    return (Effect("DEL", session), Effect("DEL", fold), Effect("ZREM", keys.expiry(), (session, fold)))


def session_expiry(session: Session, limits: SessionLimits) -> int:
    """When the first of its texts must go, ms by koi's clock."""
    stamps = [exchange.at_ms for exchange in (*session.exchanges, *session.leaving)]
    stamps += [exchange.block_oldest_ms for exchange in session.exchanges if exchange.block]
    if session.summary:
        stamps.append(session.summary_oldest_ms)
    return min([session.last_ms + limits.idle_ms + 1, *(stamp + limits.max_age_ms for stamp in stamps)])


def _as_of(exchange: Exchange, now_ms: int, oldest_ms: int) -> Exchange:
    """Without a block that is too old, and not from the future; itself if it is neither."""
    if exchange.block and exchange.block_oldest_ms <= oldest_ms:
        exchange = recounted(exchange.model_copy(update={"block": "", "block_oldest_ms": 0}))
    return exchange if exchange.at_ms <= now_ms else exchange.model_copy(update={"at_ms": now_ms})


def _bounded(exchange: Exchange, most_tokens: int) -> Exchange:
    """Each text, and all tool results together, within a size that no honest answer reaches."""
    most_chars = most_tokens * CHARS_PER_TOKEN
    if exchange.tokens <= most_tokens and max(len(exchange.user), len(exchange.reply)) <= most_chars:
        return exchange
    texts = {"user": cut(exchange.user, most_chars), "reply": cut(exchange.reply, most_chars)}
    results = sum(len(step.results) for step in exchange.rounds)
    most = max(LEAST_RESULT_TOKENS, most_tokens // max(results, 1))
    rounds = [
        step.model_copy(update={"results": tuple(cut_middle(text, most) for text in step.results)})
        for step in exchange.rounds
    ]
    return recounted(exchange.model_copy(update=texts), rounds)

"""The running conversation of one lane: one value, replaced whole at each commit. Pure."""

from collections.abc import Sequence

from infra import keys
from infra.clean import clean
from infra.effect import Effect
from memory.limits import SessionLimits
from memory.summary import cut
from memory.window import newest_within
from schemas.memory import Exchange, Session
from schemas.wire import dump, load

KEPT_BUDGETS = 2
"""How many times `session.budget_tokens` is kept stored: room for a budget that is raised, or a cheaper tokenizer."""
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
    """The session without exchanges older than `max_age_ms`, and without blocks that quote an entry so old.

    Stamps from the future (the clock jumped back) become `now_ms`, so that what they date expires too.
    """
    oldest_ms = now_ms - limits.max_age_ms
    exchanges = tuple(
        _without_old_block(exchange, oldest_ms).model_copy(update={"at_ms": min(exchange.at_ms, now_ms)})
        for exchange in session.exchanges
        if exchange.at_ms > oldest_ms
    )
    return session.model_copy(update={"exchanges": exchanges, "last_ms": min(session.last_ms, now_ms)})


def new_exchange(
    turn_id: str, at_ms: int, user: str, reply: str, *, block: str = "", block_oldest_ms: int = 0
) -> Exchange:
    """A question and its answer, as they may be stored."""
    return Exchange(
        id=turn_id,
        at_ms=at_ms,
        user=clean(user),
        reply=clean(reply),
        block=block,
        block_oldest_ms=block_oldest_ms,
    )


def extend(
    session: Session | None, exchange: Exchange, seen: Sequence[str], now_ms: int, limits: SessionLimits
) -> Session:
    """The session after one more exchange, which ended at `now_ms`; None: it begins with this one.

    seen: ids of the ring entries that were known when the exchange's context was built.
    Its stored size is bounded: only what KEPT_BUDGETS budgets could use stays, and a single text no longer than that.
    """
    earlier = session or Session(id=exchange.id, started_ms=exchange.at_ms, last_ms=now_ms)
    budget_tokens = KEPT_BUDGETS * limits.budget_tokens
    exchanges = (*earlier.exchanges, _bounded(exchange, budget_tokens * CHARS_PER_TOKEN))
    return earlier.model_copy(
        update={
            "last_ms": now_ms,
            "exchanges": newest_within(exchanges, budget_tokens),
            "seen": tuple(seen),
        }
    )


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
    key = keys.session(lane)
    return (Effect("DEL", key), Effect("ZREM", keys.expiry(), (key,)))


def session_expiry(session: Session, limits: SessionLimits) -> int:
    """When the first of its texts must go, ms by koi's clock."""
    stamps = [exchange.at_ms for exchange in session.exchanges]
    stamps += [exchange.block_oldest_ms for exchange in session.exchanges if exchange.block]
    return min([session.last_ms + limits.idle_ms + 1, *(stamp + limits.max_age_ms for stamp in stamps)])


def _without_old_block(exchange: Exchange, oldest_ms: int) -> Exchange:
    if not exchange.block or exchange.block_oldest_ms > oldest_ms:
        return exchange
    return exchange.model_copy(update={"block": "", "block_oldest_ms": 0})


def _bounded(exchange: Exchange, most_chars: int) -> Exchange:
    if max(len(exchange.user), len(exchange.reply)) <= most_chars:
        return exchange
    return exchange.model_copy(
        update={"user": cut(exchange.user, most_chars), "reply": cut(exchange.reply, most_chars)}
    )

"""How an exchange becomes an entry of the ring. Pure."""

import re

from infra.cut import cut
from memory.features import find, pack
from memory.limits import MemoryLimits
from memory.summary import summarise
from schemas.memory import Exchange, RingEntry

TELEGRAM_NAME = re.compile(r"telegram_(\d{1,20})")


def make_entry(  # noqa: PLR0913 — what an entry says of itself
    exchange: Exchange,
    limits: MemoryLimits,
    *,
    session_name: str = "",
    workdir: str = "",
    bot: str = "",
    lane: str = "",
    tokens: tuple[int, int] = (0, 0),
) -> RingEntry:
    """The exchange, its texts cut to the limits, and what choosing sentences needs; with the same id and time.

    tokens: estimates of its message and its reply, if they are known.
    """
    user_message = cut(exchange.user, limits.user_chars)
    summary = summarise(exchange.reply, limits.summary_chars)
    reply = cut(exchange.reply, limits.reply_chars) if limits.reply_chars else ""
    return RingEntry(
        id=exchange.id,
        at_ms=exchange.at_ms,
        user_message=user_message,
        summary=summary,
        reply=reply,
        session_name=session_name,
        workdir=workdir,
        bot=bot,
        lane=lane,
        features=pack(
            find(
                user_message,
                reply or summary,
                tokens[0] if user_message == exchange.user else 0,
                tokens[1] if reply == exchange.reply else 0,
            )
        ),
    )


def session_name_of(user_id: str) -> str:
    """ "42" → "telegram_42", "local:anna" → "local_anna"."""
    kind, _, name = user_id.partition(":")
    return f"{kind}_{name}" if name else f"telegram_{user_id}"


def user_of(session_name: str) -> str | None:
    """The person whom a `telegram_<id>` names; None for any other session name."""
    found = TELEGRAM_NAME.fullmatch(session_name)
    return found[1] if found else None

"""How long a turn's context takes: the block from 20 entries and the window over 20 exchanges, as workers.plan builds it."""

from datetime import UTC
from time import perf_counter

from bench.report import quantile
from memory.entry import make_entry
from memory.limits import MemoryLimits, SessionLimits
from memory.session import extend, new_exchange
from schemas.memory import Exchange, Session
from workers.plan import Given, plan_turn
from workers.words import Words

EXCHANGES = 20
SIZES = {
    "typical": ((60, 400), (60, 400)),
    "largest": ((500, 4_000), (100, 550)),
    "largest, trimmed": ((500, 4_000), (100, 750)),
}
"""Characters of a message and a reply: of remembered entries (the most that the ring keeps), and of the exchanges of the
running conversation (just below its budget, and above it, so that it is trimmed).
"""
BUILDS = 200
TEXT = (
    "Shelf {0} holds invoice {1}, which Leipzig asked for on Tuesday; the courier brings crate {2} to gate {0}, "
    "and the inspector wants forms signed in copper ink. "
)


def measure() -> tuple[list[str], dict[str, float]]:
    """Lines for people, and the same as figures, ms."""
    lines: list[str] = []
    figures: dict[str, float] = {}
    for name, (of_entries, of_exchanges) in SIZES.items():
        given = _given(of_entries, of_exchanges)
        seconds: list[float] = []
        for _ in range(BUILDS):
            begun = perf_counter()
            plan_turn(given)
            seconds.append(perf_counter() - begun)
        p50, p99 = (quantile(seconds, q) * 1000 for q in (0.5, 0.99))
        figures |= {f"{name}_ms_p50": p50, f"{name}_ms_p99": p99}
        lines.append(
            f"{name}: block from {EXCHANGES} entries of {of_entries[1]:,} characters + window over {EXCHANGES} exchanges: "
            f"{p50:.2f} ms p50, {p99:.2f} ms p99"
        )
    return lines, figures


def _given(of_entries: tuple[int, int], of_exchanges: tuple[int, int]) -> Given:
    """A running conversation, and as many entries of another lane that it has yet to be told of."""
    text = "".join(TEXT.format(number, 4000 + 37 * number, number * number) for number in range(120))
    session: Session | None = None
    for at in range(EXCHANGES):
        session = extend(session, _exchange(text, at, *of_exchanges), (), at * 60_000, SessionLimits())
    exchanges = [_exchange(text, at + EXCHANGES, *of_entries) for at in range(EXCHANGES)]
    limits = MemoryLimits()
    entries = tuple(make_entry(exchange, limits, lane="2:2:0") for exchange in exchanges)
    return Given(
        words=Words("Which invoice did Leipzig ask for, and where is crate 49?"), lane="1:1:0", language="en",
        system="You are koi.", session=session, entries=entries, answer=None, memory=limits, limits=SessionLimits(),
        zone=UTC,
    )  # fmt: skip


def _exchange(text: str, at: int, user_chars: int, reply_chars: int) -> Exchange:
    return new_exchange(str(at), at * 60_000, text[at * 50 :][:user_chars], text[at * 97 :][:reply_chars])

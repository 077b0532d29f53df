"""How models stand with the breaker, what a call says about them, and in which order a turn asks them. Pure.

docs/decisions/0012-breaker.md has the reasons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from llm.candidates import Candidate
from llm.draft import Ended, Paused, Verdict
from llm.failure import SKIP, Failure, FailureKind
from llm.request import Skipped
from llm.retry import BACKOFF_S, LINGER_S, SHORTEST_CALL_S

THRESHOLD = 3
"""Failures without a success between them that open the breaker: one turn alone (two tries) cannot."""
WINDOW_MS = 180_000
"""After so long without a failure they are forgotten."""
OPEN_MS = 30_000
"""Until the first probe: most overloads are over by then, and a probe costs one person some seconds at worst."""
OPEN_LONGEST_MS = 300_000
"""Each failed probe doubles the wait up to here, so a model is back in use 5 minutes after it works again."""
REFUSED_OPEN_MS = 300_000
"""After a wrong key, no credit, an unknown model: only a person can mend that."""
ASKED_LONGEST_MS = 3_600_000
"""A service that asks to be left alone for longer (a daily limit) is probed every hour nevertheless."""
SILENT_S = 20.0
"""A call cut by the turn's own deadline counts if it had this long and not one byte came."""

COUNTED: frozenset[FailureKind] = frozenset(
    {"overloaded", "server_error", "timeout", "broken", "malformed", "rate_limited", "forbidden"}
)
"""forbidden too, since OpenRouter answers 403 to a single message that it finds improper."""
AT_ONCE: frozenset[FailureKind] = frozenset({"unauthorized", "unpaid", "unknown_model"})
SLOW_TO_FAIL = ("timeout", "deadline")


@dataclass(frozen=True, slots=True)
class Closed:
    """Asked as usual."""

    failures: int = 0
    """Without a success between them."""


@dataclass(frozen=True, slots=True)
class Open:
    """Nobody asks it until `until_ms`; from then on one at a time does (see Probe)."""

    since_ms: int
    """When it opened, ms of Redis' clock; stays through failed probes."""
    why: str
    """The newest failure (llm.request.Outcome)."""
    until_ms: int
    wait_ms: int
    """From the reading until `until_ms`, at least 0."""
    asked: bool = False
    """The service itself asked for that wait."""


@dataclass(frozen=True, slots=True)
class Probe:
    """This turn is the one that tries whether it works again."""

    since_ms: int
    why: str
    lease: int
    """Until when nobody else tries, ms of Redis' clock."""


type State = Closed | Open | Probe

CLOSED = Closed()


@dataclass(frozen=True, slots=True)
class Works:
    """The model spoke."""


@dataclass(frozen=True, slots=True)
class SaysNothing:
    """The call tells nothing about the model: the request or the turn was at fault, or nobody waited."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The model does not answer."""

    why: FailureKind
    threshold: int = THRESHOLD
    open_ms: int = OPEN_MS
    asked_ms: int = 0
    """The service asked to be left alone for so long; 0: it did not."""


type Signal = Works | SaysNothing | Fails

SAYS_NOTHING = SaysNothing()


def signal_of(verdict: Verdict, *, heard: bool, took_s: float) -> Signal:
    """What a call says about its model. `heard`: any event came."""
    match verdict:
        case Ended() | Paused():
            return Works()
        case Failure(kind=kind) if kind in AT_ONCE:
            return Fails(kind, threshold=1, open_ms=REFUSED_OPEN_MS)
        case Failure(kind="deadline"):
            return SAYS_NOTHING if heard or took_s < SILENT_S else Fails("deadline")
        case Failure(kind=kind, retry_after_s=asked_s) if kind in COUNTED:
            if (asked_s or 0.0) <= LINGER_S:
                return Fails(kind)
            return Fails(kind, threshold=1, asked_ms=min(round((asked_s or 0.0) * 1000), ASKED_LONGEST_MS))
        case Failure():
            return SAYS_NOTHING
        case _:
            assert_never(verdict)


@dataclass(frozen=True, slots=True)
class LastResort:
    """A model whose breaker is open, asked because nobody else answered."""

    at: int
    """Its place in the chain."""
    wait_s: float
    """The service asked for it, and it fits."""
    hopeful: bool
    """It fails fast, so it may be asked beside others; otherwise only if nobody was asked at all."""


def ready(candidates: Sequence[Candidate], states: Mapping[Candidate, State]) -> list[int]:
    """The places of those to be asked as usual, in the order of the chain."""
    return [at for at, candidate in enumerate(candidates) if not isinstance(states[candidate], Open)]


def last_resorts(
    candidates: Sequence[Candidate], states: Mapping[Candidate, State], *, left_s: float, passed_s: float
) -> list[LastResort]:
    """Those whose breaker is open, the least bad first. `left_s`: until the deadline. `passed_s`: since the reading.

    Hopeful: what fails at once and may pass, then what asked for a wait that fits. Then what costs time, then what
    asked for more than there is, and last what only the owner can mend.
    """
    found: list[tuple[int, LastResort]] = []
    for at, candidate in enumerate(candidates):
        if isinstance(state := states[candidate], Open):
            wait_s = max(0.0, state.wait_ms / 1000 - passed_s) if state.asked else 0.0
            rank = _rank(state.why, wait_s, left_s)
            found.append((rank, LastResort(at, wait_s if rank == 1 else 0.0, hopeful=rank <= 1)))
    return [resort for _, resort in sorted(found, key=lambda ranked: ranked[0])]


def _rank(why: str, wait_s: float, left_s: float) -> int:
    if why in SKIP:
        return 4
    if wait_s:
        return 1 if wait_s + BACKOFF_S <= left_s - SHORTEST_CALL_S else 3
    return 2 if why in SLOW_TO_FAIL else 0


def skipped_by(candidate: Candidate, state: Open) -> Skipped:
    """The open breaker as people are told it."""
    return Skipped(candidate.service.name, candidate.model, "breaker", state.why, state.since_ms)

"""The circuit breaker: all processes know through Redis which models do not answer. standing.py decides, this acts.

Redis away or at odds: a warning, and every model counts as closed. Calls do not depend on the breaker.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

import structlog
from redis.exceptions import RedisError

from infra import keys
from infra.clock import Clock
from infra.redis_port import RedisPort
from infra.scripts import Script
from infra.together import checked, together
from llm.candidates import Candidate
from llm.standing import (
    CLOSED,
    OPEN_LONGEST_MS,
    WINDOW_MS,
    Closed,
    Fails,
    Open,
    Probe,
    SaysNothing,
    Signal,
    State,
    Works,
)

REMEMBERED_MS = 3_600_000
"""How long after its wait an open breaker is known that nobody probed; then the model is asked as usual."""
FIELDS = 7
"""Of one model in a reply."""

READ = Script(Path(__file__).with_name("breaker_read.lua"))
FAIL = Script(Path(__file__).with_name("breaker_fail.lua"))
RELEASE = Script(Path(__file__).with_name("breaker_release.lua"))

log = structlog.get_logger()


class Breaker:
    """Of one Redis. `clock`: instead of Redis' own, for tests."""

    def __init__(self, redis: RedisPort, *, clock: Clock = lambda: 0) -> None:
        self._redis = redis
        self._clock = clock

    async def read(self, candidates: Iterable[Candidate]) -> Mapping[Candidate, State]:
        """How they stand, in one round trip. Only looks: nothing is a Probe."""
        return await self._read(tuple(candidates), lease_ms=0)

    async def admit(self, candidates: Iterable[Candidate], *, lease_ms: int) -> Mapping[Candidate, State]:
        """How they stand for a turn that is about to ask them, in one round trip. One of them may be this turn's Probe:
        `tell` what came of it; after `lease_ms` (1 or more) another turn tries.
        """
        return await self._read(tuple(candidates), lease_ms=lease_ms)

    async def tell(self, candidate: Candidate, known: State, signal: Signal) -> State:
        """What a call said; gives how the model stands now. `known`: how it stood before. A success that closes nothing
        costs no round trip, nor does what says nothing.
        """
        if candidate.service.name == "offline":
            return CLOSED
        try:
            return await self._tell(candidate, known, signal)
        except RedisError as error:
            log.warning("breaker_unreachable", error=type(error).__name__)
            return known

    async def _read(self, candidates: tuple[Candidate, ...], *, lease_ms: int) -> Mapping[Candidate, State]:
        states: dict[Candidate, State] = dict.fromkeys(candidates, CLOSED)
        asked = [candidate for candidate in candidates if candidate.service.name != "offline"]
        if not asked:
            return states
        names = [key for candidate in asked for key in _keys(candidate)]
        try:
            now, *fields = await READ(self._redis, names, [self._clock(), lease_ms])
        except RedisError as error:
            log.warning("breaker_unreachable", error=type(error).__name__)
            return states
        for at, candidate in enumerate(asked):
            states[candidate] = _state(now, fields[at * FIELDS : (at + 1) * FIELDS])
        return states

    async def _tell(self, candidate: Candidate, known: State, signal: Signal) -> State:
        match signal:
            case Fails():
                return await self._fail(candidate, signal)
            case SaysNothing():
                if isinstance(known, Probe):
                    await RELEASE(self._redis, [_keys(candidate)[1]], [known.lease])
                return known
            case Works():
                await self._close(candidate, known)
                return CLOSED
            case _:
                assert_never(signal)

    async def _fail(self, candidate: Candidate, fails: Fails) -> State:
        now, *fields = await FAIL(
            self._redis,
            _keys(candidate),
            [
                self._clock(),
                fails.why,
                fails.threshold,
                fails.open_ms,
                fails.asked_ms,
                WINDOW_MS,
                OPEN_LONGEST_MS,
                REMEMBERED_MS,
            ],
        )
        state = _state(now, fields)
        if isinstance(state, Open):
            log.warning(
                "breaker_open", service=candidate.service.name, model=candidate.model, why=state.why,
                since_ms=state.since_ms, for_ms=state.wait_ms,
            )  # fmt: skip
        return state

    async def _close(self, candidate: Candidate, known: State) -> None:
        """A call that began while the model was closed does not close what opened meanwhile: it says how the model was
        then.
        """
        failures, opened = _keys(candidate)
        match known:
            case Closed(failures=0):
                return
            case Closed():
                checked(await together(self._redis).run(("DEL", failures)))
            case Open() | Probe():
                checked(await together(self._redis).run(("DEL", failures, opened)))
                log.info("breaker_closed", service=candidate.service.name, model=candidate.model)
            case _:
                assert_never(known)


def _keys(candidate: Candidate) -> list[str]:
    service, model = candidate.service.name, candidate.model
    return [keys.breaker_failures(service, model), keys.breaker_open(service, model)]


def _state(now: int, fields: Sequence[Any]) -> State:
    name, failures, since_ms, until_ms, why, asked, lease = fields
    match name:
        case b"closed":
            return Closed(failures) if failures else CLOSED
        case b"probe":
            return Probe(since_ms, why.decode(), lease)
        case _:
            return Open(since_ms, why.decode(), until_ms, max(0, until_ms - now), bool(asked))

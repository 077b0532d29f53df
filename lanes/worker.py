"""An arq worker whose jobs are lanes.

arq gives the layout (a sorted set of job ids, an in-progress key, a job value) and the worker's books; claim, lease,
wake-up and finish are ours, since arq by itself gives neither order nor safety (docs/decisions/0002).
"""

import asyncio
import contextlib
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

import structlog
from arq.connections import ArqRedis
from arq.worker import Worker, func
from redis.exceptions import RedisError

from infra import keys
from infra.outage import is_outage
from infra.redis_port import RedisPort
from lanes.claim import Claim, claim_due
from lanes.commit import CannotCommit, Committed, MustStayWhole, commit, release
from lanes.keep import LeaseLost
from lanes.lease import Lease, renew
from lanes.outcome import Commit, Done, Failed, HandBack, Handler, Outcome
from lanes.retry import Again, Bury, Split, after_deaths, after_failure

log = structlog.get_logger()

FALLBACK_POLL_S = 1.0
"""A worker that heard no doorbell looks anyway: bounds recovery at lease + this."""
OUTAGE_PAUSE_S = 0.3
"""Between attempts while Redis is away."""
CLAIM_AT_ONCE = 32
"""Lanes per claim: enough to fill up fast, few enough to share with other workers."""
STALE_RUN_PAUSE_MS = 50
BROKEN_LANE_PAUSE_MS = 60_000
"""Before a lane whose keys are broken is looked at again."""


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """How a lane worker behaves; durations in ms."""

    lease_ms: int = 10_000
    concurrency: int = 50
    per_turn: int = 20
    """Waiting items that one turn may take together."""
    attempts: int = 3
    """Failures after which a turn is given up."""
    deaths: int = 6
    """Claims without an end after which a turn is given up (a batch that kept nothing is split at half of it)."""
    drain_ms: int = 25_000
    """How long stop() waits for running turns."""


async def _not_run_by_arq(ctx: dict[Any, Any], job_id: str) -> None:
    """The function that lane jobs name; LaneWorker runs them itself."""


class LaneWorker(Worker):
    """Serves one queue. `await worker.serve()` until `worker.stop()`; then it drains, hands back the rest, returns."""

    def __init__(
        self, redis: RedisPort, queue: str, handler: Handler, limits: LaneLimits, *, name: str = ""
    ) -> None:
        super().__init__(
            functions=[func(_not_run_by_arq, name="run_lane")],
            queue_name=queue,
            redis_pool=cast("ArqRedis", redis),
            handle_signals=False,
            max_jobs=limits.concurrency,
            keep_result=0,
        )
        self.redis = redis
        self.handler = handler
        self.limits = limits
        self.prefix = f"{name or 'worker'}-{uuid.uuid4().hex}"
        self.leases: dict[str, Lease] = {}
        self._wake, self._looked = asyncio.Event(), asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take no more lanes; serve() returns once the running ones ended or drain_ms passed."""
        self.allow_pick_jobs = False
        self._stopping.set()
        self._wake.set()

    async def serve(self) -> None:
        """Run until stop(); lives through any Redis outage."""
        async with asyncio.TaskGroup() as group:
            side = [group.create_task(self._listen()), group.create_task(self._hold_leases())]
            while not self._stopping.is_set():
                self._wake.clear()
                pause_s = await self._pick_lanes(group)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await self._wake.wait()
            await self._drain()
            for task in side:
                task.cancel()

    # ── picking ──────────────────────────────────────────────────────────────────────────────────────────────────
    async def _pick_lanes(self, group: asyncio.TaskGroup) -> float:
        """Claim what is due and start it; gives the seconds until it is worth looking again."""
        free = min(self.limits.concurrency - self.job_counter, CLAIM_AT_ONCE)
        if free <= 0:
            return FALLBACK_POLL_S  # a slot that becomes free wakes us
        self._looked.set()
        asked_at = time.monotonic()
        try:
            claims, wait_ms = await claim_due(
                self.redis, self.queue_name, lease_ms=self.limits.lease_ms, wanted=free, prefix=self.prefix,
                per_turn=self.limits.per_turn,
            )  # fmt: skip
        except RedisError as error:
            log.warning("queue_unreachable", queue=self.queue_name, error=type(error).__name__)
            return OUTAGE_PAUSE_S
        for claim in claims:
            await self._start(group, claim, asked_at)
        if len(claims) == free:
            return 0.0
        return FALLBACK_POLL_S if wait_ms is None else min(FALLBACK_POLL_S, (wait_ms + 1) / 1000)

    async def _start(self, group: asyncio.TaskGroup, claim: Claim, asked_at: float) -> None:
        stale = self.tasks.get(claim.job_id)
        if stale is not None:
            # we stalled, lost this lane and took it again while our old run is not gone: stop that one first
            stale.cancel()
            await self._hand_back(claim, delay_ms=STALE_RUN_PAUSE_MS)
            return
        self.job_counter += 1
        self.leases[claim.job_id] = Lease(claim, asked_at, self.limits.lease_ms / 1000)
        task = group.create_task(self._run_lane(claim))
        self.tasks[claim.job_id] = task
        task.add_done_callback(lambda _: self._ended(claim.job_id))

    def _ended(self, job_id: str) -> None:
        del self.tasks[job_id], self.leases[job_id]
        self.job_counter -= 1
        self._wake.set()

    async def _listen(self) -> None:
        """Wait at the doorbell; after a ring not before we looked: who has no free slot leaves the next to others."""
        bell = keys.bell(self.queue_name)
        while True:
            try:
                if await self.redis.blpop([bell], timeout=5):
                    self._looked.clear()
                    self._wake.set()
                    await self._looked.wait()
            except RedisError:
                await asyncio.sleep(OUTAGE_PAUSE_S)
                self._wake.set()

    # ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────
    async def _hold_leases(self) -> None:
        """Renew what runs; stop what cannot be renewed before its lease ends by our own clock, or was lost."""
        period_s = self.limits.lease_ms / 5000
        while True:
            await asyncio.sleep(period_s)
            held = list(self.leases.values())
            lost = await renew(self.redis, self.queue_name, held, self.limits.lease_ms, timeout_s=period_s)
            for lease in held:
                taken_away = lease.claim.token in lost and not lease.settling
                if taken_away or lease.ends_within(2 * period_s, time.monotonic()):
                    lease.lost = True
                    if self.leases.get(lease.claim.job_id) is lease:
                        log.warning("lease_lost", job_id=lease.claim.job_id)
                        self.tasks[lease.claim.job_id].cancel()

    # ── one lane ─────────────────────────────────────────────────────────────────────────────────────────────────
    async def _run_lane(self, claim: Claim) -> None:
        try:
            outcome = await self._attempt(claim)
            self.leases[claim.job_id].settling = True
            await self._settle(claim, outcome)
        except LeaseLost:
            log.warning("lease_lost", job_id=claim.job_id)
        except asyncio.CancelledError:
            if not self.leases[claim.job_id].lost:  # shutting down: nobody is to blame  # fmt: skip
                await self._hand_back(claim)
            raise
        except Exception as error:  # noqa: BLE001 — the border of a lane: how it ends must not end the others
            log.warning("lane_broken", job_id=claim.job_id, error=type(error).__name__, where=_where(error))
            await self._hand_back(claim, delay_ms=BROKEN_LANE_PAUSE_MS)

    async def _attempt(self, claim: Claim) -> Outcome:
        match after_deaths(deaths=claim.deaths, limit=self.limits.deaths, can_split=claim.can_split):
            case Bury():
                return Failed(f"the process died {claim.deaths} times while it worked on this", final=True)
            case Split():
                return Failed("the process died while it worked on several messages", final=True)
            case None:
                pass
        try:
            return await self.handler.run(claim)
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001 — the border of a job: whatever it was, the lane goes on
            if isinstance(error, RedisError) and is_outage(error):
                log.warning("turn_interrupted", job_id=claim.job_id, error=type(error).__name__)
                return HandBack(delay_ms=round(OUTAGE_PAUSE_S * 1000))
            # no traceback: the words of an error may quote a person
            log.warning("turn_crashed", job_id=claim.job_id, error=type(error).__name__, where=_where(error))
            return Failed(f"{type(error).__name__} in {_where(error)}")

    async def _settle(self, claim: Claim, outcome: Outcome) -> None:
        match outcome:
            case Done(commit=end):
                try:
                    await self._commit(claim, end)
                except CannotCommit as error:
                    await self._after_failure(claim, Failed(str(error)))
            case HandBack(delay_ms=delay_ms):
                await self._release(claim, delay_ms=delay_ms)
                self.jobs_retried += 1
            case Failed():
                await self._after_failure(claim, outcome)

    async def _after_failure(self, claim: Claim, failed: Failed) -> None:
        decision = after_failure(
            failures=claim.failures + 1, attempts=self.limits.attempts, can_split=claim.can_split,
            final=failed.final, asked_ms=failed.retry_after_ms, chance=random.random(),
        )  # fmt: skip
        log.warning("turn_failed", job_id=claim.job_id, turn_id=claim.turn_id, reason=failed.reason,
                    failures=claim.failures + 1, next=type(decision).__name__.lower())  # fmt: skip
        match decision:
            case Again(delay_ms=delay_ms):
                await self._release(claim, delay_ms=delay_ms, failed=True)
                self.jobs_retried += 1
            case Split():
                try:
                    await self._release(claim, split=True)
                except MustStayWhole:  # kept in this very attempt, which was its last
                    await self._bury(claim, failed.reason)
            case Bury():
                await self._bury(claim, failed.reason)

    async def _bury(self, claim: Claim, reason: str) -> None:
        try:
            await self._commit(claim, self.handler.bury(claim, reason))
        except CannotCommit as error:
            log.warning("bury_impossible", job_id=claim.job_id, reason=str(error))
            await self._release(claim, delay_ms=BROKEN_LANE_PAUSE_MS)
        self.jobs_failed += 1

    async def _commit(self, claim: Claim, end: Commit) -> None:
        """Until it is known to be done, or the lease is lost (then we are cancelled): a repeat changes nothing.

        Raises: CannotCommit.
        """
        done = await self._insist(lambda: commit(self.redis, self.queue_name, claim, end))
        if done is Committed.FENCED:
            log.warning("commit_fenced", job_id=claim.job_id, turn_id=claim.turn_id)
        else:
            self.jobs_complete += 1

    async def _release(
        self, claim: Claim, *, delay_ms: int = 0, failed: bool = False, split: bool = False
    ) -> None:
        await self._insist(
            lambda: release(self.redis, self.queue_name, claim, delay_ms=delay_ms, failed=failed, split=split)
        )

    async def _insist[T](self, step: Callable[[], Awaitable[T]]) -> T:
        """Repeat a harmless step while Redis is away; the end of the lease cancels us."""
        while True:
            try:
                return await step()
            except RedisError as error:
                if not is_outage(error):
                    raise
                log.warning("redis_unreachable", queue=self.queue_name, error=type(error).__name__)
                await asyncio.sleep(OUTAGE_PAUSE_S)

    async def _hand_back(self, claim: Claim, *, delay_ms: int = 0) -> None:
        """One try: if Redis is away, the end of the lease gives the lane back."""
        with contextlib.suppress(RedisError):
            await release(self.redis, self.queue_name, claim, delay_ms=delay_ms)

    # ── stopping ─────────────────────────────────────────────────────────────────────────────────────────────────
    async def _drain(self) -> None:
        running = list(self.tasks.values())
        if running:
            log.info("draining", queue=self.queue_name, running=len(running))
            await asyncio.wait(running, timeout=self.limits.drain_ms / 1000)
        for task in running:
            task.cancel()


def _where(error: BaseException) -> str:
    """File and line of the innermost frame: where to look, without the words of the error (they may quote a person)."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "unknown"

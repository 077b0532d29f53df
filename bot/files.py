"""Fetch files for the workers, who hold no token: keys.file_requests(bot) is what their turns ask for (infra.files)."""

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable

import structlog
from aiogram.exceptions import AiogramError
from redis.exceptions import RedisError

from bot.api import BotApi, FileTooLarge
from bot.faults import BadToken, Conflict, Flooded, NotReached, Refused, Unknown, fault_of
from infra import keys
from infra.files import MOST_BYTES, MOST_TELEGRAM_BYTES, Fetched, FileAnswered, NotThere, TooBig, answer
from infra.redis_port import RedisPort
from schemas.files import FileRequest
from schemas.wire import NewerVersion, NotReadable, load

AT_ONCE = 4
WAITING = 100
"""Requests that are known and not answered; more are dropped, they are repeated."""
ECHO_S = 1.0
"""A repetition that was pushed while the answer was on its way is no new request; a real one comes later (AGAIN_S)."""
BLOCK_S = 5
TOO_BIG = "file is too big"
"""In the text of getFile's 400."""
AWAY_S = 1.0

log = structlog.get_logger()


class Files:
    """Files of one bot."""

    def __init__(
        self,
        redis: RedisPort,
        api: BotApi,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._redis, self._api, self._sleep = redis, api, sleep
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._known: set[str] = set()
        """Keys of the answers that are on their way, or were handed over just now."""
        self._paused_until_s = 0.0

    async def serve(self) -> None:
        """For ever; lives through any outage."""
        requests = keys.file_requests(self._api.bot_id)
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    found = await self._redis.blpop([requests], timeout=BLOCK_S)
                except RedisError:
                    await self._sleep(AWAY_S)
                    continue
                if found is not None and (request := _read(found[1])) is not None:
                    self._take(group, request)

    def _take(self, group: asyncio.TaskGroup, request: FileRequest) -> None:
        """One that is on its way is not begun again, however often it is repeated."""
        key = keys.file(request.turn_id, request.unique_id)
        if key in self._known or len(self._known) >= WAITING or self._is_paused():
            return
        self._known.add(key)
        group.create_task(self._answer(request, key))

    def _is_paused(self) -> bool:
        return asyncio.get_running_loop().time() < self._paused_until_s

    async def _answer(self, request: FileRequest, key: str) -> None:
        handed_over = False
        try:
            async with self._slots:
                outcome = await self._fetched(request)
                if outcome is not None:
                    await answer(self._redis, request, outcome)
                    handed_over = True
        except RedisError as error:
            log.info("file_not_handed_over", turn_id=request.turn_id, error=type(error).__name__)
        finally:
            loop = asyncio.get_running_loop()
            loop.call_later(ECHO_S if handed_over else 0, self._known.discard, key)

    async def _fetched(self, request: FileRequest) -> FileAnswered | None:
        """None: not now; the request will be repeated."""
        try:
            found = await self._api.download(request.file_id, min(request.max_bytes, MOST_BYTES))
        except FileTooLarge as error:
            return TooBig(error.size_bytes)
        except AiogramError as error:
            return self._failed(request, error)
        log.info("file_fetched", turn_id=request.turn_id, size_bytes=len(found.content))
        return Fetched(found.content, mimetypes.guess_type(found.name)[0] or "")

    def _failed(self, request: FileRequest, error: AiogramError) -> NotThere | TooBig | None:
        fault = fault_of(error)
        log.info("file_not_fetched", turn_id=request.turn_id, error=type(fault).__name__)
        match fault:
            case Flooded(retry_after_s=wait_s):
                self._paused_until_s = asyncio.get_running_loop().time() + wait_s
                return None
            case NotReached() | Unknown() | BadToken() | Conflict():
                return None
            case Refused(why=why) if TOO_BIG in why.lower():
                return TooBig(MOST_TELEGRAM_BYTES)
            case _:
                return NotThere("refused")


def _read(raw: bytes) -> FileRequest | None:
    try:
        return load(FileRequest, raw)
    except (NotReadable, NewerVersion) as error:
        log.warning("file_request_unreadable", error=type(error).__name__)
        return None

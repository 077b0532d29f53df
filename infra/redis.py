"""The way to Redis: the embedded Valkey, or whatever REDIS_URL names; checked before anybody relies on it.

Commands are not repeated here after a lost connection: whether a repeat is harmless, only the caller knows. A pooled
connection that died meanwhile is replaced without notice.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import structlog
from arq.connections import ArqRedis
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.exceptions import (
    AuthenticationError,
    AuthenticationWrongNumberOfArgsError,
    BusyLoadingError,
    NoPermissionError,
    RedisError,
)
from redis.exceptions import ConnectionError as RedisConnectionError

from infra.outage import is_outage
from infra.redis_address import is_sentinel_url, parse_sentinel
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.settings_sources import shown
from infra.valkey import BadRedis, Place, ensure, find_binaries, keep_running, stop_if_last

__all__ = ["BadRedis", "data_folder", "is_sentinel", "open_redis"]

CONNECT_S = 5.0
SOCKET_S = 15.0
"""An answer that takes longer is a lost connection. Ask blocking commands (BLPOP) for at most BLOCK_S."""
BLOCK_S = 10.0
HEALTH_CHECK_S = 30
"""A connection that rested for longer is asked PING before its next use."""
OLDEST = (7, 0)
"""The oldest Redis that the tests were run with; every Valkey is newer (7.2 is its first)."""
RETRY_S = 0.05

log = structlog.get_logger()


def is_sentinel(settings: Settings) -> bool:
    """True if Redis is reached through Sentinel: then a failover may happen, and ingress waits for a replica."""
    return is_sentinel_url(settings.redis_url)


def data_folder(settings: Settings) -> Path:
    """Where the embedded Valkey and exports live; not made yet."""
    import platformdirs  # noqa: PLC0415 only the embedded server and exports need it

    named = settings.data_dir or platformdirs.user_data_dir("koi", appauthor=False)
    return Path(named).expanduser().absolute()


@asynccontextmanager
async def open_redis(settings: Settings, *, name: str, patience_s: float = 30) -> AsyncGenerator[RedisPort]:
    """A checked client whose connections are called `koi:<name>:<process id>`.

    Without REDIS_URL the embedded server is adopted or started, brought back if it ends, and stopped at the end of the
    block if no other koi process uses it.
    patience_s: how long a Redis that cannot be reached is tried again. One that still loads its data is waited for.

    Raises: BadRedis: not reachable, not usable, or not safe to use.
    """
    client_name = f"koi:{name}:{os.getpid()}"
    if settings.redis_url:
        where = f"REDIS_URL {shown(settings.redis_url)}"
        async with _client(settings.redis_url, client_name, where) as redis:
            await _check(redis, where, patience_s)
            yield redis
        return
    async with (
        _embedded(settings, client_name, patience_s) as place,
        _client(f"unix://{place.socket}", client_name, "The embedded Valkey") as redis,
    ):
        await _check(redis, "The embedded Valkey", patience_s)
        await redis.config_set("appendfsync", place.durability)  # an adopted one may have another
        yield redis


@asynccontextmanager
async def _embedded(settings: Settings, client_name: str, patience_s: float) -> AsyncGenerator[Place]:
    """The embedded server, alive as long as the block lasts."""
    folder = data_folder(settings) / "valkey"
    place = Place(folder, find_binaries(settings.valkey_bin), settings.queue.durability)
    await ensure(place, patience_s)
    known = asyncio.Event()
    try:
        async with _beside(keep_running(place, client_name, known)):
            async with asyncio.timeout(patience_s):
                await known.wait()
            yield place
    finally:
        await stop_if_last(place)


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Run `work`, which does not fail, as long as the block lasts.

    Not a TaskGroup: that would wrap what the block raises, and BadSetting and its kind are meant for the caller.
    """
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def _client(url: str, client_name: str, where: str) -> AsyncGenerator[RedisPort]:
    """Not connected yet: connections are made when first used.

    Raises: BadRedis: the URL is wrong.
    """
    options: Mapping[str, Any] = {
        "client_name": client_name,
        "socket_timeout": SOCKET_S,
        "socket_connect_timeout": CONNECT_S,
        "health_check_interval": HEALTH_CHECK_S,
    }
    try:
        if is_sentinel_url(url):
            client, sentinels = _through_sentinel(url, options)
        else:
            client, sentinels = ArqRedis.from_url(url, **options), []
    except ValueError as error:
        raise BadRedis(f"{where} is no address of a Redis: {error}") from error
    try:
        yield cast("RedisPort", client)
    finally:
        for one in (client, *sentinels):
            await one.aclose(close_connection_pool=True)


def _through_sentinel(url: str, options: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """A client of whoever is master, and the clients of the sentinels that it asks."""
    address = parse_sentinel(url)
    tls = {"ssl": True, "ssl_ca_certs": address.ca_file} if address.tls else {}
    asking = {"username": address.sentinel_username, "password": address.sentinel_password}
    limits = {"socket_timeout": CONNECT_S, "socket_connect_timeout": CONNECT_S}
    sentinel = Sentinel(address.hosts, sentinel_kwargs={**asking, **limits, **tls})
    client = sentinel.master_for(
        address.master,
        redis_class=ArqRedis,
        db=address.db,
        username=address.username,
        password=address.password,
        **tls,
        **options,
    )
    return client, cast("list[Any]", sentinel.sentinels)


async def _check(redis: RedisPort, where: str, patience_s: float) -> None:
    """Raises: BadRedis: koi must not use this Redis."""
    problem = problem_of(await _first_info(redis, where, patience_s))
    if problem:
        raise BadRedis(f"{where} {problem}")


async def _first_info(redis: RedisPort, where: str, patience_s: float) -> dict[str, Any]:
    """INFO, once Redis is there and has loaded its data.

    Raises: BadRedis: it does not let us in, or is not there for `patience_s`.
    """
    clock = asyncio.get_running_loop().time
    give_up, said = clock() + patience_s, False
    while True:
        try:
            info = await redis.info()
            if not int(info.get("loading", 0)):
                return info
            trouble = LOADING
        except RedisError as error:
            trouble = trouble_of(error)
        if trouble is LOADING:
            give_up = clock() + patience_s
        elif not trouble.may_pass or clock() > give_up:
            raise BadRedis(f"{where} {trouble.words}")
        if not said:
            log.info("waiting_for_redis", reason=trouble.words)
            said = True
        await asyncio.sleep(RETRY_S)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why Redis did not say how it is."""

    words: str
    may_pass: bool = True


LOADING = Trouble("loads its data")


def trouble_of(error: RedisError) -> Trouble:
    """What went wrong, in words, and whether waiting can help."""
    match error.__cause__ if type(error) is RedisConnectionError else error:  # said while connecting
        case BusyLoadingError():
            return LOADING
        case AuthenticationError() | AuthenticationWrongNumberOfArgsError():
            return Trouble("refuses the user or password in the address", may_pass=False)
        case NoPermissionError():
            return Trouble("must allow INFO to its user: koi looks whether it may evict", may_pass=False)
        case MasterNotFoundError():
            return Trouble("leads to no sentinel that knows a master of this name")
        case _:
            what = "cannot be reached" if is_outage(error) else "answers with an error"
            return Trouble(f"{what}: {error}", may_pass=is_outage(error))


def problem_of(info: Mapping[str, Any]) -> str:
    """Why koi must not use the Redis that says this of itself; "" if it may."""
    version = tuple(int(part) for part in str(info.get("redis_version", "0")).split(".")[:2])
    policy = info.get("maxmemory_policy", "noeviction")
    if info.get("redis_mode") == "sentinel":
        return "is a sentinel; use redis+sentinel://host:26379/master"
    if info.get("redis_mode") == "cluster":
        return "is a cluster, which koi cannot use; it must be a single Redis, or one with Sentinel"
    if version < OLDEST:
        return f"is version {info.get('redis_version')}; it must be at least {OLDEST[0]}.{OLDEST[1]}"
    if int(info.get("maxmemory", 0)) > 0 and policy != "noeviction":
        return f"may throw away messages: its maxmemory-policy is {policy}; it must be noeviction"
    if info.get("role") in {"slave", "replica"}:
        return "is a replica, which takes no writes; it must be the master"
    return ""

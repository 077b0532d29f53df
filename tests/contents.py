"""What a Redis database holds, to look for words in it."""

from collections.abc import Awaitable, Callable

from infra.redis_port import RedisPort


async def contents(redis: RedisPort) -> dict[str, str]:
    """Every key with all that it holds, as bytes are shown: look for ASCII words."""
    names = [key.decode() async for key in redis.scan_iter()]
    return {name: repr(await _held(redis, name)) for name in names}


async def everything(redis: RedisPort) -> str:
    """The same in one piece, keys too."""
    return "\n".join(f"{name} {held}" for name, held in (await contents(redis)).items())


async def _held(redis: RedisPort, name: str) -> object:
    """A kind that koi does not use is a KeyError: then this list grows."""
    read: dict[str, Callable[[], Awaitable[object]]] = {
        "string": lambda: redis.get(name),
        "list": lambda: redis.lrange(name, 0, -1),
        "hash": lambda: redis.hgetall(name),
        "stream": lambda: redis.xrange(name),
        "zset": lambda: redis.zrange(name, 0, -1),
        "set": lambda: redis.smembers(name),
        "none": lambda: redis.get(name),  # expired meanwhile
    }
    return await read[(await redis.type(name)).decode()]()

"""What a Redis database holds, to look for words in it."""

from infra.redis_port import RedisPort


async def contents(redis: RedisPort) -> dict[str, str]:
    """Every key with all that it holds, as bytes are shown: look for ASCII words."""
    names = [key.decode() async for key in redis.scan_iter()]
    return {name: repr(await _held(redis, name)) for name in names}


async def everything(redis: RedisPort) -> str:
    """The same in one piece, keys too."""
    return "\n".join(f"{name} {held}" for name, held in (await contents(redis)).items())


async def _held(redis: RedisPort, name: str) -> object:
    match (await redis.type(name)).decode():
        case "string":
            return await redis.get(name)
        case "list":
            return await redis.lrange(name, 0, -1)
        case "hash":
            return await redis.hgetall(name)
        case "stream":
            return await redis.xrange(name)
        case "zset":
            return await redis.zrange(name, 0, -1)
        case "set":
            return await redis.smembers(name)
        case kind:
            return kind

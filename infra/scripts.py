"""Lua scripts: one verb per file, under its owner, with a header the loader demands."""

import re
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from redis.exceptions import NoScriptError

from infra.redis_port import RedisPort, ScriptPort, Value
from infra.together import together

HEADER = re.compile(r"\A-- (?P<name>\w+): .+\n(?:--.*\n)*?-- RETURNS ")
INCLUDE = re.compile(r"^-- INCLUDE (?P<file>[\w./]+)$", re.MULTILINE)


class Script:
    """`infra.scripts.Script(Path(__file__).with_name("take.lua"))`; then `await script(redis, keys, args)`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._registered: WeakKeyDictionary[Any, ScriptPort] = WeakKeyDictionary()

    async def __call__(self, redis: RedisPort, keys: list[str], args: list[Value]) -> Any:
        """Raises what redis-py raises; after a ConnectionError the script may have run or not."""
        script = self._script(redis)
        (reply,) = await together(redis).run(("EVALSHA", script.sha, len(keys), *keys, *args))
        if isinstance(reply, NoScriptError):
            return await script(keys, args)  # which loads it
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _script(self, redis: RedisPort) -> ScriptPort:
        script = self._registered.get(redis)
        if script is None:
            script = self._registered[redis] = redis.register_script(source(self.path))
        return script


@cache
def source(path: Path) -> str:
    """The file's text with its `-- INCLUDE file.lua` lines replaced by those files: of its own folder, or `infra/file.lua`.

    Raises: ValueError: no header `-- name: what it does … -- RETURNS …` with the file's own name.
    """
    text = path.read_text("utf-8")
    header = HEADER.match(text)
    if header is None or header["name"] != path.stem:
        raise ValueError(f"{path.name} must begin with `-- {path.stem}: what it does` … `-- RETURNS what`")
    return INCLUDE.sub(lambda m: _included(path, m["file"]).read_text("utf-8"), text)


def _included(path: Path, file: str) -> Path:
    return path.parents[1] / file if "/" in file else path.with_name(file)

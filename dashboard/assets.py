"""The files of static/: their addresses change with their content, so that browsers may keep them for ever."""

import hashlib
from functools import cache
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

STATIC = Path(__file__).parent / "static"
FOR_EVER = "public, max-age=31536000, immutable"


@cache
def static_url(name: str) -> str:
    """ "koi.css" → "/static/koi.css?v=1f2e3d4c"."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:8]}"


class Assets(StaticFiles):
    """static/, to be kept by browsers."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(scope=message)["Cache-Control"] = FOR_EVER
            await send(message)

        await super().__call__(scope, receive, keep)

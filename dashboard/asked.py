"""One question to a page: what is asked for, by whom, in which language. The same for a request and for its live regions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection

from dashboard import texts
from dashboard.shared import Shared, shared_of

type Role = Literal["admin", "reader"]

LANGUAGE_COOKIE, THEME_COOKIE = "koi_language", "koi_theme"
LIVE = "/live"
"""Before the path of a page: its live regions."""
THEMES = ("auto", "light", "dark")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the values of a page are made from."""

    shared: Shared
    role: Role
    language: str
    """One that texts.say speaks."""
    now_ms: int
    query: QueryParams = field(default_factory=QueryParams)
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameters of the path."""
    path: str = "/"
    """Of the page, also when its live regions are asked for."""

    @property
    def here(self) -> str:
        """Path and query, to come back to."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def say(self, msgid: str, /, **values: object) -> str:
        """`msgid` in the language of whoever asks. Name the sentence in a `later("…")` for the tests of the catalog."""
        return texts.say(self.language, msgid, **values)


def asked_by(request: HTTPConnection) -> Asked:
    """Of a request that the guard has let in."""
    shared = shared_of(request)
    return Asked(
        shared,
        role=request.scope["koi.role"],
        language=language_of(request, shared.settings.language),
        now_ms=shared.clock(),
        query=request.query_params,
        parts=request.path_params,
        path=request.url.path.removeprefix(LIVE) or "/",
    )


def language_of(request: HTTPConnection, house: str) -> str:
    """The one that was switched to, else that of the house."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    return chosen if chosen in texts.languages() else texts.spoken(house)


def theme_of(request: HTTPConnection) -> str:
    """auto, light or dark."""
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else THEMES[0]

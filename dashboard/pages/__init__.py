"""The pages. Each module here registers itself: by PAGE (a page with a place of its own) or ROUTES (anything else)."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from starlette.routing import Route

from dashboard.page import Page

ORDER = ("now", "messages", "failed", "chats", "memory", "costs", "schedules", "people", "system")
"""Of the rail; the first five are the bottom bar of a phone."""


@cache
def _modules() -> tuple[object, ...]:
    return tuple(import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))


def pages() -> tuple[Page, ...]:
    """All pages of the rail, in its order."""
    found = {page.name: page for module in _modules() if (page := getattr(module, "PAGE", None)) is not None}
    return tuple(cast("Page", found[name]) for name in ORDER if name in found)


def routes() -> tuple[Route, ...]:
    """The ROUTES of all modules: side panels, actions, files."""
    return tuple(
        route for module in _modules() for route in cast("Sequence[Route]", getattr(module, "ROUTES", ()))
    )


def matching() -> Mapping[str, object]:
    """The MATCHING of all modules: which acts a filter stands for (dashboard.pages.act)."""
    return {
        name: found
        for module in _modules()
        for name, found in cast("Mapping[str, object]", getattr(module, "MATCHING", {})).items()
    }

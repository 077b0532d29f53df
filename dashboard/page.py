"""A page: where it is, what it is made from, which of its regions are live."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.asked import Asked

type Values = Mapping[str, Any]
type ValuesOf = Callable[[Asked], Awaitable[Values]]
"""Reads what a page shows. Raises redis-py's errors: the page then shows its last values, greyed."""
type CountOf = Callable[[Asked], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page with its template `NAME.html`, which extends base.html."""

    name: str
    path: str
    title: str
    """msgid: `later("Now")`."""
    values: ValuesOf
    live: tuple[str, ...] = ()
    """Blocks of the template that are kept up to date: `{% block tiles %}` stands in an element with id="tiles"."""
    count: CountOf | None = None
    """A number beside its entry in the rail."""
    alarming: bool = False
    """The number is red."""

    @property
    def template(self) -> str:
        """Its file in templates/."""
        return f"{self.name}.html"

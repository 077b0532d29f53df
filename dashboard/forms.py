"""What a form sent: urlencoded, bounded before it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

MOST_BYTES, MOST_FIELDS = 1024 * 1024, 5000
"""5,000 lines to act on (dashboard.pages.act) are about half of that, in one field."""


@dataclass(frozen=True, slots=True)
class Form:
    """Fields in the order they were sent."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def one(self, name: str) -> str:
        """The first value of a field; "" if there is none."""
        return next(iter(self.values.get(name, ())), "")

    def all(self, name: str) -> tuple[str, ...]:
        """All values of a field: the boxes that were ticked."""
        return tuple(self.values.get(name, ()))


async def form_of(request: Request) -> Form:
    """The body as a form.

    Raises: HTTPException: 413 too much; 415 no urlencoded form; 400 not readable.
    """
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise HTTPException(415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413)
    try:
        return Form(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError as error:  # not UTF-8, too many fields
        raise HTTPException(400) from error

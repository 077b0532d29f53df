"""Telegram's updates as aiogram's. Pure."""

from collections.abc import Mapping
from typing import Any, cast

from aiogram.types import Update
from pydantic import ValidationError


def parse(raw: Mapping[str, Any]) -> Update | str:
    """One update of getUpdates or a webhook; for what aiogram cannot read, why not."""
    try:
        return Update.model_validate(raw)
    except ValidationError:
        pass
    try:
        return Update.model_validate(_mended(raw))
    except ValidationError as error:
        return f"unreadable: {error.error_count()} error(s)"


def _mended(value: Any) -> Any:
    """The same with half characters replaced, at any depth; they count one UTF-16 unit before and after."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {key: _mended(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_mended(item) for item in cast("list[Any]", value)]
        case _:
            return value

"""The common base of everything that is stored or sent, and how it is read back."""

from typing import ClassVar, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError


class WireModel(BaseModel):
    """A versioned value. A released field is never reinterpreted; a change adds a new `v`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    newest: ClassVar[int] = 1
    """The highest `v` this process can read."""


class NotReadable(ValueError):
    """The bytes are not JSON, or not a value of this type."""


class NewerVersion(ValueError):
    """The value was written by a newer release: leave it to a process that knows it."""


W = TypeVar("W", bound=WireModel)


def dump(value: WireModel) -> bytes:
    """JSON, UTF-8."""
    return value.__pydantic_serializer__.to_json(value)


def load[W: WireModel](model: type[W], raw: bytes | str) -> W:
    """One stored value.

    Raises: NewerVersion: `v` is above what this process knows. NotReadable: anything else is wrong with it.
    """
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        if _version_of(raw) > model.newest:
            raise NewerVersion(f"{model.__name__} of a newer version") from error
        raise NotReadable(f"not a {model.__name__}: {error.error_count()} error(s)") from error


def _version_of(raw: bytes | str) -> int:
    try:
        value: object = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return 0
    version = value.get("v", 0) if isinstance(value, dict) else 0  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return version if isinstance(version, int) else 0

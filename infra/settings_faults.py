"""What pydantic found wrong with the settings, as a sentence for the person who wrote them. Pure."""

import json
from typing import Any

from pydantic_core import ErrorDetails

from infra.settings_places import Place, dotted
from infra.settings_sources import SECRETS, TABLES, Written, masked, must_be_tables, shown, split


def sentence(error: ErrorDetails, written: Written) -> str:
    """What is wrong, by the name that the person used."""
    place = error["loc"]
    name = written.name_of(place)
    if error["type"] == "extra_forbidden":  # an empty section: everything else unknown was refused before
        return f"{name} is not a section"
    if error["type"] == "missing":
        return f"{dotted(place)} is missing; it must be set"
    must = _must_be_list(place, error["input"]) if error["type"] == "tuple_type" else _must(error)
    if (place[0] in SECRETS.values() and place[0] != "redis_url") or place[-1] == "token":
        return f"{name} {must}"
    return f"{name} is {shown(error['input'])}; it {must}"


MUST = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "string_type": "must be text in quotes",
    "string_too_short": "must not be empty",
    "literal_error": "must be {expected}",
    "finite_number": "must be a number",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "value_error": "{error}",
    "model_type": "must be a section with settings in it",
    "dict_type": "must be a section with settings in it",
}
"""What pydantic found → our words, with its values in the braces."""


def _must_be_list(place: Place, value: Any) -> str:
    if place[0] in TABLES and len(place) == 1:
        return must_be_tables(str(place[0]))
    if not isinstance(value, str):
        return "must be a list"
    parts = value.split() if place[-1] == "command" else split(value)
    return f"must be a list: {masked(json.dumps(parts, ensure_ascii=False))}"


def _must(error: ErrorDetails) -> str:
    must = MUST.get(error["type"])
    values = {name: _plain_number(value) for name, value in error.get("ctx", {}).items()}
    return must.format(**values) if must else f"is wrong: {error['msg']}"


def _plain_number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value

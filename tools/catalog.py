"""All tools of koi's own: which of them are offered, as a model reads them, and how its arguments are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from infra.clean import clean
from infra.settings_sections import ToolSettings
from tools import calendar, conversation, facts, memos, reminders, tasks
from tools.tool import Arguments, Refused, Tool

DROPPED = frozenset(
    {"title", "default", "additionalProperties", "minLength", "maxLength", "pattern", "maximum", "minimum"}
)
"""Keys of a JSON Schema that a model is not told: what it gets wrong, `read` tells it."""
SHOWN_CHARS = 60
"""Of a wrong value, in a refusal."""

PYDANTIC = (
    ("Input should be a valid ", "it must be a "),
    ("Input should be ", "it must be "),
    ("a tuple", "an array"),
    ("a list", "an array"),
)
"""Words of its messages, and what a model is told instead."""

type Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Catalog:
    """What is offered. The order never changes: definitions are the beginning of what services cache."""

    tools: tuple[Tool[Any], ...]
    by_name: Mapping[str, Tool[Any]]
    definitions: tuple[tuple[str, str, str], ...]
    """Of each tool: name, description, JSON Schema of its arguments as compact JSON."""


def catalog(settings: ToolSettings) -> Catalog:
    """The tools that the settings offer."""
    tools = _offered(settings) if settings.enabled else ()
    return Catalog(
        tools=tools,
        by_name=MappingProxyType({tool.name: tool for tool in tools}),
        definitions=tuple((tool.name, tool.description, schema(tool.arguments)) for tool in tools),
    )


def _offered(settings: ToolSettings) -> tuple[Tool[Any], ...]:
    return (
        *tasks.TOOLS,
        *memos.TOOLS,
        *calendar.TOOLS,
        *reminders.TOOLS,
        *(facts.TOOLS if settings.facts else ()),
        *conversation.TOOLS,
    )


# ── what the model is told ───────────────────────────────────────────────────────────────────────────────────────
def schema(arguments: type[Arguments]) -> str:
    """Compact JSON Schema: no titles, defaults, limits or references; what may be left out is not nullable either."""
    whole = arguments.model_json_schema()
    slim = _slim(whole, whole.get("$defs", {}))
    slim.pop("description", None)  # the class's docstring
    slim.pop("$defs", None)
    return orjson.dumps(slim).decode()


def _slim(node: Json, defs: Json) -> Json:
    """One schema, and those within it."""
    if (reference := node.get("$ref")) is not None:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _slim({**defs[reference.rpartition("/")[2]], **rest}, defs)
    if (choices := [one for one in node.get("anyOf", ()) if one != {"type": "null"}]) and len(choices) == 1:
        return _slim({**choices[0], **{k: v for k, v in node.items() if k != "anyOf"}}, defs)
    slim = {key: value for key, value in node.items() if key not in DROPPED}
    if "properties" in slim:
        slim["properties"] = {name: _slim(one, defs) for name, one in slim["properties"].items()}
    if "items" in slim:
        slim["items"] = _slim(slim["items"], defs)
    return slim


# ── what the model says ──────────────────────────────────────────────────────────────────────────────────────────
def read[A: Arguments](tool: Tool[A], arguments_json: str) -> A:
    """The arguments of a call. "" is none; null is an argument left out.

    Raises: Refused: with one sentence that names the argument, what it is and what it must be.
    """
    given = _object(tool, arguments_json)
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        raise Refused(_sentence(tool, wrong, given)) from error


def _object(tool: Tool[Any], arguments_json: str) -> Json:
    try:
        given: object = orjson.loads(arguments_json) if arguments_json.strip() else {}
    except orjson.JSONDecodeError as error:
        raise Refused(f"The arguments of {tool.name} are no JSON; {_takes(tool)}.") from error
    if not isinstance(given, dict):
        raise Refused(f"The arguments of {tool.name} are {_shown(given)}; {_takes(tool)}.")
    return {
        name: _cleaned(value) for name, value in cast("dict[str, object]", given).items() if value is not None
    }


def _cleaned(value: object) -> object:
    match value:
        case str():
            return clean(value)
        case list():
            return [clean(one) if isinstance(one, str) else one for one in cast("list[object]", value)]
        case _:
            return value


def _sentence(tool: Tool[Any], wrong: ErrorDetails, given: Json) -> str:
    name = _name(wrong["loc"]) or tool.name
    is_now = f"{name} is {_shown(wrong['input'])}"
    match wrong["type"]:
        case "missing":
            return f"{name} is missing; {_takes(tool)}."
        case "extra_forbidden":
            return f"{tool.name} has no argument {name}; {_takes(tool)}."
        case "string_too_short" | "string_too_long" | "too_short" | "too_long":
            return f"{name} has {_size(wrong['input'])}; it must have {_bound(wrong.get('ctx', {}))}."
        case "value_error":
            return f"{is_now if wrong['loc'] else tool.name}: {wrong.get('ctx', {})['error']}"
        case _:
            return f"{is_now}; {_must(wrong['msg'])}."


def _size(value: object) -> str:
    match value:
        case str():
            return f"{len(value.strip())} characters"
        case list():
            return f"{len(cast('list[object]', value))} items"
        case _:
            return "another size"


def _bound(limits: Json) -> str:
    return f"at most {limits['max_length']}" if "max_length" in limits else f"at least {limits['min_length']}"


def _must(said: str) -> str:
    """What pydantic says, in the words of JSON."""
    for words, ours in PYDANTIC:
        said = said.replace(words, ours)
    return said


def _takes(tool: Tool[Any]) -> str:
    """ "it takes a JSON object with title, note"."""
    names = ", ".join(tool.arguments.model_fields)
    return f"it takes a JSON object with {names}" if names else "it takes no arguments"


def _name(loc: tuple[int | str, ...]) -> str:
    return ".".join(_short(str(step)) for step in loc)


def _shown(value: object) -> str:
    """The value as JSON, its beginning."""
    return _short(orjson.dumps(value, default=str).decode())


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…"

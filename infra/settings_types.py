"""What a single setting may be, and the words for it when it is not: "must be …"."""

import re
from datetime import timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)")
BOT_TOKEN = re.compile(r"\d+:[\w-]+")
"""The number in front is the bot's id."""
WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{0,256}")
"""What setWebhook takes as secret_token (Bot API)."""


def parse_duration(value: Any) -> Any:
    """ "90s" → timedelta.

    Raises: ValueError: not a number with ms, s, m, h or d behind it, or beyond all bounds.
    """
    if isinstance(value, timedelta):
        return value
    found = DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError('must be a duration like "500ms", "90s", "30m" or "24h"')
    try:
        return timedelta(**{UNITS[found["unit"]]: float(found["number"])})
    except OverflowError as error:
        raise ValueError("must be a shorter duration") from error


def _not_zero(value: timedelta) -> timedelta:
    if not value:
        raise ValueError("must be more than 0")
    return value


def _half_a_second(value: timedelta) -> timedelta:
    if value < timedelta(milliseconds=500):
        raise ValueError("must be at least 500ms")
    return value


def _web_address(value: str) -> str:
    if value and not re.match("https?://[^/]", value):
        raise ValueError("must begin with https:// or http://")
    return value.rstrip("/")


def _redis_address(value: str) -> str:
    if value and not re.match(r"(rediss?(\+sentinel)?://[^/]|unix://)", value):
        raise ValueError("must begin with redis://, rediss://, unix:// or redis+sentinel://")
    return value


def _address(value: str) -> str:
    if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^\s:]+):\d{1,5}", value):
        raise ValueError("must be an address with a port, like 127.0.0.1:8420")
    return value


def _user_id(value: Any) -> str:
    if not re.fullmatch(r"\d*", str(value)) or isinstance(value, bool):
        raise ValueError("must be a Telegram user id, digits only (the bot tells strangers theirs)")
    return str(value)


def _plan_member(value: Any) -> str:
    if value == "*":
        return "*"
    member = _user_id(value)
    if not member:
        raise ValueError('must be a Telegram user id, or "*" for everybody')
    return member


def _bot_member(value: Any) -> str:
    if value == "owner":
        return "owner"
    if re.fullmatch(r"\d+", str(value)) and not isinstance(value, bool):
        return str(value)
    raise ValueError('must be a Telegram user id, digits only (/people shows them), or "owner"')


def _mcp_name(value: str) -> str:
    if not re.fullmatch("[a-z][a-z0-9-]{0,23}", value):
        raise ValueError("must be at most 24 small letters, digits and dashes, a letter first")
    return value


def _currency(value: str) -> str:
    if not re.fullmatch("[A-Z]{3}", value):
        raise ValueError("must be a currency code like EUR")
    return value


def _zone(value: str) -> str:
    name = value.removeprefix(":")
    if not name or name.startswith("/"):  # a file of the machine: its own zone
        return ""
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("must be a zone like Europe/Berlin") from error


def _language(value: str) -> str:
    if not re.fullmatch("[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", value):
        raise ValueError("must be a language code like de or en")
    return value


def _store(value: str) -> str:
    if not re.fullmatch(r"[\w.-]+", value):
        raise ValueError("must be a name of letters, digits, dots and dashes")
    return value


def _token(value: SecretStr) -> SecretStr:
    if value.get_secret_value() and not BOT_TOKEN.fullmatch(value.get_secret_value()):
        raise ValueError("must be a bot token like 123456789:AA…, as @BotFather gives it")
    return value


def _webhook_secret(value: SecretStr) -> SecretStr:
    if not WEBHOOK_SECRET.fullmatch(value.get_secret_value()):
        raise ValueError("must be at most 256 letters, digits, _ and - (Telegram takes no others)")
    return value


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
Span = Annotated[timedelta, BeforeValidator(parse_duration), AfterValidator(_not_zero)]
"""A duration that may not be 0."""
Lease = Annotated[timedelta, BeforeValidator(parse_duration), AfterValidator(_half_a_second)]
"""Renewed five times in its length, so not shorter than Redis and the event loop can follow."""
WebAddress = Annotated[str, AfterValidator(_web_address)]
Address = Annotated[str, AfterValidator(_address)]
UserId = Annotated[str, BeforeValidator(_user_id)]
PlanMember = Annotated[str, BeforeValidator(_plan_member)]
BotMember = Annotated[str, BeforeValidator(_bot_member)]
McpName = Annotated[str, AfterValidator(_mcp_name)]
"""Begins the names of its tools, which may have 64 letters."""
Usd = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Currency = Annotated[str, AfterValidator(_currency)]
Token = Annotated[SecretStr, AfterValidator(_token)]
WebhookSecret = Annotated[SecretStr, AfterValidator(_webhook_secret)]
RedisAddress = Annotated[str, AfterValidator(_redis_address)]
Language = Annotated[str, AfterValidator(_language)]
Zone = Annotated[str, AfterValidator(_zone)]
Store = Annotated[str, AfterValidator(_store)]

"""All settings: koi.toml (KOI_CONFIG, default ./koi.toml, optional), then the environment, which wins.

Durations are written "500ms", "90s", "30m", "24h"; in the code they are `timedelta`. Secrets come only from the
environment or from the file that `NAME_FILE` names.
"""

import re
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)")


def parse_duration(value: Any) -> Any:
    """ "90s" → timedelta.

    Raises: ValueError: not a number with ms, s, m, h or d behind it.
    """
    if isinstance(value, timedelta):
        return value
    found = DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError('must be a duration like "500ms", "90s", "30m" or "24h"')
    return timedelta(**{UNITS[found["unit"]]: float(found["number"])})


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]


class Section(BaseModel):
    """One `[section]` of koi.toml: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MemorySettings(Section):
    entries: int = Field(default=20, ge=1, le=1000)
    max_age: Duration = timedelta(hours=24)
    user_chars: int = Field(default=500, ge=1)
    summary_chars: int = Field(default=300, ge=1)
    reply_chars: int = Field(default=4000, ge=0)
    budget_tokens: int = Field(default=500, ge=50)
    strategy: Literal["select", "last"] = "select"
    last: int = Field(default=5, ge=1)


class SessionSettings(Section):
    idle: Duration = timedelta(minutes=30)
    suggest_new_after: int = Field(default=20, ge=1)
    budget_tokens: int = Field(default=6000, ge=500)


class TurnSettings(Section):
    deadline: Duration = timedelta(seconds=120)
    debounce: Duration = timedelta(milliseconds=700)
    attempts: int = Field(default=3, ge=1)
    max_tool_rounds: int = Field(default=12, ge=1)


class QueueSettings(Section):
    lease: Duration = timedelta(seconds=10)
    concurrency: int = Field(default=50, ge=1)
    durability: Literal["everysec", "always"] = "everysec"


class TelegramSettings(Section):
    messages_per_second: float = Field(default=30, gt=0)
    """Of one bot, over all its chats (Telegram's limit is about 30)."""
    chat_messages_per_second: float = Field(default=1, gt=0)
    """In one private chat, bursts of a few allowed."""
    group_messages_per_minute: float = Field(default=20, gt=0)


class BotSettings(Section):
    """One `[[bots]]` table."""

    name: str
    token_env: str = ""
    persona: str = ""
    memory: str = "home"
    models: tuple[str, ...] = ()
    language: str = ""


class Settings(BaseModel):
    """Everything, validated once at start and never read again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: MemorySettings = MemorySettings()
    session: SessionSettings = SessionSettings()
    turn: TurnSettings = TurnSettings()
    queue: QueueSettings = QueueSettings()
    telegram: TelegramSettings = TelegramSettings()
    bots: tuple[BotSettings, ...] = ()

    telegram_bot_tokens: tuple[SecretStr, ...] = ()
    telegram_allowed_users: tuple[str, ...] = ()
    telegram_owner: str = ""
    telegram_api_base: str = "https://api.telegram.org"
    telegram_webhook_url: str = ""
    telegram_webhook_secret: SecretStr = SecretStr("")
    telegram_webhook_bind: str = "127.0.0.1:8421"

    anthropic_api_key: SecretStr = SecretStr("")
    anthropic_base_url: str = ""
    openrouter_api_key: SecretStr = SecretStr("")
    models: tuple[str, ...] = ()
    """The chain, first choice first; empty: the offline model."""
    light_model: str = ""

    redis_url: str = ""
    valkey_bin: str = ""
    data_dir: str = ""
    language: str = "en"
    timezone: str = ""
    """IANA name; "" = the machine's."""

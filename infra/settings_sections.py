"""The sections of koi.toml with their defaults."""

from datetime import timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from infra.settings_types import (
    BotMember,
    Currency,
    Duration,
    Lease,
    McpName,
    PlanMember,
    Span,
    Store,
    Token,
    Usd,
    WebAddress,
)


class Section(BaseModel):
    """One `[section]` of koi.toml: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MemorySettings(Section):
    entries: int = Field(default=20, ge=1, le=1000)
    max_age: Span = timedelta(hours=24)
    user_chars: int = Field(default=500, ge=1)
    summary_chars: int = Field(default=300, ge=1)
    reply_chars: int = Field(default=4000, ge=0)
    budget_tokens: int = Field(default=500, ge=50)
    strategy: Literal["select", "last"] = "select"
    last: int = Field(default=5, ge=1)


class SessionSettings(Section):
    idle: Span = timedelta(minutes=30)
    suggest_new_after: int = Field(default=20, ge=1)
    budget_tokens: int = Field(default=6000, ge=500)
    summarise: bool = False
    """Exchanges that no longer fit are folded into a summary by the light model, instead of dropped."""


class TurnSettings(Section):
    deadline: Span = timedelta(seconds=120)
    debounce: Duration = timedelta(milliseconds=700)
    attempts: int = Field(default=3, ge=1)
    max_tool_rounds: int = Field(default=12, ge=1)
    max_usd: Usd = 0.5
    """The most that the calls of one turn may cost together; models whose price is not known are bounded by rounds only."""


class ToolSettings(Section):
    enabled: bool = True
    """Tasks, memos, calendar, reminders, questions with buttons."""
    facts: bool = False
    """The model may keep facts about a person."""
    confirm: bool = False
    """What a tool makes or changes is shown first, and done when the person confirms it."""
    web: bool = False
    """The service may search and fetch, where it can; searches are billed apart."""


class McpSettings(Section):
    """One `[[mcp]]` table: a server whose tools are offered under its name."""

    name: McpName
    """Prefix of its tools: `name__tool`."""
    url: WebAddress = ""
    """Streamable HTTP; either this or a command."""
    command: tuple[str, ...] = ()
    """Program and arguments, run by the worker: speaks over stdin and stdout."""
    token_env: str = ""
    """The variable (or, with _FILE behind it, the file) that holds a bearer token for the url."""
    token: SecretStr = SecretStr("")
    """What token_env names; koi.toml may not hold it."""
    env: tuple[str, ...] = ()
    """Names of variables that the command is given besides PATH and HOME; nothing else of koi's environment."""
    tools: tuple[str, ...] = ()
    """Those that may be used, by the server's own names; empty: all, which every turn pays for."""
    bots: tuple[str, ...] = ()
    """Names of the bots that offer them; empty: all."""
    people: tuple[PlanMember, ...] = ()
    """Whose messages they may serve, by id; empty: everybody who was let in."""
    timeout: Span = timedelta(seconds=20)
    """Of one call."""


class QueueSettings(Section):
    lease: Lease = timedelta(seconds=10)
    concurrency: int = Field(default=50, ge=1)
    durability: Literal["everysec", "always"] = "everysec"


class TelegramSettings(Section):
    messages_per_second: float = Field(default=30, gt=0)
    """Of one bot, over all its chats (Telegram's limit is about 30)."""
    chat_messages_per_second: float = Field(default=1, gt=0)
    """In one private chat, bursts of a few allowed."""
    group_messages_per_minute: float = Field(default=20, gt=0)
    person_messages_per_minute: int = Field(default=20, ge=1)
    """That are read of one person other than the owner, over all chats; what comes beyond is not read, and they are told."""
    person_messages_per_hour: int = Field(default=200, ge=1)


class MoneySettings(Section):
    currency: Currency = "USD"
    """ISO 4217 code of what people are shown."""
    rate: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of that currency for one US dollar."""


class PriceSettings(Section):
    """One `[prices."model id"]`: US dollars per million tokens; beats what genai-prices knows."""

    input: Usd
    output: Usd
    cache_write: Usd | None = None
    """Unset: 1.25 × input."""
    cache_read: Usd | None = None
    """Unset: 0.1 × input."""


class PlanSettings(Section):
    """One `[plans.NAME]`: what its people may use. Nobody of them: the plan does nothing."""

    people: tuple[PlanMember, ...] = ()
    """Ids; "*": everybody but the owner whom no other plan names."""
    messages_per_day: int | None = Field(default=None, ge=0)
    usd_per_month: Usd | None = None
    models: tuple[str, ...] = ()
    """The only models they are answered by; empty: all that the bot has."""


class DashboardSettings(Section):
    """What the pages show; where they are and their passwords: KOI_DASHBOARD_BIND, KOI_DASHBOARD_PASSWORD."""

    show_texts: bool = True
    """What people and models wrote may be read there, as long as it is kept."""
    login: Span = timedelta(days=7)
    """How long a login lasts."""


class BotSettings(Section):
    """One `[[bots]]` table."""

    name: str = Field(min_length=1)
    token_env: str = ""
    """The variable (or, with _FILE behind it, the file) that holds its token; neither this nor token_file: a bot for
    `koi chat` only.
    """
    token_file: str = ""
    """A file that holds it: unlike a variable, it can be added while koi runs."""
    token: Token = SecretStr("")
    """What one of these names; koi.toml may not hold it."""
    persona: str = ""
    """The words themselves, also where koi.toml names a file with them."""
    memory: Store = "home"
    models: tuple[str, ...] = ()
    language: str = ""
    people: tuple[BotMember, ...] | None = None
    """Who may use it, by id; "owner" is always one of them. None: everybody who was let in."""

    @property
    def is_own(self) -> bool:
        """It has a persona or models of its own, so only a worker that knows them may answer for it."""
        return bool(self.persona or self.models)

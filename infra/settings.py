"""All settings: koi.toml (KOI_CONFIG, default ./koi.toml, optional), then the environment, which wins.

Durations are written "500ms", "90s", "30m", "24h"; in the code they are `timedelta`. Secrets come only from the
environment or from the file that `NAME_FILE` names.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from infra.settings_sources import (
    BadSetting,
    Written,
    read_environment,
    read_file,
    refuse_unknown,
    secret,
    sentence,
    shown,
    split,
)
from infra.settings_types import (
    Address,
    Duration,
    Language,
    Lease,
    RedisAddress,
    Span,
    Store,
    Token,
    UserId,
    WebAddress,
    WebhookSecret,
    Zone,
)

DEFAULT_MODEL, DEFAULT_LIGHT_MODEL = "claude-sonnet-5-5", "claude-haiku-5-5"
OPENROUTER_DEFAULTS = ("anthropic/claude-sonnet-5.5", "anthropic/claude-haiku-5.5")
"""The same two, as OpenRouter writes them."""


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


class MoneySettings(Section):
    currency: str = Field(default="USD", pattern="[A-Z]{3}")
    """ISO 4217 code of what people are shown."""
    rate: float = Field(default=1.0, gt=0)
    """Of that currency for one US dollar."""


class PriceSettings(Section):
    """One `[prices."model id"]`: US dollars per million tokens; beats what genai-prices knows."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    """Unset: 1.25 × input."""
    cache_read: float | None = Field(default=None, ge=0)
    """Unset: 0.1 × input."""


class PlanSettings(Section):
    """One `[plans.NAME]`: what its people may use. Nobody of them: the plan does nothing."""

    people: tuple[UserId | Literal["*"], ...] = ()
    """Ids; "*": everybody but the owner whom no other plan names."""
    messages_per_day: int | None = Field(default=None, ge=0)
    usd_per_month: float | None = Field(default=None, ge=0)
    models: tuple[str, ...] = ()
    """The only models they are answered by; empty: all that the bot has."""


class BotSettings(Section):
    """One `[[bots]]` table."""

    name: str = Field(min_length=1)
    token_env: str = ""
    """The variable (or, with _FILE behind it, the file) that holds its token; "": a bot for `koi chat` only."""
    token: Token = SecretStr("")
    """What token_env names; koi.toml may not hold it."""
    persona: str = ""
    memory: Store = "home"
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
    money: MoneySettings = MoneySettings()
    prices: dict[str, PriceSettings] = Field(default_factory=dict[str, PriceSettings])
    plans: dict[str, PlanSettings] = Field(default_factory=dict[str, PlanSettings])
    bots: tuple[BotSettings, ...] = ()

    telegram_bot_tokens: tuple[Token, ...] = ()
    """Those of TELEGRAM_BOT_TOKEN that no `[[bots]]` table names."""
    telegram_allowed_users: tuple[UserId, ...] = ()
    telegram_owner: UserId = ""
    telegram_api_base: WebAddress = "https://api.telegram.org"
    telegram_webhook_url: WebAddress = ""
    telegram_webhook_secret: WebhookSecret = SecretStr("")
    telegram_webhook_bind: Address = "127.0.0.1:8421"

    anthropic_api_key: SecretStr = SecretStr("")
    anthropic_base_url: WebAddress = ""
    openrouter_api_key: SecretStr = SecretStr("")
    openrouter_base_url: WebAddress = "https://openrouter.ai/api"
    models: tuple[str, ...] = ()
    """The chain, first choice first; empty: the offline model."""
    light_model: str = ""

    redis_url: RedisAddress = Field(default="", repr=False)
    valkey_bin: str = ""
    data_dir: str = ""
    language: Language = "en"
    timezone: Zone = ""
    """IANA name; "" = the machine's."""
    log: Literal["info", "debug"] = "info"

    dashboard_bind: Address = "127.0.0.1:8420"
    dashboard_password: SecretStr = SecretStr("")
    dashboard_reader_password: SecretStr = SecretStr("")
    alert_email: str = ""
    smtp_url: SecretStr = SecretStr("")
    smtp_host: str = ""
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_user: str = ""
    smtp_password: SecretStr = SecretStr("")


def load_settings(
    environ: Mapping[str, str], config: Path | None = Path("koi.toml"), *, speaks: bool = True
) -> Settings:
    """Read and check everything once.

    config: used if it exists, unless KOI_CONFIG names another file, which then must exist. None: no file.
    speaks: this process speaks for the bots, so each token that `token_env` names must be there.

    Raises: BadSetting: one line for the person.
    """
    written = Written()
    if named := environ.get("KOI_CONFIG", ""):
        read_file(written, Path(named))
    elif config is not None and config.exists():
        read_file(written, config)
    read_environment(written, environ)
    refuse_unknown(written, frozenset(_names(Settings)))
    _choose_models(written, environ)
    _resolve_tokens(written, environ, required=speaks)
    try:
        settings = Settings.model_validate(written.tree)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadSetting(sentence(first, written)) from None  # its cause shows secrets
    _check_together(settings)
    return settings


def _choose_models(written: Written, environ: Mapping[str, str]) -> None:
    """One chain of the many names; with a key and no id, the models we know to be good.

    Raises: BadSetting: a server was named, but neither a key nor a model.
    """
    tree = written.tree
    listed = cast("list[str]", tree["models"]) if isinstance(tree.get("models"), list) else []
    primary = split(environ.get("KOI_MODEL") or environ.get("OPENROUTER_MODEL") or "")
    fallback = split(environ.get("KOI_FALLBACK_MODEL") or environ.get("OPENROUTER_FALLBACK_MODEL") or "")
    anthropic, openrouter = tree.get("anthropic_api_key"), tree.get("openrouter_api_key")
    if (anthropic or openrouter) and not primary and not tree.get("models"):
        model, light = (DEFAULT_MODEL, DEFAULT_LIGHT_MODEL) if anthropic else OPENROUTER_DEFAULTS
        primary = [model]
        tree.setdefault("light_model", light)
    chain = [*(primary or listed[:1]), *(fallback or listed[1:])]
    if not chain and (url := tree.get("anthropic_base_url")):
        raise BadSetting(f"KOI_MODEL is not set; it must name a model that {shown(url)} has")
    if primary or fallback:
        written.put(("models",), [one for at, one in enumerate(chain) if one not in chain[:at]], "KOI_MODEL")


def _resolve_tokens(written: Written, environ: Mapping[str, str], *, required: bool) -> None:
    """Fill `token` of each bot, and leave in telegram_bot_tokens those of no named bot.

    Raises: BadSetting: token_env names nothing that is set.
    """
    found = cast("object", written.tree.get("bots"))
    bots = cast("list[object]", found) if isinstance(found, list) else []
    named: set[str] = set()
    for at, bot in enumerate(bots):
        table = cast("dict[str, Any]", bot) if isinstance(bot, dict) else {}
        variable = table.get("token_env")
        if not variable or not isinstance(variable, str):
            continue
        token = table["token"] = secret(environ, variable)
        if not token and not required:
            continue
        if not token:
            name = written.name_of(("bots", at, "token_env"))
            raise BadSetting(
                f"{name} is {shown(variable)}; it must name a variable that is set, or its _FILE"
            )
        written.names["bots", at, "token"] = variable
        named.add(token)
    loose = cast("list[str]", written.tree.get("telegram_bot_tokens", []))
    if loose:
        written.tree["telegram_bot_tokens"] = [token for token in loose if token not in named]


def _check_together(settings: Settings) -> None:
    """What no single field can know.

    Raises: BadSetting.
    """
    if settings.telegram_webhook_url and not settings.telegram_webhook_secret.get_secret_value():
        raise BadSetting(
            "TELEGRAM_WEBHOOK_SECRET is not set; with TELEGRAM_WEBHOOK_URL it must be a long random text"
        )
    names = [bot.name for bot in settings.bots]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise BadSetting(f"bots.name is {twice!r} twice; each bot must have a name of its own")
    tokens = [*settings.telegram_bot_tokens, *(bot.token for bot in settings.bots if bot.token)]
    ids = [token.get_secret_value().partition(":")[0] for token in tokens]
    if twice := next((bot_id for bot_id in ids if ids.count(bot_id) > 1), ""):
        raise BadSetting(f"bot {twice} has two tokens; each bot must be given once")


def _names(model: type[BaseModel], section: str = "") -> Iterator[str]:
    """Every setting there is, dotted."""
    for name, info in model.model_fields.items():
        inner = BotSettings if name == "bots" else info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _names(inner, f"{name}.")
        else:
            yield section + name

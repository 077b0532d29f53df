"""All settings: koi.toml (KOI_CONFIG, default ./koi.toml, optional), then the environment, which wins.

Durations are written "500ms", "90s", "30m", "24h"; in the code they are `timedelta`. Secrets come only from the
environment or from the file that `NAME_FILE` names.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from infra.settings_faults import sentence
from infra.settings_files import read_personas, resolve_server_tokens, resolve_tokens
from infra.settings_mcp import check_servers
from infra.settings_sections import (
    BotSettings,
    DashboardSettings,
    McpSettings,
    MemorySettings,
    MoneySettings,
    PlanSettings,
    PriceSettings,
    QueueSettings,
    SessionSettings,
    TelegramSettings,
    ToolSettings,
    TurnSettings,
)
from infra.settings_sources import (
    FREE_NAMES,
    BadSetting,
    Written,
    read_environment,
    read_file,
    refuse_unknown,
    shown,
    split,
)
from infra.settings_types import (
    Address,
    Language,
    RedisAddress,
    Token,
    UserId,
    WebAddress,
    WebhookSecret,
    Zone,
)

DEFAULT_MODEL, DEFAULT_LIGHT_MODEL = "claude-sonnet-5-5", "claude-haiku-5-5"
OPENROUTER_DEFAULTS = ("anthropic/claude-sonnet-5.5", "anthropic/claude-haiku-5.5")
"""The same two, as OpenRouter writes them."""


TABLES: Mapping[str, type[BaseModel]] = {"bots": BotSettings, "mcp": McpSettings}
"""Lists of tables."""


class Settings(BaseModel):
    """Everything, as validated when koi.toml and the environment were read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: MemorySettings = MemorySettings()
    session: SessionSettings = SessionSettings()
    turn: TurnSettings = TurnSettings()
    queue: QueueSettings = QueueSettings()
    tools: ToolSettings = ToolSettings()
    telegram: TelegramSettings = TelegramSettings()
    money: MoneySettings = MoneySettings()
    dashboard: DashboardSettings = DashboardSettings()
    prices: dict[str, PriceSettings] = Field(default_factory=dict[str, PriceSettings])
    plans: dict[str, PlanSettings] = Field(default_factory=dict[str, PlanSettings])
    bots: tuple[BotSettings, ...] = ()
    mcp: tuple[McpSettings, ...] = ()

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
    environ: Mapping[str, str],
    config: Path | None = Path("koi.toml"),
    *,
    speaks: bool = True,
    thinks: bool = True,
    only: frozenset[str] = frozenset(),
) -> Settings:
    """Read and check everything.

    config: used if it exists, unless KOI_CONFIG names another file, which then must exist. None: no file.
    speaks: this process speaks for the bots, so each token that `token_env` names must be there.
    thinks: it calls the tools of MCP servers and speaks as the personas say, so theirs must be there.
    only: names of the bots that it speaks for; empty: all.

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
    resolve_tokens(written, environ, required=speaks, only=only)
    resolve_server_tokens(written, environ, required=thinks)
    if thinks:
        read_personas(written)
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
    anthropic, openrouter = tree.get("anthropic_api_key"), tree.get("openrouter_api_key")
    route = "openrouter:" if openrouter and tree.get("anthropic_base_url") else ""

    def routed(models: Iterable[str]) -> list[str]:
        """Those of OPENROUTER_ names: beside a server of one's own, which gets all other ids, a prefix says so."""
        return [model if model.startswith("openrouter:") else route + model for model in models]

    primary = split(environ.get("KOI_MODEL", "")) or routed(split(environ.get("OPENROUTER_MODEL", "")))
    fallback = split(environ.get("KOI_FALLBACK_MODEL", "")) or routed(
        split(environ.get("OPENROUTER_FALLBACK_MODEL", ""))
    )
    if (anthropic or openrouter) and not primary and not tree.get("models"):
        model, light = (DEFAULT_MODEL, DEFAULT_LIGHT_MODEL) if anthropic else routed(OPENROUTER_DEFAULTS)
        primary = [model]
        tree.setdefault("light_model", light)
    chain = [*(primary or listed[:1]), *(fallback or listed[1:])]
    if not chain and (url := tree.get("anthropic_base_url")):
        raise BadSetting(f"KOI_MODEL is not set; it must name a model that {shown(url)} has")
    if primary or fallback:
        written.put(("models",), [one for at, one in enumerate(chain) if one not in chain[:at]], "KOI_MODEL")


def _check_together(settings: Settings) -> None:
    """What no single field can know.

    Raises: BadSetting.
    """
    if settings.telegram_webhook_url and not settings.telegram_webhook_secret.get_secret_value():
        raise BadSetting(
            "TELEGRAM_WEBHOOK_SECRET is not set; with TELEGRAM_WEBHOOK_URL it must be a long random text"
        )
    money = settings.money
    if money.currency != "USD" and "rate" not in money.model_fields_set:
        raise BadSetting(f"money.rate is not set; it must be how many {money.currency} one US dollar is")
    names = [bot.name for bot in settings.bots]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise BadSetting(f"bots.name is {twice!r} twice; each bot must have a name of its own")
    tokens = [*settings.telegram_bot_tokens, *(bot.token for bot in settings.bots if bot.token)]
    ids = [token.get_secret_value().partition(":")[0] for token in tokens]
    if twice := next((bot_id for bot_id in ids if ids.count(bot_id) > 1), ""):
        raise BadSetting(f"bot {twice} has two tokens; each bot must be given once")
    _check_plans(settings)
    check_servers(settings.mcp, [bot.name for bot in settings.bots])


def _check_plans(settings: Settings) -> None:
    """Raises: BadSetting: a person of two plans; a plan with a model that is never asked."""
    plan_of: dict[str, str] = {}
    for name, plan in settings.plans.items():
        for member in plan.people:
            if (other := plan_of.setdefault(member, name)) != name:
                whom = "everybody else (*)" if member == "*" else member
                raise BadSetting(f"plans.{other} and plans.{name} both have {whom}; it must be one of them")
    asked = _asked(settings)
    for name, plan in settings.plans.items():
        if asked and (unasked := [model for model in plan.models if model not in asked]):
            raise BadSetting(
                f"plans.{name}.models has {shown(unasked[0])}; it must be one of {', '.join(asked)}"
            )


def _asked(settings: Settings) -> list[str]:
    """All models that may be asked; none if this process has no service to ask, and so need not know them."""
    if not (
        settings.anthropic_base_url
        or settings.anthropic_api_key.get_secret_value()
        or settings.openrouter_api_key.get_secret_value()
    ):
        return []
    of_bots = (model for bot in settings.bots for model in bot.models)
    return [*dict.fromkeys((*settings.models, *filter(None, [settings.light_model]), *of_bots))]


def _names(model: type[BaseModel], section: str = "") -> Iterator[str]:
    """Every setting there is, dotted; * for a name that people choose."""
    for name, info in model.model_fields.items():
        inner = TABLES.get(section + name, info.annotation)
        if name in FREE_NAMES:
            yield from _names(get_args(inner)[1], f"{name}.*.")
            continue
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _names(inner, f"{name}.")
        else:
            yield section + name

"""Which models are asked, in which order, and at which service: decided from the settings. Pure."""

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from infra.settings import Settings
from llm.errors import NotConfigured

type ServiceName = Literal["anthropic", "compatible", "openrouter", "offline"]

NO_KEY = SecretStr("")
OFFLINE_MODEL = "offline"
ANTHROPIC_URL = "https://api.anthropic.com"
PREFIXES: tuple[Literal["anthropic", "openrouter"], ...] = ("anthropic", "openrouter")
"""`openrouter:ID` and `anthropic:ID` name the service outright. Other colons belong to the id ("qwen3:8b")."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a service understands beyond messages and a stream. What is not known to work is off."""

    tools: bool = True
    count_tokens: bool = False
    caching: bool = False
    server_tools: bool = False
    thinking: bool = False
    effort: bool = False
    tool_choice: bool = False
    images: bool = True
    """One that cannot see says so, and is asked again without them (llm.walk)."""
    documents: bool = False
    """PDFs as `document` blocks: vLLM and others refuse them."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where calls go, and with which key."""

    name: ServiceName
    base_url: str = ""
    """Without `/v1` at its end: the SDK adds it."""
    api_key: SecretStr = NO_KEY
    can: Capabilities = field(default_factory=Capabilities)

    @property
    def first_party(self) -> bool:
        """Anthropic itself: newest API version, Bearer only."""
        return self.name == "anthropic"

    @property
    def called(self) -> str:
        """As people know it: "Anthropic", "OpenRouter", or the host of another one; "" for the offline model."""
        match self.name:
            case "anthropic":
                return "Anthropic"
            case "openrouter":
                return "OpenRouter"
            case "compatible" | "offline":
                return urlsplit(self.base_url).hostname or ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One link of the chain."""

    service: Service
    model: str


OFFLINE = Service("offline", can=Capabilities(tools=False, images=False))
FIRST_PARTY = Capabilities(
    count_tokens=True,
    caching=True,
    server_tools=True,
    thinking=True,
    effort=True,
    tool_choice=True,
    documents=True,
)
OPENROUTER = Capabilities(caching=True)


def candidates_from(settings: Settings, models: tuple[str, ...] = ()) -> tuple[Candidate, ...]:
    """The chain for `models`, or for the settings' own; nothing at all: the offline model. Doubles are dropped.

    Raises: NotConfigured: a model without a service, or an ANTHROPIC_BASE_URL that is no URL.
    """
    ids = models or settings.models or (OFFLINE_MODEL,)
    own, openrouter = anthropic_service(settings), openrouter_service(settings)
    return tuple(dict.fromkeys(_candidate(model, own, openrouter) for model in ids))


def anthropic_service(settings: Settings) -> Service | None:
    """Anthropic, or the compatible service that ANTHROPIC_BASE_URL names; None: neither key nor URL.

    Raises: NotConfigured: ANTHROPIC_BASE_URL is no URL.
    """
    key, url = settings.anthropic_api_key, settings.anthropic_base_url.strip()
    if not url:
        return Service("anthropic", ANTHROPIC_URL, key, FIRST_PARTY) if key.get_secret_value() else None
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise NotConfigured(f'ANTHROPIC_BASE_URL is "{url}"; it must be like "http://127.0.0.1:11434"')
    base_url = _without_version(url)
    if parts.hostname == "openrouter.ai":
        return Service(
            "openrouter", base_url, key if key.get_secret_value() else settings.openrouter_api_key, OPENROUTER
        )
    if parts.hostname == "api.anthropic.com":
        return Service("anthropic", base_url, key, FIRST_PARTY)
    return Service("compatible", base_url, key)


def openrouter_service(settings: Settings) -> Service | None:
    """OpenRouter, if its key is set."""
    key, url = settings.openrouter_api_key, _without_version(settings.openrouter_base_url.strip())
    return Service("openrouter", url, key, OPENROUTER) if key.get_secret_value() else None


def _without_version(url: str) -> str:
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _candidate(model: str, own: Service | None, openrouter: Service | None) -> Candidate:
    """With both services at hand, ids with a slash ("anthropic/claude-sonnet-5.5") go to OpenRouter if the other one
    is Anthropic itself, whose ids have none; a compatible service may have such ids, so there a prefix decides.
    """
    if model == OFFLINE_MODEL:
        return Candidate(OFFLINE, OFFLINE_MODEL)
    prefix, _, rest = model.partition(":")
    if prefix in PREFIXES and rest:
        service, name = (openrouter if prefix == "openrouter" else own), rest
    elif own is None or (openrouter is not None and own.first_party and "/" in model):
        service, name = openrouter, model
    else:
        service, name = own, model
    if service is None:
        keys = (
            "OPENROUTER_API_KEY"
            if prefix == "openrouter"
            else "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL or OPENROUTER_API_KEY"
        )
        raise NotConfigured(f'the model is "{model}", but {keys} is not set')
    return Candidate(service, name)

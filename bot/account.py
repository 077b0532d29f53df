"""Which bots the settings name. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import SecretStr

from bot.api import Me, bot_id_of
from infra.settings import Settings
from schemas.bot import BotNow
from schemas.inbound import InboundMessage


@dataclass(frozen=True, slots=True)
class Account:
    """One token and what the settings say about its bot."""

    token: SecretStr
    name: str = ""
    """ "": it is called by its Telegram username."""
    store: str = "home"
    language: str = "en"
    people: frozenset[str] | None = None
    is_own: bool = False

    @property
    def label(self) -> str:
        """How to call it before Telegram told its username; never the token."""
        return self.name or f"bot {bot_id_of(self.token.get_secret_value())}"

    def me(self, username: str) -> Me:
        """Who it is, now that its username is known."""
        bot_id = bot_id_of(self.token.get_secret_value())
        name = self.name or username or self.label
        return Me(bot_id, username, name, self.store, self.language, self.people, self.is_own)


def accounts(settings: Settings) -> tuple[Account, ...]:
    """Bots of `[[bots]]` that have a token, then plain tokens; each token once."""
    found: dict[str, Account] = {}
    for account in _named(settings):
        found.setdefault(account.token.get_secret_value(), account)
    return tuple(found.values())


def _named(settings: Settings) -> Iterator[Account]:
    for bot in settings.bots:
        if bot.token.get_secret_value():
            people = None if bot.people is None else frozenset(bot.people)
            language = bot.language or settings.language
            yield Account(bot.token, bot.name, bot.memory, language, people, bot.is_own)
    for token in settings.telegram_bot_tokens:
        yield Account(token, language=settings.language)


def marked(message: InboundMessage, me: Me) -> InboundMessage:
    """As workers have to know it, who do not know yet what the settings say about a bot that was just added."""
    return message.model_copy(update={"v": 2, "of_its_own": True}) if me.is_own else message


def as_told(me: Me) -> BotNow:
    """For workers that have messages of it under another name."""
    return BotNow(name=me.name, of_its_own=me.is_own)

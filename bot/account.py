"""Which bots the settings name. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import SecretStr

from bot.api import Me, bot_id_of
from infra.settings import Settings


@dataclass(frozen=True, slots=True)
class Account:
    """One token and what the settings say about its bot."""

    token: SecretStr
    name: str = ""
    """ "": it is called by its Telegram username."""
    store: str = "home"
    language: str = "en"

    @property
    def label(self) -> str:
        """How to call it before Telegram told its username; never the token."""
        return self.name or f"bot {bot_id_of(self.token.get_secret_value())}"

    def me(self, username: str) -> Me:
        """Who it is, now that its username is known."""
        bot_id = bot_id_of(self.token.get_secret_value())
        return Me(bot_id, username, self.name or username or self.label, self.store, self.language)


def accounts(settings: Settings) -> tuple[Account, ...]:
    """Bots of `[[bots]]` that have a token, then plain tokens; each token once."""
    found: dict[str, Account] = {}
    for account in _named(settings):
        found.setdefault(account.token.get_secret_value(), account)
    return tuple(found.values())


def _named(settings: Settings) -> Iterator[Account]:
    for bot in settings.bots:
        if bot.token.get_secret_value():
            yield Account(bot.token, bot.name, bot.memory, bot.language or settings.language)
    for token in settings.telegram_bot_tokens:
        yield Account(token, language=settings.language)

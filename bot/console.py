"""What one bot says on the console, in the language of the settings."""

import random
from collections.abc import Callable

from bot.texts import say
from bot.trouble import Trouble

CONFLICT_WAIT_S = 10.0
REDIS_WAIT_MAX_S = 5.0
"""Longest wait between attempts to store a batch: Redis comes back sooner than Telegram."""


class Console:
    """Lines for people about one bot, and how long to wait after each trouble, s."""

    def __init__(
        self,
        print_line: Callable[[str], None],
        bot: str,
        language: str,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """bot: its name, or its number as long as the name is not known."""
        self._print = print_line
        self._trouble = Trouble(print_line, chance)
        self.bot = bot
        self.language = language

    def pairing(self, username: str, code: str) -> None:
        link = f"https://t.me/{username}"
        line = say(
            self.language,
            "{bot} belongs to nobody yet. Send it the code {code} to make it yours: {link}  (or just open {link}?start={code})",
            bot=self.bot, code=code, link=link,
        )  # fmt: skip
        self._print(line)

    def token_refused(self) -> None:
        self._print(
            say(
                self.language,
                "{bot}: Telegram does not know this token (401). This bot stays off; @BotFather shows the right one.",
                bot=self.bot,
            )
        )

    def crashed(self, error: str) -> float:
        line = say(
            self.language,
            "{bot}: stopped unexpectedly ({error}); it starts again.",
            bot=self.bot,
            error=error,
        )
        return self._trouble.met("crash", line)

    def conflict(self) -> float:
        line = say(
            self.language,
            "{bot}: another program fetches the messages of this bot (409). Stop that one; I keep trying.",
            bot=self.bot,
        )
        self._trouble.met("telegram", line)
        return CONFLICT_WAIT_S

    def telegram_away(self, why: str, *, patience: int = 0) -> float:
        """patience: how often it may fail in a row before people hear of it."""
        line = say(
            self.language, "{bot}: Telegram cannot be reached ({why}). I keep trying.", bot=self.bot, why=why
        )
        return self._trouble.met("telegram", line, patience=patience)

    def telegram_back(self) -> None:
        self._trouble.over(
            "telegram", lambda: say(self.language, "{bot}: Telegram answers again.", bot=self.bot)
        )

    def redis_away(self, error: Exception) -> float:
        return self.cannot_store(type(error).__name__)

    def cannot_store(self, why: str) -> float:
        line = say(
            self.language,
            "{bot}: messages cannot be stored ({why}). They stay with Telegram; I keep trying.",
            bot=self.bot,
            why=why,
        )
        return self._trouble.met("redis", line, longest_s=REDIS_WAIT_MAX_S)

    def redis_back(self) -> None:
        self._trouble.over(
            "redis", lambda: say(self.language, "{bot}: messages are stored again.", bot=self.bot)
        )

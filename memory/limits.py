"""How much is remembered, and for how long: the settings as plain numbers."""

from dataclasses import dataclass
from typing import Literal, Self

from infra.clock import ms
from infra.settings import MemorySettings, Settings


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """`[memory]` of koi.toml. Characters are Unicode code points."""

    entries: int = 20
    max_age_ms: int = 86_400_000
    user_chars: int = 500
    summary_chars: int = 300
    reply_chars: int = 4000
    """0: only the summary is kept."""
    budget_tokens: int = 500
    """Of the whole block, without the current message."""
    strategy: Literal["select", "last"] = "select"
    last: int = 5

    @classmethod
    def from_settings(cls, settings: MemorySettings) -> Self:
        return cls(
            entries=settings.entries,
            max_age_ms=ms(settings.max_age),
            user_chars=settings.user_chars,
            summary_chars=settings.summary_chars,
            reply_chars=settings.reply_chars,
            budget_tokens=settings.budget_tokens,
            strategy=settings.strategy,
            last=settings.last,
        )


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """`[session]`, with the age that no text may pass."""

    idle_ms: int = 1_800_000
    max_age_ms: int = 86_400_000
    budget_tokens: int = 6000
    folds: bool = False
    """What no longer fits is folded into a summary (memory.fold), not dropped."""
    suggest_new_after: int = 20
    """Exchanges."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            idle_ms=ms(settings.session.idle),
            max_age_ms=ms(settings.memory.max_age),
            budget_tokens=settings.session.budget_tokens,
            folds=settings.session.summarise,
            suggest_new_after=settings.session.suggest_new_after,
        )

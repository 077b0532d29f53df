"""/rich: whether answers in a chat may be rich messages, which Telegram itself lays out. Pure."""

from dataclasses import dataclass

from infra import keys
from infra.effect import Effect
from memory.summary import cut
from schemas.inbound import InboundMessage
from schemas.reply import Button
from workers.outgoing import is_local
from workers.said import Said
from workers.texts import say

ON = frozenset({"on", "an", "ein"})
OFF = frozenset({"off", "aus"})
ARGUMENT_CHARS = 40
SET = "1"
"""What stands under keys.rich where it is on."""


@dataclass(frozen=True, slots=True)
class RichState:
    """Who asks, and how it is."""

    message: InboundMessage
    role: str
    """Of whoever asks, as workers.commands.role_in says."""
    is_on: bool

    @property
    def language(self) -> str:
        return self.message.language

    @property
    def may_change(self) -> bool:
        """In private each for themselves; what a group sees is its owner's business."""
        return self.message.chat_kind == "private" or self.role == "owner"


def rich_said(state: RichState) -> Said:
    """The answer to /rich, with or without on or off."""
    wish, language = state.message.argument.strip().casefold(), state.language
    if is_local(state.message.bot_id):
        return Said(say(language, "Rich messages are Telegram's; in this window there are none."))
    if wish in ON | OFF and not state.may_change:
        return Said(say(language, "In a group only my owner can switch that."))
    if wish in ON:
        text = say(
            language,
            "From now on tables, headings, nested lists and formulas come as rich messages. If you only see a placeholder "
            "instead, your Telegram app is too old for them: update it, or switch them off.",
        )
        return Said(
            text, (_button(language, on=False),), (Effect("SET", keys.rich(state.message.chat_id), (SET,)),)
        )
    if wish in OFF:
        text = say(language, "From now on all answers are ordinary messages again.")
        return Said(text, (_button(language, on=True),), (Effect("DEL", keys.rich(state.message.chat_id)),))
    return _shown(state, wish)


def _shown(state: RichState, wish: str) -> Said:
    language = state.language
    lines = [
        say(
            language,
            "I do not understand “{argument}”: /rich on, or /rich off.",
            argument=cut(wish, ARGUMENT_CHARS),
        )
        if wish
        else "",
        say(language, "Rich messages are on in this chat.")
        if state.is_on
        else say(language, "Rich messages are off in this chat."),
        say(
            language,
            "With them Telegram itself lays out tables, headings, nested lists and formulas; older Telegram apps show a "
            "placeholder instead.",
        ),
        "" if state.may_change else say(language, "In a group only my owner can switch that."),
    ]
    buttons = (_button(language, on=not state.is_on),) if state.may_change else ()
    return Said("\n".join(filter(None, lines)), buttons)


def _button(language: str, *, on: bool) -> tuple[Button, ...]:
    if on:
        return (Button(text=say(language, "Switch on"), command="/rich on"),)
    return (Button(text=say(language, "Switch off"), command="/rich off"),)

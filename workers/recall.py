"""/memory and /why: what is remembered, and what the last answer was made of. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from infra.cut import cut, shorten
from infra.forget import forget_command, handle_of
from infra.settings import MoneySettings
from memory.limits import MemoryLimits
from schemas.memory import AnswerRecord, RingEntry
from schemas.reply import Button
from workers.model import why_words
from workers.texts import say, say_n
from workers.times import moment, span
from workers.usage import cost_text

USER_CHARS = 120
SUMMARY_CHARS = 200
FIRST_WORDS_CHARS = 60
BUTTON_CHARS = 24
MOST_BUTTONS = 5
ID_CHARS = 8
"""Of a turn's handle: enough to find it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads it, when and where."""

    language: str
    zone: tzinfo
    now_ms: int


def memory_text(entries: Sequence[RingEntry], limits: MemoryLimits, reader: Reader) -> str:
    """Every entry with its time and how long it will stay, oldest first."""
    if not entries:
        return say(reader.language, "I remember nothing of the last {span}.", span=_max_age(limits, reader))
    head = say_n(
        reader.language,
        "I remember {n} exchange. I keep at most {most}, each for {span}.",
        "I remember {n} exchanges. I keep at most {most}, each for {span}.",
        len(entries), most=limits.entries, span=_max_age(limits, reader),
    )  # fmt: skip
    tail = say(reader.language, "To forget: /forget last, /forget all, or /forget and a text.")
    return "\n\n".join([head, *(_entry_text(entry, limits, reader) for entry in entries), tail])


def why_text(
    answer: AnswerRecord | None,
    entries: Sequence[RingEntry],
    limits: MemoryLimits,
    reader: Reader,
    money: MoneySettings,
) -> str:
    """The last answer of the lane: time, model and why it, tokens, cost, the remembered entries that it was given, and
    where there is more.
    """
    if answer is None:
        return say(
            reader.language, "I gave no answer here in the last {span}.", span=_max_age(limits, reader)
        )
    when = moment(answer.at_ms, reader.zone, reader.language)
    return "\n".join([
        say(reader.language, "My last answer, {when}:", when=when),
        _model_line(answer, reader.language),
        *_why_lines(answer, reader.language),
        _tokens_line(answer, reader.language),
        say(reader.language, "Cost: {cost}", cost=cost_text(answer.cost_microusd, money, reader.language)),
        *_given_lines(answer, entries, reader),
        say(reader.language, "More: koi explain {id}", id=handle_of(answer.turn_id)[:ID_CHARS]),
    ])  # fmt: skip


def forget_buttons(
    answer: AnswerRecord | None, entries: Sequence[RingEntry], reader: Reader
) -> tuple[tuple[Button, ...], ...]:
    """One for each of the newest remembered entries that the last answer was given, oldest first."""
    given = [entry for entry in entries if answer and entry.id in answer.entry_ids][-MOST_BUTTONS:]
    return tuple((_forget_button(entry, reader),) for entry in given)


def _forget_button(entry: RingEntry, reader: Reader) -> Button:
    when = moment(entry.at_ms, reader.zone, reader.language)
    words = shorten(entry.user_message, BUTTON_CHARS)
    return Button(
        text=say(reader.language, "Forget: {when} {words}", when=when, words=words),
        command=forget_command(entry.id),
    )


def _max_age(limits: MemoryLimits, reader: Reader) -> str:
    return span(limits.max_age_ms, reader.language)


def _entry_text(entry: RingEntry, limits: MemoryLimits, reader: Reader) -> str:
    left_ms = entry.at_ms + limits.max_age_ms - reader.now_ms
    head = say(
        reader.language, "{when} · {left} left",
        when=moment(entry.at_ms, reader.zone, reader.language), left=span(left_ms, reader.language),
    )  # fmt: skip
    you = say(reader.language, "You: {text}", text=cut(entry.user_message, USER_CHARS))
    me = say(reader.language, "I: {text}", text=cut(entry.summary, SUMMARY_CHARS))
    return f"{head}\n{you}\n{me}"


def _model_line(answer: AnswerRecord, language: str) -> str:
    if answer.asked and answer.asked != answer.model:
        return say(
            language, "Model: {model}, because {asked} did not answer", model=answer.model, asked=answer.asked
        )
    return say(language, "Model: {model}", model=answer.model)


def _why_lines(answer: AnswerRecord, language: str) -> list[str]:
    why = why_words(answer.why, language)
    return [say(language, "Chosen because: {why}", why=why)] if why and answer.why != "only_model" else []


def _tokens_line(answer: AnswerRecord, language: str) -> str:
    if answer.input_tokens is None or answer.output_tokens is None:
        return say(language, "Tokens: the model did not say")
    return say(
        language,
        "Tokens: {read} read, {written} written",
        read=answer.input_tokens,
        written=answer.output_tokens,
    )


def _given_lines(answer: AnswerRecord, entries: Sequence[RingEntry], reader: Reader) -> list[str]:
    if not answer.entry_ids:
        return [say(reader.language, "Besides your message I was given nothing.")]
    given = [entry for entry in entries if entry.id in answer.entry_ids]
    lines = [say(reader.language, "Besides your message I was given:")]
    lines += [
        f"• {moment(entry.at_ms, reader.zone, reader.language)} {cut(entry.user_message, FIRST_WORDS_CHARS)}"
        for entry in given
    ]
    gone = len(answer.entry_ids) - len(given)
    if gone:
        lines.append(
            say_n(
                reader.language, "• {n} entry that is gone by now", "• {n} entries that are gone by now", gone
            )
        )
    return lines

"""What a turn changes when it ends. No I/O: of the services it uses the clock and the limits."""

from dataclasses import dataclass
from datetime import tzinfo

from infra import keys
from infra.clean import clean
from infra.effect import Effect
from infra.pushes import push_reply
from lanes.outcome import Commit
from llm.request import Completion, Usage
from memory.entry import make_entry, session_name_of
from memory.ring import Remembered, remember
from memory.session import end_effects, extend, new_exchange, session_effects
from schemas.inbound import InboundMessage
from schemas.memory import AnswerRecord
from schemas.reply import Reply
from schemas.wire import dump
from workers.outgoing import Place, plain_reply
from workers.plan import Plan
from workers.services import Services
from workers.texts import say
from workers.times import moment
from workers.words import Words, cut_line, unreadable_line


@dataclass(frozen=True, slots=True)
class Turn:
    """Which messages are answered, by what, from when to when."""

    id: str
    messages: tuple[InboundMessage, ...]
    began_ms: int
    words: Words
    starts_anew: bool = False
    """`/new`: whatever conversation ran is over."""
    late_ms: int = 0
    """When the first message was sent, if nobody was there to answer it for long; else 0."""

    @property
    def first(self) -> InboundMessage:
        return self.messages[0]

    @property
    def language(self) -> str:
        """Of the newest message: its sender reads the answer."""
        return self.messages[-1].language

    @property
    def place(self) -> Place:
        return Place.of_message(self.first)

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(message.id for message in self.messages)


def commit_of_line(turn: Turn, text: str, *, failed: bool = False) -> Commit:
    """koi answers by itself."""
    reply = plain_reply(
        turn.place, f"{turn.id}:answer", text, answers=turn.answers, language=turn.language, failed=failed
    )
    ended = end_effects(turn.first.lane) if turn.starts_anew else ()
    return Commit(effects=ended, pushes=(push_reply(reply),))


def commit_of_answer(
    turn: Turn,
    plan: Plan,
    completion: Completion,
    remembered: Remembered,
    s: Services,
) -> Commit:
    """The answer and, unless the model declined, the exchange in the conversation and in the ring."""
    now_ms, lane = s.clock(), turn.first.lane
    record = _record(turn, plan, completion, now_ms)
    effects = (Effect("SET", keys.answer(lane), (dump(record), "PX", s.memory.max_age_ms)),)
    if completion.ending == "refused":
        line = commit_of_line(turn, _refusal_line(turn.language))
        return Commit(effects=(*line.effects, *effects), pushes=line.pushes)
    exchange = new_exchange(
        turn.id, turn.began_ms, plan.user_text, completion.text,
        block=plan.block.text if plan.block else "", block_oldest_ms=plan.block.oldest_ms if plan.block else 0,
    )  # fmt: skip
    session = extend(plan.session, exchange, plan.seen, now_ms, s.session)
    entry = make_entry(
        exchange, s.memory, session_name=session_name_of(turn.first.user_id), bot=turn.first.bot, lane=lane
    )
    texts = (
        *session_effects(lane, session, s.session),
        *remember(turn.first.owner, entry, remembered, s.memory),
    )
    return Commit(effects, texts, pushes=(push_reply(_reply(turn, plan, completion, s.zone)),))


def _reply(turn: Turn, plan: Plan, completion: Completion, zone: tzinfo) -> Reply:
    notes = [
        _late_line(turn, zone),
        _ending_line(completion, turn.language),
        unreadable_line(turn.words, turn.language),
        cut_line(turn.language) if plan.is_cut else "",
    ]
    return Reply(
        id=f"{turn.id}:answer", bot_id=turn.place.bot_id, chat_id=turn.place.chat_id, topic_id=turn.place.topic_id,
        text="\n\n".join([clean(completion.text), *(f"({note})" for note in notes if note)]),
        answers=turn.answers, owner=turn.place.owner, language=turn.language,
    )  # fmt: skip


def _record(turn: Turn, plan: Plan, completion: Completion, now_ms: int) -> AnswerRecord:
    return AnswerRecord(
        turn_id=turn.id,
        at_ms=now_ms,
        entry_ids=plan.entry_ids,
        model=completion.model,
        asked=completion.asked,
        input_tokens=_all_input(completion.usage),
        output_tokens=completion.usage.output_tokens,
    )


def _all_input(usage: Usage) -> int | None:
    counts = (usage.input_tokens, usage.cache_write_tokens, usage.cache_read_tokens)
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _ending_line(completion: Completion, language: str) -> str:
    match completion.ending:
        case "truncated":
            return say(language, "My answer became too long and stops here. Write “go on”, and I continue.")
        case "interrupted":
            return say(language, "I ran out of time; my answer stops here. Write “go on”, and I continue.")
        case _:
            return ""


def _late_line(turn: Turn, zone: tzinfo) -> str:
    if not turn.late_ms:
        return ""
    when = moment(turn.late_ms, zone, turn.language)
    return say(turn.language, "I was away: your message is from {when}.", when=when)


def _refusal_line(language: str) -> str:
    return say(language, "The model declined to answer this. It may help to put it differently.")

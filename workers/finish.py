"""What a turn changes when it ends. No I/O: of the services it uses the clock and the limits."""

from collections.abc import Sequence
from datetime import tzinfo

from infra import keys
from infra.clean import clean
from infra.effect import Effect, Push
from infra.pushes import push_reply
from infra.turns import turn_effects
from lanes.outcome import Commit
from llm.request import Completion
from memory.entry import make_entry, session_name_of
from memory.fold import fold_pushes, taken_effects
from memory.ratio import learn, pack, start
from memory.ring import remember
from memory.session import end_effects, extend, new_exchange, session_effects, suggests_fresh_start
from memory.tokens import estimate_tokens
from schemas.memory import AnswerRecord, Exchange, Session
from schemas.reply import Button, Reply
from schemas.wire import dump
from workers.choose import Chosen
from workers.converse import Answered
from workers.known import Known
from workers.messages import Turn
from workers.outgoing import plain_reply
from workers.plan import Plan
from workers.services import Services
from workers.texts import say, say_n
from workers.times import moment
from workers.turn_record import all_input, asked_of, cost_of, turn_record
from workers.words import cut_line, unreadable_line

RATIO_TTL_MS = 30 * 24 * 3_600_000
"""How long it is remembered how a model counts in a chat."""


def commit_of_line(
    turn: Turn,
    text: str,
    *,
    failed: bool = False,
    buttons: tuple[tuple[Button, ...], ...] = (),
    effects: tuple[Effect, ...] = (),
) -> Commit:
    """koi answers by itself."""
    reply = plain_reply(
        turn.place, f"{turn.id}:answer", text, answers=turn.answers, language=turn.language, failed=failed
    ).model_copy(update={"buttons": buttons})
    ended = end_effects(turn.first.lane) if turn.starts_anew else ()
    return Commit(effects=(*ended, *effects), pushes=(push_reply(reply),))


def commit_of_answer(turn: Turn, answered: Answered, known: Known, chosen: Chosen, s: Services) -> Commit:
    """The answer and, unless the model declined, the exchange in the conversation and in the ring."""
    plan, completion, now_ms, lane = answered.plan, answered.completion, s.clock(), turn.first.lane
    effects = (
        Effect(
            "SET",
            keys.answer(lane),
            (dump(_record(turn, answered, chosen, now_ms)), "PX", s.memory.max_age_ms),
        ),
        *_ratio_effects(lane, answered, known),
    )
    record = turn_record(turn, answered, known, chosen, s)
    texts = turn_effects(record, s.memory.max_age_ms)
    if completion.ending == "refused":
        line = commit_of_line(turn, _refusal_line(turn.language))
        return Commit((*line.effects, *effects), texts, pushes=line.pushes)
    reply_tokens = estimate_tokens(completion.text)
    exchange = _exchange(turn, plan, completion, reply_tokens)
    session = extend(plan.session, exchange, plan.seen, now_ms, s.session, chosen.choice.tier)
    texts += session_effects(lane, session, s.session)
    texts += _ring_effects(turn, exchange, (plan.user_tokens, reply_tokens), known, s)
    texts += taken_effects(lane) if known.has_fold else ()
    return Commit(
        effects, texts, pushes=(push_reply(_reply(turn, answered, session, s)), *_folds(turn, session))
    )


def _exchange(turn: Turn, plan: Plan, completion: Completion, reply_tokens: int) -> Exchange:
    block, oldest_ms = (plan.block.text, plan.block.oldest_ms) if plan.block else ("", 0)
    return new_exchange(
        turn.id, turn.began_ms, plan.user_text, completion.text, block=block, block_oldest_ms=oldest_ms,
        note=plan.note, asked_tokens=plan.asked_tokens, reply_tokens=reply_tokens,
    )  # fmt: skip


def _ring_effects(
    turn: Turn, exchange: Exchange, tokens: tuple[int, int], known: Known, s: Services
) -> tuple[Effect, ...]:
    first = turn.first
    entry = make_entry(
        exchange,
        s.memory,
        session_name=session_name_of(first.user_id),
        bot=first.bot,
        lane=first.lane,
        tokens=tokens,
    )
    return remember(first.owner, entry, known.remembered, s.memory)


def _folds(turn: Turn, session: Session) -> Sequence[Push]:
    first = turn.first
    return fold_pushes(
        session, lane=first.lane, owner=first.owner, bot=first.bot, user_id=first.user_id, turn_id=turn.id
    )


def _reply(turn: Turn, answered: Answered, session: Session, s: Services) -> Reply:
    plan, completion, language = answered.plan, answered.completion, turn.language
    suggests = suggests_fresh_start(session, s.session.suggest_new_after)
    notes = [
        _late_line(turn, s.zone),
        _ending_line(completion, language),
        unreadable_line(turn.words, language),
        cut_line(language) if plan.is_cut else "",
        _long_line(session, language) if suggests else "",
    ]
    return Reply(
        id=f"{turn.id}:answer", bot_id=turn.place.bot_id, chat_id=turn.place.chat_id, topic_id=turn.place.topic_id,
        text="\n\n".join([clean(completion.text), *(f"({note})" for note in notes if note)]),
        answers=turn.answers, owner=turn.place.owner, language=language,
        buttons=((Button(text=say(language, "Fresh start"), command="/new"),),) if suggests else (),
    )  # fmt: skip


def _ratio_effects(lane: str, answered: Answered, known: Known) -> tuple[Effect, ...]:
    """What the answer taught about how its model counts; nothing if it came in several calls, or without usage."""
    plan, completion = answered.plan, answered.completion
    if any(call.outcome == "paused" for call in completion.calls):
        return ()
    before = known.ratios.get(completion.model, start())
    after = learn(before, plan.estimated_tokens, all_input(completion.usage))
    if after is before:
        return ()
    key = keys.ratios(lane)
    return Effect("HSET", key, (completion.model, pack(after))), Effect("PEXPIRE", key, (RATIO_TTL_MS,))


def _record(turn: Turn, answered: Answered, chosen: Chosen, now_ms: int) -> AnswerRecord:
    completion = answered.completion
    return AnswerRecord(
        turn_id=turn.id,
        at_ms=now_ms,
        entry_ids=answered.plan.entry_ids,
        model=completion.model,
        asked=asked_of(completion),
        input_tokens=all_input(completion.usage),
        output_tokens=completion.usage.output_tokens,
        cost_microusd=cost_of(answered.calls),
        why=chosen.choice.why,
    )


def _long_line(session: Session, language: str) -> str:
    return say_n(
        language,
        "We have exchanged {n} message. If you begin something new, a fresh start keeps answers quick; what we talked "
        "about stays remembered.",
        "We have exchanged {n} messages. If you begin something new, a fresh start keeps answers quick; what we talked "
        "about stays remembered.",
        session.total,
    )


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

"""What a turn changes when it ends. No I/O: of the services it uses the clock and the limits."""

from collections.abc import Sequence
from dataclasses import dataclass

from infra import keys
from infra.clean import clean
from infra.effect import Effect, Push
from infra.pushes import push_reply
from infra.turns import turn_effects
from lanes.outcome import Commit
from llm.candidates import OFFLINE_MODEL
from memory.entry import make_entry, session_name_of
from memory.fold import fold_pushes, taken_effects
from memory.neutralise import neutralise
from memory.ratio import learn, pack, start
from memory.ring import remember
from memory.session import end_effects, extend, new_exchange, session_effects
from memory.tables import as_table
from memory.tokens import estimate_tokens
from memory.trim import cut_middle
from schemas.memory import AnswerRecord, Exchange, Session
from schemas.reply import Button, Reply
from schemas.tools import Pending
from schemas.wire import dump
from tools.tool import Ran
from workers.answer_notes import notes_of, suggests_new
from workers.choose import Chosen
from workers.converse import Answered
from workers.cut_off import closed
from workers.echo import without_block
from workers.known import Known
from workers.messages import Turn
from workers.outgoing import in_markdown, plain_reply
from workers.pending import drop_effects, pending_buttons, pending_effects, preview_of, question_of
from workers.rounds import steps_of
from workers.services import Services
from workers.stop import stop_effects, stopped_line
from workers.texts import say
from workers.turn_record import all_input, asked_of, cost_of, read_tokens, turn_record, written_tokens

TOLD_TOKENS = 300
"""Of what the model is told when something was confirmed."""
RATIO_TTL_MS = 30 * 24 * 3_600_000
"""How long it is remembered how a model counts in a chat."""


def commit_of_line(
    turn: Turn,
    text: str,
    *,
    failed: bool = False,
    buttons: tuple[tuple[Button, ...], ...] = (),
    effects: tuple[Effect, ...] = (),
    texts: tuple[Effect, ...] = (),
) -> Commit:
    """koi answers by itself."""
    reply = plain_reply(
        turn.place, f"{turn.id}:answer", text, answers=turn.answers, language=turn.language, failed=failed
    ).model_copy(update={"buttons": buttons})
    lane = turn.first.lane
    ended = (*end_effects(lane), *drop_effects(lane)) if turn.starts_anew else ()
    return Commit((*ended, *effects), texts, pushes=(push_reply(reply),))


def told_effects(turn: Turn, text: str, told: str, known: Known, s: Services) -> tuple[Effect, ...]:
    """What was done at the tap of a button becomes part of the conversation and the ring, so that the model knows of it and
    no open question is the last that is remembered.
    """
    note = f"\n\n[{neutralise(cut_middle(as_table(told), TOLD_TOKENS))}]"
    exchange = new_exchange(turn.id, turn.began_ms, say(turn.language, "Confirm"), text, note=note)
    seen = tuple(entry.id for entry in known.remembered.entries)
    session = extend(known.session, exchange, seen, s.clock(), s.session)
    tokens = (estimate_tokens(exchange.user), estimate_tokens(exchange.reply))
    return (
        *session_effects(turn.first.lane, session, s.session),
        *_ring_effects(turn, exchange, tokens, known, s),
    )


def commit_of_answer(
    turn: Turn, answered: Answered, known: Known, chosen: Chosen, s: Services, *, file_line: str = ""
) -> Commit:
    """The answer and, unless the model declined, the exchange in the conversation and in the ring."""
    plan, completion, now_ms, lane = answered.plan, answered.completion, s.clock(), turn.first.lane
    effects = (
        Effect(
            "SET",
            keys.answer(lane),
            (dump(_record(turn, answered, chosen, now_ms)), "PX", s.memory.max_age_ms),
        ),
        *_ratio_effects(lane, answered, known),
        *stop_effects(lane),
    )
    record = turn_record(turn, answered, known, chosen, s)
    texts = turn_effects(record, s.memory.max_age_ms)
    if completion.ending == "refused":
        line = commit_of_line(turn, _refusal_line(turn.language))
        return Commit((*line.effects, *effects), texts, pushes=line.pushes)
    said = said_of(turn, answered, now_ms)
    reply_tokens = estimate_tokens(said.text)
    exchange = _exchange(turn, answered, said.text, reply_tokens)
    session = extend(plan.session, exchange, plan.seen, now_ms, s.session, chosen.choice.tier)
    texts += end_effects(lane) if answered.rounds.ends else session_effects(lane, session, s.session)
    texts += _ring_effects(turn, exchange, (plan.user_tokens, reply_tokens), known, s)
    texts += taken_effects(lane) if known.has_fold else ()
    if said.pending:
        texts += pending_effects(lane, said.pending, s.memory.max_age_ms)
    elif known.pending:
        texts += drop_effects(lane)
    notes = notes_of(turn, answered, session, s, zone=known.zone(s.zone), file_line=file_line)
    reply = _reply(turn, said, notes, known, suggests=suggests_new(session, answered, s))
    return Commit(effects, texts, pushes=(push_reply(reply), *_folds(turn, session)))


@dataclass(frozen=True, slots=True)
class AnswerSaid:
    """What the person reads, without koi's notes, and what then waits for them."""

    text: str
    pending: Pending | None = None

    @property
    def markdown(self) -> str:
        """koi's own part of it is shown as it is."""
        if self.pending is None:
            return self.text
        return self.text.removesuffix(self.pending.text) + in_markdown(self.pending.text)


def said_of(turn: Turn, answered: Answered, now_ms: int) -> AnswerSaid:
    """The model's text; behind it a question that it asks, or what it would do, for the person to confirm."""
    rounds, owner = answered.rounds, turn.place.owner
    last = rounds.done[-1] if rounds.done else None
    if last and last.waiting:
        calls, previews = zip(*last.waiting, strict=True)
        pending = preview_of(calls, previews, turn.language, turn_id=turn.id, owner=owner, at_ms=now_ms)
    elif last and last.asks:
        asked = Ran("", then="ask", question=last.asks.question, options=last.asks.options)
        pending = question_of(asked, turn_id=turn.id, owner=owner, at_ms=now_ms)
    else:
        text = answered.completion.text
        if answered.completion.model != OFFLINE_MODEL:  # which shows the block on purpose
            text = without_block(text)
        return AnswerSaid(text if text.strip() else rounds.text or _silent_line(answered, turn.language))
    before = last.kept.text.strip()
    return AnswerSaid(f"{before}\n\n{pending.text}" if before else pending.text, pending)


def _silent_line(answered: Answered, language: str) -> str:
    """For a model that used tools and said nothing (why koi stopped it, a note says), or that the person stopped."""
    if answered.completion.ending == "stopped":
        return stopped_line(language)
    return say(language, "That is as far as I got.") if answered.stop else say(language, "Done.")


def _exchange(turn: Turn, answered: Answered, text: str, reply_tokens: int) -> Exchange:
    plan = answered.plan
    block, oldest_ms = (plan.block.text, plan.block.oldest_ms) if plan.block else ("", 0)
    return new_exchange(
        turn.id, turn.began_ms, plan.user_text, text, block=block, block_oldest_ms=oldest_ms, note=plan.note,
        rounds=steps_of(answered.rounds), asked_tokens=plan.asked_tokens, reply_tokens=reply_tokens,
    )  # fmt: skip


def _ring_effects(
    turn: Turn, exchange: Exchange, tokens: tuple[int, int], known: Known, s: Services
) -> tuple[Effect, ...]:
    first = turn.first
    entry = make_entry(
        exchange,
        s.memory,
        session_name=session_name_of(first.user_id),
        workdir=known.project,
        bot=first.bot,
        lane=first.lane,
        tokens=tokens,
    )
    return remember(first.owner, entry, known.remembered, s.memory)


def _folds(turn: Turn, session: Session) -> Sequence[Push]:
    first = turn.first
    return fold_pushes(
        session, lane=first.lane, owner=first.owner, bot=first.bot, user_id=first.user_id, turn_id=turn.id,
        of_its_own=first.of_its_own,
    )  # fmt: skip


def _reply(turn: Turn, said: AnswerSaid, notes: Sequence[str], known: Known, *, suggests: bool) -> Reply:
    return Reply(
        id=f"{turn.id}:answer", bot_id=turn.place.bot_id, chat_id=turn.place.chat_id, topic_id=turn.place.topic_id,
        text="\n\n".join([closed(clean(said.markdown)), *(f"({note})" for note in notes)]),
        answers=turn.answers, owner=turn.place.owner, language=turn.language,
        buttons=_buttons(said, turn.language, suggests=suggests), v=3 if known.rich else 2, rich=known.rich,
    )  # fmt: skip


def _buttons(said: AnswerSaid, language: str, *, suggests: bool) -> tuple[tuple[Button, ...], ...]:
    if said.pending:
        return pending_buttons(said.pending, language)
    return ((Button(text=say(language, "Fresh start"), command="/new"),),) if suggests else ()


def _ratio_effects(lane: str, answered: Answered, known: Known) -> tuple[Effect, ...]:
    """What the answer taught about how its model counts; nothing if it came in several calls, or without usage."""
    plan, completion = answered.plan, answered.completion
    if any(call.outcome == "paused" for call in completion.calls):
        return ()
    before = known.ratios.get(completion.model, start())
    after = learn(before, plan.estimated_tokens + answered.rounds.tokens, all_input(completion.usage))
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
        input_tokens=read_tokens(answered.calls),
        output_tokens=written_tokens(answered.calls),
        cost_microusd=cost_of(answered.calls),
        why=chosen.choice.why,
    )


def _refusal_line(language: str) -> str:
    return say(language, "The model declined to answer this. It may help to put it differently.")

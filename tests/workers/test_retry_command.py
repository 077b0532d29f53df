"""/retry: the last question again, as if its first answer had not been given."""

import pytest

from infra import keys
from infra.effect import Effect
from memory.limits import MemoryLimits, SessionLimits
from memory.ring import Remembered, read_ring
from memory.session import extend, new_exchange
from schemas.memory import AnswerRecord, RingEntry, Session, ToolCall, ToolRound
from schemas.wire import dump
from workers.retry_command import (
    MOST_CALLS,
    Retried,
    is_offer,
    nothing_line,
    offer_said,
    offers,
    retried,
)

OWNER = "home:u:42"
LIMITS = SessionLimits()
CALL = ToolCall(id="c", name="create_task", arguments='{"title": "</system>bread"}')
ROUND = ToolRound(calls=(CALL,), results=('{"id":"t1"}',))


def talk(count: int, *rounds: ToolRound) -> Session:
    session = None
    for n in range(1, count + 1):
        exchange = new_exchange(
            f"turn{n}", 10 * n, f"question {n}", f"answer {n}", rounds=rounds if n == count else ()
        )
        session = extend(session, exchange, [f"turn{m}" for m in range(1, n)] + ["news"], 10 * n, LIMITS)
    assert session
    return session


def ring(*ids: str) -> Remembered:
    raws = [
        dump(RingEntry(id=id_, at_ms=10 * n, user_message=f"question {n}", summary="-"))
        for n, id_ in enumerate(ids, 1)
    ]
    return read_ring(raws, 100, MemoryLimits())


def answer(turn_id: str) -> AnswerRecord:
    return AnswerRecord(turn_id=turn_id, at_ms=1)


def again(
    session: Session | None, remembered: Remembered, turn_id: str, argument: str = ""
) -> Retried | None:
    return retried(session, remembered, answer(turn_id), owner=OWNER, argument=argument)


def test_the_last_exchange_is_taken_out_and_its_question_asked_again() -> None:
    remembered = ring("turn1", "turn2")

    found = again(talk(2), remembered, "turn2")

    assert found
    assert found.question == "question 2"
    assert found.session
    assert [one.id for one in found.session.exchanges] == ["turn1"]
    assert found.session.total == 1
    assert [entry.id for entry in found.remembered.entries] == ["turn1"]
    assert found.remembered.kept == remembered.kept[:1]
    assert found.texts == (Effect("LREM", keys.ring(OWNER), (0, remembered.kept[1])),)
    assert found.tier is None
    assert "do not do it twice" not in found.note


def test_the_only_exchange_leaves_no_conversation_and_no_memory_of_itself() -> None:
    found = again(talk(1), ring("other", "turn1"), "turn1")

    assert found
    assert found.session is None
    assert [entry.id for entry in found.remembered.entries] == ["other"]


def test_what_the_taken_block_told_is_news_again() -> None:
    session = talk(2).model_copy(update={"seen": ("turn1", "news")})

    found = again(session, ring("turn1", "news", "turn2"), "turn2")  # "news" came after the first exchange

    assert found
    assert found.session
    assert found.session.seen == ("turn1",)


@pytest.mark.parametrize(
    ("argument", "tier"), [("strong", "strong"), (" Stark ", "strong"), ("", None), ("x", None)]
)
def test_the_strong_model_answers_if_it_is_asked_for(argument: str, tier: str | None) -> None:
    found = again(talk(1), ring(), "turn1", argument)

    assert found
    assert found.tier == tier


def test_the_model_is_told_what_its_tools_have_done_already() -> None:
    found = again(talk(1, ROUND), ring(), "turn1")

    assert found
    assert found.note.endswith(
        'do not do it twice: create_task {"title": "&lt;/system>bread"} → {"id":"t1"}.'
    )


def test_the_note_stays_short() -> None:
    long = ToolRound(calls=(CALL,) * 40, results=("x" * 9_000,) * 40)

    found = again(talk(1, long), ring(), "turn1")

    assert found
    assert found.note.endswith(f"; and {40 - MOST_CALLS} more.")
    assert len(found.note) < 5_000


@pytest.mark.parametrize(
    ("session", "turn_id"),
    [(None, "turn1"), (talk(2), "turn1"), (talk(2), "turn9")],
    ids=["no conversation", "koi answered last", "a refused answer"],
)
def test_where_there_is_no_answer_of_a_model_there_is_nothing_to_retry(
    session: Session | None, turn_id: str
) -> None:
    assert again(session, ring(), turn_id) is None


def test_without_a_record_of_the_answer_there_is_nothing_to_retry() -> None:
    assert retried(talk(1), ring(), None, owner=OWNER, argument="") is None
    assert nothing_line("de").startswith("In diesem Gespräch")


def test_a_dislike_offers_and_does_not_try() -> None:
    said = offer_said("de")

    assert [[button.command for button in row] for row in said.buttons] == [["/retry strong"]]
    assert is_offer("offer", "👎")
    assert not is_offer("offer", "")
    assert not is_offer("strong", "👎")


def test_only_the_newest_answer_can_be_tried_again() -> None:
    assert offers(talk(2), answer("turn2"), "turn2")
    assert not offers(talk(2), answer("turn2"), "turn1")
    assert not offers(talk(2), answer("turn2"), "")
    assert not offers(None, answer("turn2"), "turn2")
    assert not offers(talk(2), answer("turn1"), "turn2")

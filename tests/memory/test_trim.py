"""A conversation that has outgrown its budget."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.limits import SessionLimits
from memory.session import extend, new_exchange
from memory.tokens import estimate_tokens
from memory.trim import CUT_MARK, TRIM_TO, VERBATIM, cut_middle, trim
from memory.window import Shown, session_tokens, window
from schemas.memory import Exchange, Session, ToolRound
from schemas.turn import LeftOut
from tests.memory.values import NOW_MS, exchange, session, tool_round

LONG = "The parcel left Cologne and is expected tomorrow. "


def said(number: int, *, words: int = 40, rounds: tuple[ToolRound, ...] = ()) -> Exchange:
    return new_exchange(f"turn-{number}", NOW_MS, f"question {number}", "word " * words, rounds=rounds)


def orphans(shown: list[Shown]) -> int:
    """Calls without results and results without calls."""
    asked = {call.id for one in shown for call in one.uses}
    answered = {result.id for one in shown for result in one.results}
    return len(asked ^ answered)


def test_what_fits_is_the_same_object() -> None:
    running = session(said(1), said(2), said(3))

    trimmed = trim(running, session_tokens(running), folds=False)

    assert trimmed.session is running
    assert trimmed.left_out == ()


def test_what_does_not_fit_is_brought_down_well_below_so_that_the_next_turns_leave_it_alone() -> None:
    running = session(*map(said, range(12)))
    room = session_tokens(running) - 1

    trimmed = trim(running, room, folds=False)

    assert session_tokens(trimmed.session) <= TRIM_TO * room
    assert [one.id for one in trimmed.session.exchanges] == [f"turn-{number}" for number in range(5, 12)]
    tokens = running.exchanges[0].tokens
    assert trimmed.left_out == tuple(
        LeftOut(kind="exchange", id=f"turn-{number}", tokens=tokens, why="no_room") for number in range(5)
    )


def test_of_twelve_turns_over_the_budget_the_last_two_stay_word_for_word() -> None:  # C28
    exchanges = [
        exchange(number, user=f"question {number} " * 50, reply=f"answer {number} " * 50)
        for number in range(1, 13)
    ]

    for folds in (False, True):
        kept = trim(session(*exchanges), 10, folds=folds).session

        assert kept.exchanges == tuple(exchanges[-2:])
        assert window(kept) == window(session(*exchanges))[-4:]


def test_an_exchange_too_large_does_not_end_the_search() -> None:
    sizes = [3, 900, 5, 5]
    running = session(*(said(number, words=size) for number, size in enumerate(sizes)))

    kept = trim(running, 200, folds=False).session

    assert [one.id for one in kept.exchanges] == ["turn-0", "turn-2", "turn-3"]


def test_tool_results_stay_before_older_texts_and_an_exchange_may_lose_only_its_rounds() -> None:
    big, small = tool_round(1, result=LONG * 60), tool_round(2, result=LONG)
    running = session(said(0, rounds=(small,)), said(1, words=100), said(2, rounds=(big,)), said(3), said(4))
    room = int((sum(said(n).tokens for n in range(5)) + 60) / TRIM_TO)
    assert session_tokens(running) > room

    trimmed = trim(running, room, folds=False)

    kept = {one.id: one.rounds for one in trimmed.session.exchanges}
    assert kept == {"turn-0": (small,), "turn-2": (), "turn-3": (), "turn-4": ()}
    lost = running.exchanges[2].tokens - said(2).tokens
    assert LeftOut(kind="tools", id="turn-2", tokens=lost, why="no_room") in trimmed.left_out
    assert (
        LeftOut(kind="exchange", id="turn-1", tokens=said(1, words=100).tokens, why="no_room")
        in trimmed.left_out
    )


def test_forty_tool_turns_under_four_thousand_tokens_never_part_a_call_from_its_result() -> None:  # C26
    limits = SessionLimits(budget_tokens=4_000)
    running: Session | None = None
    trims = 0
    for number in range(40):
        if running is not None:
            trimmed = trim(running, 3_600, folds=False)
            trims += bool(trimmed.left_out)
            running = trimmed.session
            shown = window(running)
            assert session_tokens(running) <= 3_600
            assert orphans(shown) == 0
            assert [one.role for one in shown] == ["user", "assistant"] * (len(shown) // 2)
            assert [one.id for one in running.exchanges[-2:]] == [
                f"turn-{n}" for n in range(max(0, number - 2), number)
            ]
        rounds = [tool_round(10 * number + step, result=LONG * (3 + number % 5 * step)) for step in range(3)]
        newest = new_exchange(f"turn-{number}", NOW_MS, f"Look again, {number}", LONG * 2, rounds=rounds)
        running = extend(running, newest, [], NOW_MS, limits)

    assert 3 <= trims <= 20


def test_a_payload_begins_with_the_one_before_it_until_a_trim() -> None:
    limits = SessionLimits(budget_tokens=2_000)
    running, before, breaks = None, list[Shown](), 0
    for number in range(60):
        if running is not None:
            trimmed = trim(running, 1_500, folds=False)
            shown = window(trimmed.session)
            is_stable = shown[: len(before)] == before
            assert is_stable or trimmed.left_out
            breaks += not is_stable
            running, before = trimmed.session, shown
        running = extend(running, said(number, words=60), [], NOW_MS, limits)

    assert 3 <= breaks <= 7  # every trim makes room for about nine exchanges


def test_if_the_last_two_alone_are_too_much_their_tool_results_are_cut_and_their_words_are_not() -> None:
    huge = "\n".join(f"row {number}|{LONG}" for number in range(400))
    small = tool_round(2, result="short")
    running = session(
        said(0),
        said(1, rounds=(tool_round(1, result=huge), small)),
        said(2, rounds=(tool_round(3, result=huge),)),
    )

    trimmed = trim(running, 1_000, folds=False)

    first, second = trimmed.session.exchanges
    assert 800 < session_tokens(trimmed.session) <= 1_000
    assert (first.user, first.reply) == (said(1).user, said(1).reply)
    assert first.rounds[1] == small
    for cut in (first.rounds[0].results[0], second.rounds[0].results[0]):
        assert cut.startswith("row 0|")
        assert CUT_MARK in cut
        assert cut.endswith(f"row 399|{LONG}")
    assert [(one.kind, one.id, one.why) for one in trimmed.left_out] == [
        ("exchange", "turn-0", "no_room"), ("tools", "turn-1", "too_long"), ("tools", "turn-2", "too_long"),
    ]  # fmt: skip


def test_no_room_at_all_leaves_the_words_of_the_last_two() -> None:
    running = session(said(1), said(2), said(3, rounds=(tool_round(1, result=LONG * 500),)))

    kept = trim(running, -50, folds=False).session

    assert [one.reply for one in kept.exchanges] == [said(2).reply, said(3).reply]
    assert estimate_tokens(kept.exchanges[1].rounds[0].results[0]) <= 40


def test_with_a_summary_what_is_dropped_waits_for_it_without_its_surroundings() -> None:
    dropped = new_exchange(
        "turn-1",
        NOW_MS,
        "q",
        "word " * 270,
        block="<block>",
        block_oldest_ms=1,
        note="n",
        rounds=[tool_round(1)],
    )
    running = session(dropped, said(2), said(3)).model_copy(update={"leaving": (said(0),)})

    trimmed = trim(running, session_tokens(running) - 1, folds=True)

    assert [one.id for one in trimmed.session.leaving] == ["turn-0", "turn-1"]
    waiting = trimmed.session.leaving[1]
    assert (waiting.block, waiting.note, waiting.rounds) == ("", "", ())
    assert trimmed.left_out == (LeftOut(kind="exchange", id="turn-1", tokens=dropped.tokens, why="folded"),)


def test_what_waits_for_a_summary_is_bounded_and_the_oldest_give_way() -> None:
    running = session(*(said(number, words=100) for number in range(30)))

    trimmed = trim(running, 1_000, folds=True)

    waiting = trimmed.session.leaving
    assert sum(one.tokens for one in waiting) <= 1_000
    assert waiting[-1].id == f"turn-{29 - len(trimmed.session.exchanges)}"
    whys = [one.why for one in trimmed.left_out]
    assert whys == ["no_room"] * whys.count("no_room") + ["folded"] * len(waiting)


def test_a_broken_round_is_gone_from_what_is_stored() -> None:  # C26
    broken = new_exchange("turn-1", NOW_MS, "q", "a", rounds=[ToolRound(text="?", results=("orphan",))])

    assert trim(session(broken), 1_000, folds=False).session.exchanges[0].rounds == ()


@pytest.mark.parametrize("text", [LONG * 100, "Ж" * 5_000, "包裹" * 2_000, "\n".join(["{}"] * 3_000)])
def test_a_cut_text_keeps_its_two_ends_and_the_size(text: str) -> None:
    cut = cut_middle(text, 100)

    head, tail = cut.split(CUT_MARK)
    assert estimate_tokens(cut) <= 100
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) > len(tail) > 0
    assert cut_middle(text, 10**6) == text


SIZES = st.tuples(st.integers(0, 80), st.lists(st.integers(0, 120), max_size=3))


@settings(max_examples=60, deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=14), st.integers(0, 1_500), st.booleans())
def test_a_trim_is_never_over_the_room_keeps_order_and_the_last_two(
    sizes: list[tuple[int, list[int]]], room: int, folds: bool
) -> None:
    exchanges = [
        said(
            at,
            words=words,
            rounds=tuple(tool_round(10 * at + n, result="x y " * r) for n, r in enumerate(steps)),
        )
        for at, (words, steps) in enumerate(sizes)
    ]
    running = session(*exchanges)
    last = exchanges[-VERBATIM:]

    trimmed = trim(running, room, folds=folds)

    kept = trimmed.session.exchanges
    fits = session_tokens(session(*last)) <= room
    ids = [one.id for one in kept]
    assert ids == sorted(ids, key=[one.id for one in exchanges].index)
    assert [(one.user, one.reply) for one in kept[-VERBATIM:]] == [(one.user, one.reply) for one in last]
    assert orphans(window(trimmed.session)) == 0
    if fits:
        assert kept[-VERBATIM:] == tuple(last)
        assert session_tokens(trimmed.session) <= room
    for one in kept:
        whole = exchanges[int(one.id.removeprefix("turn-"))]
        assert one.reply == whole.reply
        assert fits is False or set(map(str, one.rounds)) <= set(map(str, whole.rounds))
    assert trim(trimmed.session, room, folds=folds).session == trimmed.session or not fits

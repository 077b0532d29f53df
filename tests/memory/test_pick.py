"""Which sentences of what is remembered a new session is told."""

import importlib.util
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.cut import NOTHING
from memory.context import Block, build_block
from memory.labels import labels
from memory.limits import MemoryLimits
from memory.pick import GAP, Quote, pick
from memory.tokens import estimate_tokens
from memory.topics import left_at
from schemas.memory import RingEntry
from tests.memory.values import BERLIN, LIMITS, MINUTE_MS, NOW_MS, entry

DATA = Path(os.environ.get("KOI_BENCH_DATA", Path(__file__).parents[3] / "shared" / "data" / "context"))


def built(entries: list[RingEntry], message: str, budget: int = 500) -> Block:
    block = build_block(entries, labels("en"), BERLIN, MemoryLimits(budget_tokens=budget), message)
    assert block is not None
    return block


def talk(*said: tuple[str, str]) -> list[RingEntry]:
    return [
        entry(number, user=user, reply=reply, at_ms=NOW_MS + number * MINUTE_MS)
        for number, (user, reply) in enumerate(said)
    ]


def long(*sentences: str) -> str:
    """A reply in which each sentence stands among others that have nothing to do with it."""
    filler = "Nothing else of any note happened there, and nobody asked about it later on either. " * 4
    return filler.join(["", *(f"{sentence} " for sentence in sentences), ""])


def _left(exchanges: Sequence[Sequence[str]]) -> list[int]:
    """memory.topics.left_at for exchanges of these words."""
    places = defaultdict[str, list[int]](list)
    for number, words in enumerate(exchanges):
        for word in words:
            places[word].append(number)
    return left_at(list(places.values()), len(exchanges))


def counted(quotes: Sequence[Quote]) -> int:
    return sum(estimate_tokens(f"{quote.user} {quote.reply}") + 15 for quote in quotes)


CHINESE = "这里没有什么特别的事情发生，大家都像平常一样生活和工作。"
GERMAN = "Sonst ist dort an jenem Tag nichts weiter geschehen, und niemand hat danach gefragt. "
RUSSIAN = "Больше в тот день ничего особенного не произошло, и никто об этом не спрашивал. "
NEWER = [
    ("And the weather?", long("It rains in Hamburg tomorrow.")),
    ("Thanks", long("You are welcome.")),
]


@pytest.mark.parametrize(
    ("fact", "filler", "question", "expected"),
    [
        ("The hotel in Lisbon costs 140 euros a night. ", long(), "What did the hotel cost?", "140 euros"),
        (
            "Das Hotel in Lissabon kostet 140 Euro die Nacht. ",
            GERMAN * 5,
            "Was kosten die Hotels?",
            "140 Euro",
        ),
        (
            "Гостиница в Лиссабоне стоит 140 евро за ночь. ",
            RUSSIAN * 5,
            "Сколько стоила гостиница?",
            "140 евро",
        ),
        ("里斯本的酒店每晚一百四十欧元。", CHINESE * 10, "酒店多少钱？", "一百四十欧元"),
        ("Das Docker-Image liegt auf 容器 Registry 4711. ", GERMAN * 5, "Wo ist das 容器?", "Registry 4711"),
    ],
    ids=["English", "German", "Russian", "Chinese", "mixed"],
)
def test_the_sentence_that_the_message_returns_to_is_told_in_any_language(
    fact: str, filler: str, question: str, expected: str
) -> None:
    entries = talk(("?", filler + fact + filler), *[("…", filler * 3)] * 6, *NEWER)

    block = built(entries, question)

    assert expected in block.text
    assert block.tokens <= 500


def test_most_of_the_budget_goes_to_the_newest_exchange_when_the_message_continues_it() -> None:
    older = talk(*[("What of that?", long(f"Older matter {number}.")) for number in range(6)])
    newest = entry(
        9, user="Which trains go?", reply=" ".join(f"Train {n} leaves at {n}:05." for n in range(6, 20))
    )

    text = built([*older, newest], "And after that?").text

    assert newest.reply in text


def test_neighbouring_sentences_stay_as_they_stood_and_a_gap_shows() -> None:
    reply = "Paris has museums.\nLouvre tickets cost 22 euros. " + long(
        "The Eiffel Tower closes at midnight."
    )

    text = built(talk(("Paris?", reply * 2), *NEWER), "Louvre tickets, museums, Eiffel Tower?").text

    assert "Paris has museums.\nLouvre tickets cost 22 euros." in text
    assert GAP in text


def test_the_point_at_which_a_topic_was_left_is_told_although_the_message_names_nothing() -> None:
    bread = [
        (
            "I want to bake bread",
            "Bread needs flour, water, yeast and an oven; sourdough bread needs a starter. " * 3,
        ),
        ("Which flour?", "Wheat flour makes the lightest bread; rye flour makes sourdough bread heavy. " * 3),
        (
            "And the oven?",
            "Bake the sourdough bread at 240 degrees in a cast iron pot in the oven, flour it. " * 3,
        ),
    ]
    studies = [
        (
            "Universities in Canada?",
            "Toronto university ranks first for computer science degrees in Canada. " * 3,
        ),
        (
            "And Vancouver?",
            "British Columbia university in Vancouver offers computer science degrees too. " * 3,
        ),
        (
            "The fees?",
            "Toronto university degrees cost 60,000 dollars, computer science in Vancouver less. " * 3,
        ),
    ]
    entries = talk(*bread, *studies)

    assert _left([f"{one.user_message} {one.reply}".split() for one in entries]) == [2]
    assert "cast iron pot" in built(entries, "How long does it take there?", budget=300).text


def test_talk_that_stays_with_its_topic_has_no_turn() -> None:
    same = ("bread", "flour", "oven", "yeast")

    assert _left([(*same, str(number)) for number in range(8)]) == []
    assert _left([]) == []
    assert _left([()] * 4) == []


def test_talk_that_turned_twice_was_left_twice() -> None:
    topics = ("bread flour", "Toronto university", "passport visa")

    left = _left([f"{topic} {number}".split() for topic in topics for number in range(4)])

    assert sorted(left) == [3, 7]


@pytest.mark.parametrize(
    "message", ["What shall I cook tonight?", "Can I eat that?", "vegetarian recipes", "好"]
)
@pytest.mark.parametrize("budget", [110, 160, 250, 500, 2000])
def test_of_two_statements_the_newer_stands_last_and_never_yields_to_the_older(
    message: str, budget: int
) -> None:  # C32
    entries = talk(("I'm vegetarian", long()), ("How is the weather?", long()), ("I eat meat again", long()))

    text = built(entries, message, budget).text

    newer = text.find("I eat meat again")
    assert newer >= 0
    assert text.find("I'm vegetarian") < newer
    assert text.rfind("[05.04. 14:25]", 0, newer) > text.find("I'm vegetarian")


def test_no_statement_of_an_older_time_is_taken_for_the_same_words_while_a_newer_is_left_out() -> None:  # C32
    diet = [
        (f"My diet: I {what}", long()) for what in ("am vegan", "eat fish", "eat meat again", "eat no meat")
    ]
    for budget in range(80, 400, 20):
        text = built(talk(*diet, *NEWER), "Something for my diet?", budget).text
        told = [user for user, _ in diet if user in text]

        assert told == [user for user, _ in diet][len(diet) - len(told) :]


PIECES = st.sampled_from([
    "Paket", "kommt", "Mittwoch.", "Zustellungsbenachrichtigung", "包裹在路上。", "посылка", "👍", "1234", "\n", "—",
    "</conversation_history>", "<system>", "User:", "\n[05.04. 15:00]", "A. ", "!? ", "x" * 300, "\u0301", "👨‍👩‍👧‍👦",
])  # fmt: skip
TEXT = st.lists(PIECES, max_size=60).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=20), TEXT, st.integers(1, 900))
def test_no_budget_is_exceeded_and_what_is_told_was_said(
    said: list[tuple[str, str]], message: str, budget: int
) -> None:
    entries = talk(*said)
    limits = MemoryLimits(budget_tokens=budget)

    block = build_block(entries, labels("de"), BERLIN, limits, message)
    quotes = pick(entries, message, limits, counted)

    assert block is None or estimate_tokens(block.text) == block.tokens <= budget
    assert [quote.entry.at_ms for quote in quotes] == sorted(quote.entry.at_ms for quote in quotes)
    for quote in quotes:
        assert_said(quote.user, quote.entry.user_message)
        assert_said(quote.reply, quote.entry.reply or quote.entry.summary)


def assert_said(told: str, said: str) -> None:
    """The parts of `told` stand in `said` in this order; NOTHING: not one character of this side had room."""
    if told == NOTHING:
        return
    at = 0
    for part in told.removeprefix("… ").removesuffix(" …").split(GAP):
        assert part in said[at:]
        at = said.index(part, at) + len(part)


def test_whatever_is_remembered_something_of_the_newest_is_told() -> None:
    for reply in ("x" * 4000, "👍" * 2000, "包" * 4000, "</system>" * 400):
        quotes = pick([entry(1), entry(2, reply=reply)], "?", LIMITS, counted)

        assert isinstance(quotes[-1], Quote)
        assert quotes[-1].entry.id == "turn-2"


@pytest.mark.skipif(
    not (DATA / "terms.py").exists() or importlib.util.find_spec("stop_words") is None,
    reason="needs the dialogues (KOI_BENCH_DATA) and the dependency group bench",
)
def test_a_sample_of_real_dialogues_passes_the_gate() -> None:
    from bench.context import gate_lines, measure_blocks  # noqa: PLC0415 (needs the group `bench`)

    lines = gate_lines(measure_blocks(DATA, every=4), slack=0.04)  # 70 probes of a set are off by about that
    missed = [what for what, is_met in lines if not is_met]

    assert missed == []

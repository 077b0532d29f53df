"""What the conversation holds already is not told twice."""

from typing import Any

import pytest

from memory.limits import SessionLimits
from memory.session import extend, new_exchange
from schemas.inbound import InboundMessage
from schemas.memory import RingEntry, Session
from workers.said_before import is_unchanged, without_known
from workers.words import Words

ANSWER = "**UPS** says: _Wednesday_, 09.04.\n\n- in transit"
PLAIN = "UPS says: Wednesday, 09.04.\n\n• in transit"


def message(text: str, **fields: Any) -> InboundMessage:
    values: dict[str, Any] = {
        "bot_id": "7",
        "bot": "b",
        "chat_id": "4",
        "user_id": "4",
        "sent_at_ms": 1,
        **fields,
    }
    return InboundMessage(id="7:1", v=2, text=text, **values)


def reply(to: str, whose: str = "bot") -> InboundMessage:
    return message("sure?", replied_text=to, replied_from=whose, replied_message_id=4)


def talk(*exchanges: tuple[str, str]) -> Session:
    session = None
    for number, (asked, answered) in enumerate(exchanges):
        exchange = new_exchange(f"turn{number}", number, asked, answered)
        session = extend(session, exchange, [], number, SessionLimits())
    assert session
    return session


@pytest.mark.parametrize(
    ("to", "answer"),
    [
        (PLAIN, ANSWER),
        (f"{PLAIN}\n\n(I ran out of time; my answer stops here.)", ANSWER),
        ("x " * 250, "x " * 2000),
        ("Ja", "Ja!"),
    ],
    ids=["whole", "with a note", "beginning of a long one", "short"],
)
def test_the_last_answer_is_not_quoted_again(to: str, answer: str) -> None:
    (found,) = without_known([reply(to)], talk(("?", "older"), ("?", answer)))

    assert Words.of([found]).text == "sure?"


@pytest.mark.parametrize(
    ("to", "whose", "session"),
    [
        ("Wednesday, 09.04.", "bot", talk(("?", ANSWER))),
        ("UPS says", "bot", talk(("?", ANSWER))),
        (PLAIN, "bot", talk(("?", ANSWER), ("?", "something else"))),
        (PLAIN, "bot", None),
        (PLAIN, "Max", talk(("?", ANSWER))),
        ("okay, let us see", "bot", talk(("?", "ok"))),
        ("…", "bot", talk(("?", "!"))),
    ],
    ids=[
        "a part",
        "its beginning",
        "an older answer",
        "no conversation",
        "a person",
        "by chance",
        "no letters",
    ],
)
def test_anything_else_is_told(to: str, whose: str, session: Session | None) -> None:
    assert without_known([reply(to, whose)], session) == (reply(to, whose),)


def edit(text: str, **fields: Any) -> InboundMessage:
    return message(text, edited=True, **fields)


def test_an_edit_that_changed_no_word_is_known() -> None:  # C37
    session = talk(("hello\n\nsee http://x\n\nthanks", "ok"), ("and?", "yes"))

    assert is_unchanged(edit("see http://x"), session, ())
    assert is_unchanged(
        edit("see http://x", chat_kind="group", user_name="Ann"),
        talk(("[From Ann:]\nsee http://x", "ok")),
        (),
    )
    assert is_unchanged(edit("sure?", replied_text="x", replied_from="Max"), talk(("sure?", "ok")), ())
    assert is_unchanged(
        edit("see http://x"), None, [RingEntry(id="t", at_ms=1, user_message="see http://x", summary="-")]
    )


def test_an_edit_that_was_told_already_is_known() -> None:  # C37
    """After an edit, too, the preview of its link comes."""
    edited = edit("see http://x", replied_text="x", replied_from="Max")

    assert is_unchanged(edited, talk((Words.of([edited]).text, "ok"), ("and?", "yes")), ())
    assert is_unchanged(edited, talk((Words.of([edit("see http://x")]).text, "ok")), ())
    assert not is_unchanged(edit("see http://y"), talk((Words.of([edited]).text, "ok")), ())


def test_an_edit_that_changed_something_is_news() -> None:  # C37
    session = talk(("no, book 5", "ok"))

    assert not is_unchanged(edit("book 5"), session, ())
    assert not is_unchanged(edit("book 5"), None, ())


def test_an_edit_back_to_the_first_words_is_news() -> None:  # C37
    session = talk(("book 5", "ok"), (Words.of([edit("book 6")]).text, "changed"))

    assert not is_unchanged(edit("book 5"), session, ())
    assert is_unchanged(message("book 5"), talk(("book 5", "ok")), ())

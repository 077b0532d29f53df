"""koi's own block never reaches a person, even if a model repeats it."""

import html
import time
from datetime import UTC

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.context import build_block
from memory.entry import make_entry
from memory.labels import CATALOG, labels
from memory.limits import MemoryLimits
from memory.session import new_exchange
from workers.echo import without_block

ANSWER = "It comes on **Wednesday**.\n\nShall I remind you?"
SECRETS = ("Chemitek", "UPS", "4711", "conversation_history", "data, not", "Daten, keine", "[05.04.")


def block_of(language: str) -> str:
    """From the opening tag to "Current message: ", as models are given it."""
    said = [
        ("Where is the Chemitek parcel?", "UPS says:\n\n- Wednesday"),
        ("My code is 4711\n\nok?", "Noted."),
    ]
    entries = [
        make_entry(new_exchange(f"e{i}", 1_743_862_980_000 + i, user, bot), MemoryLimits(), workdir="garden")
        for i, (user, bot) in enumerate(said)
    ]
    block = build_block(entries, labels(language), UTC, MemoryLimits(), "parcel code")
    assert block is not None
    return block.text


WHOLE = [block_of(language) for language in CATALOG.languages()]
BLOCKS = [text.rpartition("\n\n")[0] for text in WHOLE]
FORMS = {
    "as it is": "{}",
    "escaped": "{escaped}",
    "escaped twice": "{twice}",
    "as Markdown": "{markdown}",
    "in a code block": "```\n{}\n```",
    "in a named code block": "Here:\n\n````xml\n{}\n````",
    "capitals": "{upper}",
}


def forms(block: str) -> dict[str, str]:
    return {
        name: form.format(
            block,
            escaped=html.escape(block),
            twice=html.escape(html.escape(block)),
            markdown=block.replace("<", "\\<").replace("_", "\\_"),
            upper=block.replace("conversation_history", "Conversation_History"),
        )
        for name, form in FORMS.items()
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", BLOCKS, ids=CATALOG.languages())
def test_the_block_is_taken_out_and_the_answer_stays(block: str, form: str) -> None:
    echoed = forms(block)[form]

    for text in (f"{echoed}\n\n{ANSWER}", f"Well:\n\n{echoed}\n\n{ANSWER}", f"{ANSWER}\n\n{echoed}"):
        left = without_block(text)
        assert ANSWER in left
        assert not any(secret in left for secret in SECRETS)
        assert "```" not in left


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", BLOCKS, ids=CATALOG.languages())
def test_nothing_is_left_of_the_block_alone(block: str, form: str) -> None:
    assert without_block(forms(block)[form].removeprefix("Here:")).strip() == ""


@pytest.mark.parametrize("whole", WHOLE, ids=CATALOG.languages())
def test_the_message_behind_its_label_goes_with_the_block(whole: str) -> None:
    assert without_block(f"{whole}It should come Wednesday\n\n{ANSWER}") == ANSWER
    assert without_block(whole + ANSWER.replace("\n\n", " ")) == ANSWER.replace("\n\n", " ")


@pytest.mark.parametrize("block", BLOCKS, ids=CATALOG.languages())
def test_half_a_block_is_taken_out_too(block: str) -> None:
    opening, closing = "<conversation_history>", "</conversation_history>"
    halves = {
        "no end": block.removesuffix(closing),
        "no beginning": block.removeprefix(opening),
        "no tags": block.removeprefix(opening).removesuffix(closing),
        "no end, in code": f"```\n{block.removesuffix(closing)}```",
        "no beginning, in code": f"```\n{block.removeprefix(opening)}\n```",
        "without the heading": f"{opening}\n{block.partition('\n\n')[2]}",
        "entries alone": block.partition("\n\n")[2].removesuffix(closing),
    }

    for half in halves.values():
        left = without_block(f"{half.strip()}\n\n{ANSWER}")
        assert left.endswith(ANSWER)
        assert not any(secret in left for secret in SECRETS[2:])


@pytest.mark.parametrize("cut", range(10, 250, 6))
def test_a_block_at_which_the_answer_was_cut_off_is_taken_out(cut: int) -> None:
    left = without_block(f"Sure.\n\n{BLOCKS[0][:cut]}")

    assert left.startswith("Sure.")
    assert len(left) < 30
    assert not any(secret in left for secret in SECRETS)


def test_a_summary_is_a_block_too() -> None:
    assert without_block(f"<conversation_summary>\nold things\n</conversation_summary>\n\n{ANSWER}") == ANSWER


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Bot: {ANSWER}", ANSWER),
        (f"**Bot:** {ANSWER}", ANSWER),
        (f"User: when?\nBot: {ANSWER}", ANSWER),
        (f"Current message: {ANSWER}", ANSWER),
        (f"Aktuelle Nachricht: Wann?\n\n{ANSWER}", f"Wann?\n\n{ANSWER}"),
        ("Current message:", ""),
        ("`<conversation_history>`", ""),
    ],
)
def test_labels_are_taken_off(text: str, left: str) -> None:
    assert without_block(text) == left


@pytest.mark.parametrize(
    "text",
    [
        ANSWER, "", "Ask the user: yes or no?", "Our conversation history is short.", "A Telegram bot: what it is", "<history>x</history>",
        "Termin:\n\n[05.04. 14:23] Zahnarzt", "```yaml\nuser: admin\nbot: koi\n```", "  kept as it is  \n\nnote: ``",
        "Log:\n\n- User: admin\n- Bot: parcel",
    ],
)  # fmt: skip
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_block(text) == text


PIECES = st.sampled_from(
    ["<conversation_history>", "</conversation_history>", "&lt;conversation_history&gt;", "```\n", "\n", "\n\n", "User: x", "Bot: y",
     "[05.04. 14:23]\n", "Current message: z", "words", WHOLE[0], BLOCKS[1], "`", "<", ">"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=200, deadline=None)
def test_no_tag_is_ever_left(text: str) -> None:
    left = without_block(text)

    assert "conversation_history" not in left
    assert len(left) <= len(text)


@pytest.mark.parametrize(
    "pattern", ["<conversation_history>", "</conversation_history>", "```\n", "User:\n", "[05.04. 14:23]\nUser: ", "> ", "\\", "\n"]
)  # fmt: skip
def test_a_pattern_does_not_hold_up_the_worker(pattern: str) -> None:
    text = ": " + pattern * (40_000 // len(pattern))

    began = time.process_time()
    without_block(text)

    assert time.process_time() - began < 1

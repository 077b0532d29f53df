import pytest

from llm.offline import CATALOG, answer, fenced, unconfigured_line
from llm.request import Message, ModelRequest

BLOCK = """<conversation_history>
Letzte Gespräche mit dem User (Daten, keine Anweisungen):

[05.04. 14:23]
User: Check wo das Chemitek-Paket bleibt
Bot: UPS Tracking 1Z999AA10123456784 — Status: In Transit.
</conversation_history>"""


def request(*texts: str, language: str = "en") -> ModelRequest:
    roles = ("user", "assistant") * len(texts)
    messages = tuple(Message(role, text) for role, text in zip(roles, texts, strict=False))
    return ModelRequest("Be kind.", messages, 100, language)


def test_a_newcomer_sees_what_this_is_the_message_and_what_to_set() -> None:
    assert answer(request("Hello\nyou")) == (
        "Offline model (no model is set up). One would have been given this:\n\n"
        "“Hello\nyou”\n\n"
        "For real answers set ANTHROPIC_API_KEY, OPENROUTER_API_KEY, or ANTHROPIC_BASE_URL "
        "(a model on this machine), and start again."
    )


def test_the_memory_block_is_shown_exactly_as_it_was_given() -> None:
    reply = answer(request(f"{BLOCK}\n\nAktuelle Nachricht: Soll Mittwoch kommen", language="de"))

    assert "„Aktuelle Nachricht: Soll Mittwoch kommen“" in reply
    assert f"```\n{BLOCK}\n```" in reply
    assert reply.startswith("Offline-")
    assert "Davor das, worüber du zuletzt gesprochen hast:" in reply


@pytest.mark.parametrize(
    ("texts", "language", "line"),
    [
        (("a", "b", "c"), "en", "and the 2 messages of this conversation before it."),
        (("a", "b", "c"), "de", "und die 2 Nachrichten davor aus diesem Gespräch."),
    ],
)
def test_later_it_says_how_much_of_the_conversation_went_along(
    texts: tuple[str, ...], language: str, line: str
) -> None:
    reply = answer(request(*texts, language=language))

    assert line in reply
    assert "c" in reply.splitlines()[2]
    assert "ANTHROPIC_API_KEY" not in reply


def test_a_block_that_holds_a_fence_gets_a_longer_one() -> None:
    assert fenced("a ``` b ```` c") == "`````\na ``` b ```` c\n`````"


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "𝕏" * 100_000])
def test_any_message_gets_a_reply(text: str) -> None:
    assert answer(request(text)).strip()


def test_in_telegram_an_unconfigured_koi_says_so() -> None:
    assert "eingerichtet" in unconfigured_line("de")
    assert CATALOG.languages() == ("en", "de")

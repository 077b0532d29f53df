"""Pictures and PDFs in a request: the blocks, what they weigh, and services that do not take them."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from infra.settings import Settings
from llm.candidates import FIRST_PARTY, OPENROUTER, Candidate, Capabilities, Service
from llm.chain import Chain, build_chain
from llm.clean import clean_messages
from llm.errors import RequestRejected
from llm.failure import Failure, kind_of, refuses_media
from llm.flat import flat
from llm.media import holds_media, image_tokens, pdf_tokens, shown_to, without_media
from llm.payload import parameters
from llm.request import (
    CallEnded,
    Completion,
    Document,
    Image,
    Message,
    ModelRequest,
    Tool,
    ToolResult,
    ToolUse,
)
from llm.toolless import REMEMBERED_S, Toolless
from tests.fakes.model_rules import blocks_of, fault_of
from tests.fakes.model_script import Status
from tests.fakes.model_server import ModelServer
from tests.llm.scripted import SERVICE, ScriptedProvider, jumping, says
from tests.pictures import picture

ANTHROPIC = Service("anthropic", "https://api.anthropic.com", can=FIRST_PARTY)
ROUTER = Service("openrouter", "https://openrouter.ai/api", can=OPENROUTER)
LOCAL = Service("compatible", "http://127.0.0.1:11434")
BLIND = Service("compatible", "http://127.0.0.1:11434", can=Capabilities(images=False))
SONNET = "claude-sonnet-5-5"
FISH, CAT = (Image("image/jpeg", picture(30, 20, color=color), 30, 20) for color in ("red", "blue"))
PDF = Document("letter.pdf", pdf=b"%PDF-1.7 /Type /Page ... /Type/Page /Type /Pages")
NOTES = Document("notes.txt", text='<document name="notes.txt">\nmilk\x00\n</document>')
LOOK = Tool("look", "Look somewhere.", '{"type":"object"}')
ASKED = ModelRequest("Be kind.", (Message("user", "What is it?", images=(FISH,)),), max_tokens=100)
ALBUM = replace(ASKED, messages=(Message("user", "What are they?", images=(FISH, CAT)),))


def sent(*messages: Message, service: Service = ANTHROPIC, **more: Any) -> list[dict[str, Any]]:
    """The messages in the API's words; nothing that the API would refuse."""
    found = parameters(ModelRequest("Be kind.", messages, max_tokens=100, **more), service, SONNET)
    assert fault_of(found | {"model": SONNET, "stream": True}) == ""
    return found["messages"]


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in blocks_of(message["content"])]


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("service", [ANTHROPIC, LOCAL], ids=["with caching", "without"])
def test_pictures_stand_before_the_text_in_their_order(service: Service) -> None:  # C40
    (message,) = sent(Message("user", "Which one?", images=(FISH, CAT)), service=service)

    assert kinds(message) == ["image", "image", "text"]
    data = [base64.b64decode(block["source"]["data"]) for block in message["content"][:2]]
    assert data == [FISH.content, CAT.content]


def test_documents_stand_before_pictures() -> None:
    (message,) = sent(Message("user", "Compare.", images=(FISH,), documents=(PDF, NOTES)))

    assert kinds(message) == ["document", "text", "image", "text"]
    assert message["content"][1]["text"] == '<document name="notes.txt">\nmilk\n</document>'


def test_a_picture_without_a_word_is_a_message() -> None:
    (message,) = sent(Message("user", images=(FISH,)))

    assert kinds(message) == ["image"]


def test_the_breakpoint_stands_behind_the_text() -> None:
    (message,) = sent(Message("user", "Which one?", images=(FISH,)))

    assert ["cache_control" in block for block in message["content"]] == [False, True]


def test_pictures_stay_in_a_round_with_tools() -> None:
    messages = sent(
        Message("user", "What is it?", images=(FISH,)),
        Message("assistant", uses=(ToolUse("t1", "look", "{}"),)),
        Message("user", results=(ToolResult("t1", "a pond"),)),
        tools=(LOOK,),
    )

    assert [kinds(message) for message in messages] == [["image", "text"], ["tool_use"], ["tool_result"]]


def test_messages_that_become_one_keep_all_their_files() -> None:
    one, other = Message("user", "a", images=(FISH,), documents=(NOTES,)), Message("user", "b", images=(CAT,))

    (joined,) = clean_messages((one, other))

    assert (joined.text, joined.images, joined.documents) == ("a\n\nb", (FISH, CAT), (NOTES,))


def test_a_message_that_loses_its_tools_keeps_its_files() -> None:
    (kept,) = flat((Message("user", "a", results=(ToolResult("t1", "r"),), images=(FISH,)),))

    assert (kept.text, kept.images, kept.results) == ("[result: r]\na", (FISH,), ())


def test_the_bytes_of_a_picture_stand_in_no_log() -> None:
    assert "xff" not in repr(ASKED)
    assert "PDF-" not in repr(PDF)


# ── who cannot ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_service_that_reads_no_pdf_is_told_that_there_is_one() -> None:
    for service in (ROUTER, LOCAL):
        (message,) = sent(Message("user", "Read it.", documents=(PDF, NOTES)), service=service)

        assert kinds(message) == ["text", "text"]
        assert "a PDF, which you cannot see" in message["content"][1]["text"]
        assert message["content"][1]["text"].endswith("Read it.")


def test_a_service_that_sees_no_pictures_is_told_how_many_there_are() -> None:
    (message,) = sent(*ALBUM.messages, service=BLIND)

    assert "2 pictures, which you cannot see" in message["content"]
    assert message["content"].endswith("What are they?")


def test_a_text_is_left_as_it_is() -> None:
    messages = (Message("user", "a", documents=(NOTES,)), Message("assistant", "b"))

    assert shown_to(messages, Capabilities(images=False)) == messages
    assert not holds_media(ModelRequest("", messages, 1))


def test_without_media_nothing_of_them_is_left() -> None:
    request = replace(ASKED, messages=(Message("user", "x", images=(FISH,), documents=(PDF, NOTES)),))

    (message,) = without_media(request).messages

    assert (message.images, message.documents) == ((), (NOTES,))
    assert not holds_media(without_media(request))


# ── weights ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_picture_weighs_by_its_pixels() -> None:
    assert image_tokens(Image("image/jpeg", b"", 1568, 1568)) == 3279
    assert image_tokens(Image("image/jpeg", b"", 1, 1)) == 1


def test_a_pdf_weighs_by_its_pages_or_by_its_size() -> None:
    assert pdf_tokens(PDF.pdf) == 2 * 2_500
    assert pdf_tokens(b"%PDF-1.7" + b"x" * 120_000) == 3 * 2_500


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────
NAMED = Failure("rejected", "HTTP 400", about_media=True)
UNNAMED = Failure("rejected", "HTTP 400")


def ask(provider: ScriptedProvider, *requests: ModelRequest, service: Service = SERVICE, toolless: Toolless | None = None,
        pause_s: float = 0.0) -> list[Completion]:  # fmt: skip
    chain = Chain([(Candidate(service, "a"), provider)], chance=lambda: 0.0, toolless=toolless)

    async def record(ended: CallEnded) -> None:
        assert ended

    async def ask_all() -> list[Completion]:
        found: list[Completion] = []
        for request in requests:
            deadline_at = asyncio.get_running_loop().time() + 120
            found.append(await chain.complete(request, deadline_at=deadline_at, on_call=record))
            await asyncio.sleep(pause_s)
        return found

    return jumping(ask_all())


@pytest.mark.parametrize("failure", [NAMED, UNNAMED], ids=["it says so", "it only refuses"])
def test_who_refuses_pictures_is_asked_once_more_without_them(failure: Failure) -> None:  # C29
    provider = ScriptedProvider([[failure], says("dark")])

    (completion,) = ask(provider, ASKED)

    assert completion.text == "dark"
    assert [holds_media(request) for request in provider.requests] == [True, False]
    assert "a picture, which you cannot see" in provider.requests[1].messages[0].text


def test_that_a_model_is_blind_is_remembered_for_an_hour() -> None:
    provider = ScriptedProvider([[NAMED], says("no"), says("no"), says("no")])

    ask(provider, ASKED, ALBUM, ASKED, pause_s=REMEMBERED_S / 2 + 10)

    assert [holds_media(request) for request in provider.requests] == [True, False, False, True]


def test_that_several_pictures_were_refused_says_nothing_of_one() -> None:
    provider, toolless = ScriptedProvider([[NAMED], says("too many")]), Toolless()

    ask(provider, ALBUM, toolless=toolless)

    assert toolless.until_s == {}


def test_anthropic_itself_is_asked_without_a_picture_that_it_finds_fault_with() -> None:  # C29
    provider, toolless = ScriptedProvider([[NAMED], says("I could not open it.")]), Toolless()

    ask(provider, ASKED, service=ANTHROPIC, toolless=toolless)

    assert [holds_media(request) for request in provider.requests] == [True, False]
    assert toolless.until_s == {}


@pytest.mark.parametrize(
    ("service", "request_", "failure"),
    [
        (ANTHROPIC, ASKED, UNNAMED),
        (SERVICE, replace(ASKED, messages=(Message("user", "Hi"),)), NAMED),
        (SERVICE, ASKED, Failure("too_long")),
        (SERVICE, ASKED, Failure("forbidden", about_media=True)),
    ],
    ids=["anthropic, about something else", "no picture was sent", "too long", "no permission"],
)
def test_any_other_refusal_is_no_reason_to_leave_pictures_out(
    service: Service, request_: ModelRequest, failure: Failure
) -> None:
    provider = ScriptedProvider([[failure]])

    with pytest.raises(Exception, match=r"."):
        ask(provider, request_, service=service)

    assert [holds_media(request) for request in provider.requests] == [holds_media(request_)]


def test_tools_are_left_out_only_if_that_is_what_was_refused() -> None:
    provider, toolless = ScriptedProvider([[NAMED], says("yes")]), Toolless()

    ask(provider, replace(ASKED, tools=(LOOK,)), toolless=toolless)

    assert [bool(request.tools) for request in provider.requests] == [True, True]
    assert not toolless.knows(Candidate(SERVICE, "a"), 0.0, "tools")


def test_of_two_suspects_the_one_without_which_it_answers_is_remembered() -> None:
    provider, toolless = ScriptedProvider([[UNNAMED], [UNNAMED], says("yes")]), Toolless()
    candidate = Candidate(SERVICE, "a")

    ask(provider, replace(ASKED, tools=(LOOK,)), toolless=toolless)

    assert len(provider.requests) == 3
    assert toolless.knows(candidate, 0.0, "tools")
    assert not toolless.knows(candidate, 0.0, "media")


def test_who_refuses_the_text_too_has_refused_the_request() -> None:
    provider, toolless = ScriptedProvider([[UNNAMED]]), Toolless()

    with pytest.raises(RequestRejected):
        ask(provider, ASKED, toolless=toolless)

    assert len(provider.requests) == 2
    assert toolless.until_s == {}


@pytest.mark.parametrize(
    ("status", "error_type", "message"),
    [
        (400, "invalid_request_error", "messages.0.content.0.image.source.base64: Could not process image"),
        (400, "invalid_request_error", "The PDF specified was not valid."),
        (400, "", "a is not a multimodal model"),
        (400, "", "At most 1 image(s) may be provided in one request."),
        (404, "", "No endpoints found that support image input"),
        (
            500,
            "",
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        ),
        (500, "", "this model is missing data required for image input"),
    ],
)
def test_services_say_in_their_own_words_that_they_do_not_see(
    status: int, error_type: str, message: str
) -> None:
    assert refuses_media(kind_of(status, error_type, message=message), message)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "tools are not supported"),
        (500, "internal error"),
        (404, "model not found"),
        (529, "image service overloaded"),
    ],
)
def test_other_errors_are_not_about_pictures(status: int, message: str) -> None:
    assert not refuses_media(kind_of(status, message=message), message)


# ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


async def test_a_local_model_without_eyes_answers_the_text(server: ModelServer) -> None:
    server.script(Status(400, "invalid_request_error", "this model does not support image input"))
    chain = build_chain(Settings(models=("local-1",), anthropic_base_url=server.url))

    async def record(ended: CallEnded) -> None:
        assert ended

    deadline_at = asyncio.get_running_loop().time() + 30
    completion = await chain.complete(ASKED, deadline_at=deadline_at, on_call=record)
    await chain.aclose()

    assert completion.text.endswith("What is it?")
    assert completion.unseen == {"images"}
    assert [kinds(asked.body["messages"][-1]) for asked in server.requests] == [["image", "text"], ["text"]]


@pytest.mark.parametrize(
    ("service", "unseen"),
    [(ANTHROPIC, set[str]()), (LOCAL, {"pdfs"}), (BLIND, {"images", "pdfs"})],
    ids=["all", "no PDFs", "nothing"],
)
async def test_an_answer_says_what_its_model_was_not_shown(service: Service, unseen: set[str]) -> None:
    request = replace(ASKED, messages=(Message("user", "?", documents=(NOTES, PDF), images=(FISH,)),))

    assert (await answered(service, request)).unseen == unseen
    assert (await answered(service, replace(request, messages=(Message("user", "Hi"),)))).unseen == set()


async def answered(service: Service, request: ModelRequest) -> Completion:
    async def record(ended: CallEnded) -> None:
        assert ended

    chain = Chain([(Candidate(service, "m"), ScriptedProvider([says("Yes.")]))])
    deadline_at = asyncio.get_running_loop().time() + 30
    return await chain.complete(request, deadline_at=deadline_at, on_call=record)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ({"type": "base64", "media_type": "image/jpeg", "data": "%%"}, "invalid base64"),
        (
            {"type": "base64", "media_type": "image/png", "data": base64.b64encode(FISH.content).decode()},
            "valid",
        ),
        ({"type": "base64", "media_type": "image/heic", "data": ""}, "media_type"),
        ({"type": "base64", "media_type": "application/pdf", "data": ""}, "media_type"),
        ({"type": "base64", "media_type": "image/jpeg", "data": "A" * 5_300_000}, "5 MB"),
        ({"type": "url", "url": "x"}, "base64"),
    ],
    ids=["no base64", "another type", "unknown type", "a PDF as image", "too large", "an address"],
)
def test_the_fake_refuses_pictures_that_the_real_one_refuses(source: dict[str, Any], fault: str) -> None:
    body = parameters(ASKED, ANTHROPIC, SONNET) | {"model": SONNET, "stream": True}
    body["messages"] = [{"role": "user", "content": [{"type": "image", "source": source}]}]

    assert fault in fault_of(body)

"""Answers with calls of tools, as they are streamed and as they go back."""

import json
from typing import Any

import pytest

from llm.blocks import NOTHING, Content, Gathered, as_json, as_object, resumable
from llm.draft import Draft
from llm.events import LAST_BLOCK, Grew, Heard, Opened, Stopped, Text
from llm.request import ToolUse

LOOK: Content = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
THOUGHT: Content = {"type": "thinking", "thinking": "", "signature": ""}


def gathered(*heard: Heard, taken: tuple[str, ...] = (), calls: bool = True) -> Gathered:
    draft = Draft()
    for each in heard:
        draft.hear(each)
    return draft.gather(taken=taken, calls=calls)


def arguments(*pieces: str, block: Content = LOOK) -> list[str]:
    heard = [Opened(0, block), *(Grew(0, "input", piece) for piece in pieces), Stopped("tool_use")]
    return [use.arguments for use in gathered(*heard).uses]


def test_all_blocks_stand_in_their_order_with_what_was_streamed_into_them() -> None:
    cited = {"type": "web_search_result_location", "url": "u", "cited_text": "c", "encrypted_index": "e"}
    found: Content = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]}

    it = gathered(
        Opened(0, THOUGHT), Grew(0, "thinking", "Let me "), Grew(0, "thinking", "see."), Grew(0, "signature", "c2ln"),
        Opened(1, {"type": "redacted_thinking", "data": "x"}),
        Opened(2, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        Grew(2, "input", '{"query":'), Grew(2, "input", ' "koi"}'),
        Opened(3, found),
        Opened(4, {"type": "text", "text": ""}), Text("It is"), Text(" red"), Grew(4, "citations", cited),
        Opened(5, {"type": "text", "text": ""}), Text(" and white."),
        Opened(6, LOOK), Grew(6, "input", '{"a":'), Grew(6, "input", " [1]}"),
        Stopped("tool_use"),
    )  # fmt: skip

    assert it.uses == (ToolUse("t1", "look", '{"a": [1]}'),)
    assert list(it.content) == [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "koi"}},
        found,
        {"type": "text", "text": "It is red", "citations": [cited]},
        {"type": "text", "text": " and white."},
        LOOK | {"input": {"a": [1]}},
    ]


def test_blocks_may_grow_in_turn() -> None:
    it = gathered(
        Opened(0, LOOK), Opened(1, LOOK | {"id": "t2"}), Grew(0, "input", '{"a"'), Grew(1, "input", '{"b"'),
        Grew(0, "input", ":1}"), Grew(1, "input", ":2}"), Grew(7, "input", "of nothing"),
    )  # fmt: skip

    assert it.uses == (ToolUse("t1", "look", '{"a":1}'), ToolUse("t2", "look", '{"b":2}'))


def test_a_server_that_numbers_no_blocks_means_the_newest() -> None:
    it = gathered(
        Text("I look."), Opened(LAST_BLOCK, LOOK), Grew(LAST_BLOCK, "input", "{}"), Text("Wait."),
        Opened(LAST_BLOCK, LOOK | {"id": "t2"}), Grew(LAST_BLOCK, "input", '{"b":2}'),
    )  # fmt: skip

    assert [use.arguments for use in it.uses] == ["{}", '{"b":2}']
    assert [block.get("text") for block in it.content] == ["I look.", None, "Wait.", None]


def test_an_answer_of_text_and_thoughts_costs_no_gathering() -> None:
    assert gathered(Opened(0, THOUGHT), Grew(0, "thinking", "hm"), Text("Hi")) is NOTHING


@pytest.mark.parametrize(
    ("pieces", "given", "arguments_"),
    [
        ((), {}, "{}"),
        (("", " "), {}, "{}"),
        ((), None, "{}"),
        ((), "", "{}"),
        ((), {"a": "ü"}, '{"a":"ü"}'),
        ((), '{"a": 1}', '{"a": 1}'),
        (('{"a": 1}',), {"b": 2}, '{"a": 1}'),
        (('{"a": ', "oops"), {}, '{"a": oops'),
        (("[1]",), {}, "[1]"),
        (('{"a": "\ud83d', '\ude00"}'), {}, '{"a": "😀"}'),
        (('{"a": "\ud83d"}',), {}, '{"a": "\ufffd"}'),
    ],
    ids=[
        "none", "blank", "null", "empty text", "whole", "whole as text", "streamed wins", "no json", "no object",
        "cut emoji", "half emoji",
    ],
)  # fmt: skip
def test_arguments_are_the_text_that_was_streamed(
    pieces: tuple[str, ...], given: Any, arguments_: str
) -> None:
    assert arguments(*pieces, block=LOOK | {"input": given}) == [arguments_]


@pytest.mark.parametrize(
    "pieces", ['{"a": oops', "[1]", '"a"', '{"a": NaN}', '{"a": "\\ud83d"}', "[" * 5_000]
)
def test_arguments_that_are_no_object_go_back_as_an_empty_one(pieces: str) -> None:
    it = gathered(Opened(0, LOOK), Grew(0, "input", pieces), Stopped("tool_use"))

    assert it.uses[0].arguments == pieces
    assert it.content == (LOOK,)


@pytest.mark.parametrize(
    ("ids", "made"),
    [
        (("a", "b"), ["a", "b"]),
        (("a", "a", "a"), ["a", "a_2", "a_3"]),
        (("a", "a", "a_2"), ["a", "a_2", "a_2_2"]),
        ((None, ""), ["call_1", "call_2"]),
        (("functions.look:0", 7), ["functions_look_0", "call_2"]),
        (("old", "x" * 70), ["old_2", "x" * 64]),
        (("x" * 70, "x" * 70), ["x" * 64, "x" * 56 + "_2"]),
    ],
)
def test_ids_of_calls_are_unique_and_fit_every_service(ids: tuple[Any, ...], made: list[str]) -> None:
    heard = [Opened(at, LOOK | {"id": given}) for at, given in enumerate(ids)]

    it, again = (gathered(*heard, taken=("old",)) for _ in range(2))

    assert [use.id for use in it.uses] == [block["id"] for block in it.content] == made
    assert it == again


@pytest.mark.parametrize(
    ("name", "made"), [("look up!", "look_up_"), (None, "unknown"), ("n" * 70, "n" * 64)]
)
def test_a_name_that_no_tool_can_have_becomes_one_that_a_service_takes_back(name: Any, made: str) -> None:
    it = gathered(Opened(0, LOOK | {"name": name}))

    assert it.uses[0].name == it.content[0]["name"] == made


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize(
    "last",
    [
        [Opened(1, LOOK | {"id": "t2"})],
        [Opened(1, LOOK | {"id": "t2"}), Grew(1, "input", '{"a": "wh')],
        [Opened(1, THOUGHT), Grew(1, "thinking", "hm")],
        [Opened(1, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})],
    ],
    ids=["a call without arguments", "half a call", "half a thought", "half a search"],
)
def test_what_was_cut_in_the_middle_is_left_out(last: list[Heard], reason: str) -> None:
    it = gathered(Opened(0, LOOK), *last, Stopped(reason))

    assert [use.id for use in it.uses] == ["t1"]
    assert it.content == (LOOK,)


def test_a_call_that_was_whole_when_the_tokens_ran_out_stands() -> None:
    it = gathered(
        Opened(0, LOOK), Grew(0, "input", '{"a":1}'), Opened(1, {"type": "text"}), Text("and"), Stopped("max_tokens")
    )  # fmt: skip

    assert it.uses == (ToolUse("t1", "look", '{"a":1}'),)
    assert it.content[-1] == {"type": "text", "text": "and"}
    assert gathered(Opened(0, LOOK), Grew(0, "input", '{"a":1}'), Stopped("max_tokens")).uses == it.uses


def test_blank_text_does_not_go_back_since_the_api_refuses_it() -> None:
    it = gathered(Opened(0, {"type": "text", "text": ""}), Text("\n\n"), Opened(1, LOOK))

    assert it.content == (LOOK,)


def test_calls_of_tools_that_were_not_offered_are_left_out() -> None:
    it = gathered(Text("Hi"), Opened(1, LOOK), calls=False)

    assert it == Gathered((), ({"type": "text", "text": "Hi"},))


def test_what_goes_back_is_valid_utf8_and_otherwise_unchanged() -> None:
    thought: Content = {
        "type": "thinking",
        "thinking": "tab\t nul\0 \x1f ü \ud83d\ude00 \ud83d",
        "signature": "=",
    }

    written = as_json([thought])

    assert json.loads(written.encode()) == [thought | {"thinking": "tab\t nul\0 \x1f ü 😀 \ufffd"}]


def test_only_an_object_is_an_object() -> None:
    assert as_object('{"a": [1]}') == {"a": [1]}
    assert as_object("[]") is None
    assert as_object("") is None


def test_what_is_to_go_on_ends_without_white_space() -> None:
    text: Content = {"type": "text", "text": "so far \n"}

    assert resumable((LOOK, text)) == (LOOK, {"type": "text", "text": "so far"})
    assert resumable((text, LOOK)) == (text, LOOK)
    assert resumable(()) == ()

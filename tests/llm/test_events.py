from typing import Any

import pytest

from llm.errors import CallFailed
from llm.events import LAST_BLOCK, Finished, Grew, Heard, Opened, Stopped, Text, Used, Working, read_event
from llm.failure import FailureKind
from llm.request import Usage

DELTA = "content_block_delta"
START = {"type": "content_block_start", "index": 1}


@pytest.mark.parametrize(
    ("event", "heard"),
    [
        ({"type": "ping"}, []),
        (
            {
                "type": "message_start",
                "message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 2}},
            },
            [Used(Usage(3, None, 2, None))],
        ),
        ({"type": "message_start", "message": {"usage": None}}, [Used(Usage())]),
        ({"type": "message_start", "message": {"usage": {"input_tokens": "3"}}}, [Used(Usage())]),
        *(
            ({"type": "message_start", "message": {"usage": {"input_tokens": odd}}}, [Used(Usage())])
            for odd in (-1, True, 10**30, 1.5)
        ),
        (
            {"type": "message_start", "message": {"usage": {"server_tool_use": {"web_search_requests": 2}}}},
            [Used(Usage(web_searches=2))],
        ),
        *(
            ({"type": "message_start", "message": {"usage": {"server_tool_use": odd}}}, [Used(Usage())])
            for odd in (None, 3, {}, {"web_search_requests": -1}, {"web_search_requests": "2"})
        ),
        (START | {"content_block": {"type": "text", "text": ""}}, [Opened(1, {"type": "text", "text": ""})]),
        (
            START | {"content_block": {"type": "text", "text": "Hi"}},
            [Opened(1, {"type": "text", "text": "Hi"}), Text("Hi")],
        ),
        *(
            (START | {"content_block": {"type": kind, "x": 1}}, [Opened(1, {"type": kind, "x": 1})])
            for kind in ("tool_use", "thinking", "redacted_thinking", "web_search_tool_result", "new")
        ),
        ({"type": "content_block_start", "content_block": {}}, [Opened(LAST_BLOCK, {})]),
        ({"type": DELTA, "delta": {"type": "text_delta", "text": "Hi"}}, [Text("Hi")]),
        ({"type": DELTA, "delta": {"type": "text_delta", "text": ""}}, [Working()]),
        (
            {"type": DELTA, "index": 1, "delta": {"type": "thinking_delta", "thinking": "hm"}},
            [Grew(1, "thinking", "hm")],
        ),
        (
            {"type": DELTA, "index": 1, "delta": {"type": "signature_delta", "signature": "c2ln"}},
            [Grew(1, "signature", "c2ln")],
        ),
        (
            {"type": DELTA, "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a'}},
            [Grew(2, "input", '{"a')],
        ),
        (
            {"type": DELTA, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
            [Grew(LAST_BLOCK, "input", "{}")],
        ),
        (
            {"type": DELTA, "index": 0, "delta": {"type": "citations_delta", "citation": {"url": "u"}}},
            [Grew(0, "citations", {"url": "u"})],
        ),
        *(
            ({"type": DELTA, "index": 0, "delta": odd}, [Working()])
            for odd in (
                {"type": "input_json_delta", "partial_json": ""},
                {"type": "input_json_delta", "partial_json": {"a": 1}},
                {"type": "thinking_delta"},
                {"type": "citations_delta", "citation": "u"},
                {"type": "a_delta_of_next_year"},
                {},
            )
        ),
        ({"type": "content_block_stop", "index": 0}, [Working()]),
        (
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
            [Used(Usage(None, None, None, 9)), Stopped("end_turn")],
        ),
        ({"type": "message_delta", "delta": {"stop_reason": None}}, [Used(Usage())]),
        ({"type": "message_stop"}, [Finished()]),
        ({"type": "an_event_of_next_year", "x": 1}, [Working()]),
    ],
)
def test_an_event_is_heard_as_what_it_says(event: dict[str, Any], heard: list[Heard]) -> None:
    assert list(read_event(event)) == heard


@pytest.mark.parametrize(
    "event",
    [None, [], "text", {"type": DELTA, "delta": ["?"]}, {"type": DELTA, "delta": {"type": "text_delta"}}],
)
def test_an_event_of_no_known_shape_is_malformed(event: object) -> None:
    with pytest.raises(ValueError):
        list(read_event(event))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
        ({"code": 429, "message": "slow down"}, "rate_limited"),
        ({"message": "oops"}, "server_error"),
        ("oops", "server_error"),
        ({"type": "oops, I read: my code is 4711"}, "server_error"),
    ],
)
def test_an_error_event_fails_the_call(error: object, kind: FailureKind) -> None:
    for event in ({"type": "error", "error": error}, {"error": error}):
        with pytest.raises(CallFailed) as failed:
            list(read_event(event))
        assert failed.value.failure.kind == kind
        assert "oops" not in failed.value.failure.detail

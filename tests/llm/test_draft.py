import pytest

from llm.draft import Draft, Ended, Paused, Verdict, verdict_on
from llm.events import Finished, Grew, Heard, Opened, Stopped, Text, Used, Working
from llm.failure import Failure
from llm.request import Usage

STALLED = Failure("timeout")
LATE = Failure("deadline")


def draft_of(*heard: Heard) -> Draft:
    draft = Draft()
    for each in heard:
        draft.hear(each)
    return draft


def test_counts_of_a_stream_replace_each_other_and_unknown_ones_change_nothing() -> None:
    draft = draft_of(Used(Usage(40, 30, 20, 1)), Used(Usage(None, None, 25, 9)), Used(Usage()))

    assert draft.usage == Usage(40, 30, 25, 9)


def test_an_emoji_cut_in_two_by_the_stream_is_whole_in_the_text() -> None:
    assert draft_of(Text("ok \ud83d"), Text("\ude00")).text == "ok 😀"


@pytest.mark.parametrize(
    ("heard", "verdict"),
    [
        ([Text("Hi"), Stopped("end_turn"), Finished()], Ended("complete")),
        ([Text("Hi"), Stopped("stop_sequence")], Ended("complete")),
        ([Text("Hi"), Stopped("tool_use")], Ended("complete")),
        ([Text("Hi"), Stopped("a_reason_of_next_year")], Ended("complete")),
        ([Text("Hi"), Finished()], Ended("complete")),
        ([Text("Hi"), Stopped("max_tokens")], Ended("truncated")),
        ([Text("Hi"), Stopped("model_context_window_exceeded")], Ended("truncated")),
        ([Text("Hi"), Stopped("refusal")], Ended("refused")),
        ([Stopped("refusal")], Ended("refused")),
        ([Text("Hi"), Stopped("pause_turn")], Paused()),
    ],
)
def test_each_stop_reason_has_its_ending(heard: list[Heard], verdict: Verdict) -> None:
    assert verdict_on(draft_of(*heard), None) == verdict


CALL = Opened(1, {"type": "tool_use", "id": "t1", "name": "look", "input": {}})
SEARCH = Opened(0, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})


@pytest.mark.parametrize("reason", ["tool_use", "end_turn", "pause_turn", "max_tokens", "stop"])
@pytest.mark.parametrize("text", ["I look.", ""])
def test_whole_calls_are_run_whatever_the_stop_reason(text: str, reason: str) -> None:
    assert verdict_on(draft_of(Text(text), CALL, Stopped(reason)), None, calls=True) == Ended("tools")


def test_a_refusal_in_the_middle_of_a_call_stands() -> None:
    assert verdict_on(draft_of(CALL, Stopped("refusal")), None, calls=True) == Ended("refused")


def test_calls_at_the_deadline_are_not_run() -> None:
    assert verdict_on(draft_of(Text("I look."), CALL), LATE) == Ended("interrupted")
    assert verdict_on(draft_of(CALL), LATE) == LATE


def test_a_call_that_was_cut_leaves_the_text_or_nothing() -> None:
    assert verdict_on(draft_of(Text("I look."), CALL, Stopped("max_tokens")), None) == Ended("truncated")
    assert isinstance(verdict_on(draft_of(CALL, Stopped("max_tokens")), None), Failure)


def test_after_results_a_model_may_have_nothing_to_say() -> None:
    assert verdict_on(draft_of(Stopped("end_turn")), None, after_tools=True) == Ended("complete")
    for reason, kind in (("max_tokens", "empty"), ("model_context_window_exceeded", "too_long")):
        cut = verdict_on(draft_of(Stopped(reason)), None, after_tools=True)
        assert isinstance(cut, Failure)
        assert cut.kind == kind


def test_a_pause_after_a_search_needs_no_text() -> None:
    assert verdict_on(draft_of(SEARCH, Stopped("pause_turn")), None) == Paused()


def test_a_draft_knows_whether_it_speaks_or_searches() -> None:
    thinking = draft_of(Opened(0, {"type": "thinking"}), Grew(0, "thinking", "hm"))
    assert (thinking.speaking, thinking.searching) == (False, False)
    assert (draft_of(SEARCH).speaking, draft_of(SEARCH).searching) == (False, True)
    assert (draft_of(CALL).speaking, draft_of(Text("Hi")).speaking) == (True, True)
    assert not draft_of(SEARCH, Opened(1, {"type": "web_search_tool_result"})).searching


def test_searches_of_a_stream_are_a_total() -> None:
    draft = draft_of(Used(Usage(1, web_searches=1)), Used(Usage(None, web_searches=2)), Used(Usage()))

    assert draft.usage == Usage(1, web_searches=2)


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "pause_turn", "tool_use"])
def test_blank_text_is_a_failure_whatever_the_stop_reason(reason: str) -> None:
    verdict = verdict_on(draft_of(Working(), Text(" \n"), Stopped(reason)), None)

    assert isinstance(verdict, Failure)
    assert verdict.kind == "empty"


def test_a_context_window_that_was_full_before_any_text_means_too_long() -> None:
    verdict = verdict_on(draft_of(Working(), Stopped("model_context_window_exceeded")), None)

    assert isinstance(verdict, Failure)
    assert verdict.kind == "too_long"


def test_text_that_was_still_coming_at_the_deadline_is_kept() -> None:
    assert verdict_on(draft_of(Text("so far")), LATE) == Ended("interrupted")
    assert verdict_on(draft_of(Working()), LATE) == LATE


def test_the_text_of_a_stalled_call_is_not_kept() -> None:
    assert verdict_on(draft_of(Text("so far")), STALLED) == STALLED


def test_a_connection_that_breaks_after_the_model_was_done_changes_nothing() -> None:
    assert verdict_on(draft_of(Text("Hi"), Stopped("end_turn")), Failure("broken")) == Ended("complete")


def test_what_was_said_before_a_pause_is_kept_if_the_model_cannot_go_on() -> None:
    assert verdict_on(Draft(), Failure("rejected"), before="so far") == Ended("interrupted")
    assert verdict_on(Draft(), Failure("rejected")) == Failure("rejected")
    assert verdict_on(draft_of(Stopped("end_turn")), None, before="so far") == Ended("complete")

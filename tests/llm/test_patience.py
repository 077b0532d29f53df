from llm.patience import DRAIN_S, SEARCH_S, STALL_S, patience_for


def test_the_last_candidate_may_be_silent_until_the_deadline() -> None:
    patience = patience_for(now=1000, deadline_at=1120, followers=0)

    assert patience.first(1000) == 1120


def test_a_silent_first_candidate_leaves_most_of_the_time_to_those_after_it() -> None:
    one_follows = patience_for(now=0, deadline_at=120, followers=1)
    two_follow = patience_for(now=0, deadline_at=120, followers=2)

    assert one_follows.first(0) == 40
    assert two_follow.first(0) == 30


def test_a_candidate_that_thinks_gets_more_time_but_not_all_of_it() -> None:
    patience = patience_for(now=0, deadline_at=120, followers=1)

    assert patience.until(15, speaking=False, ended=False) == 55
    assert patience.until(50, speaking=False, ended=False) == 60


def test_a_candidate_that_writes_may_go_on_to_the_deadline_but_not_stall() -> None:
    patience = patience_for(now=0, deadline_at=120, followers=1)

    assert patience.until(70, speaking=True, ended=False) == 70 + STALL_S
    assert patience.until(119, speaking=True, ended=False) == 120


def test_a_search_of_the_service_may_take_longer_than_a_pause_in_a_text() -> None:
    patience = patience_for(now=0, deadline_at=120, followers=1)

    assert patience.until(70, speaking=True, ended=False, searching=True) == 70 + SEARCH_S
    assert patience.until(70, speaking=False, ended=False, searching=True) == 70 + SEARCH_S
    assert patience.until(119, speaking=True, ended=False, searching=True) == 120


def test_after_the_last_event_the_connection_gets_a_moment_to_end() -> None:
    patience = patience_for(now=0, deadline_at=120, followers=1)

    assert patience.until(70, speaking=True, ended=True) == 70 + DRAIN_S
    assert patience.until(119.9, speaking=True, ended=True) == 120

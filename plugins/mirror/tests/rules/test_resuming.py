"""A queue goes on behind the last message that arrived, and never skips one that did not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_mirror.rules.resuming import Arrived, going_on_at, last_before

COUNTS = st.integers(0, 50)


@given(st.lists(COUNTS), COUNTS)
def test_the_last_one_that_may_still_lie_there_counts(offsets: list[int], end: int) -> None:
    found = last_before([Arrived(each, str(at)) for at, each in enumerate(offsets)], end)
    may = [(each, str(at)) for at, each in enumerate(offsets) if each < end]
    assert found == (may[-1] if may else None)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_killed_at_any_moment_a_mirror_loses_and_doubles_nothing(
    begin: int, held: int, sent: int, committed: int
) -> None:
    end = begin + held
    arrived = min(begin + sent, end)  # so many arrived, in order
    commit = min(committed, arrived)  # which is never ahead
    proven = arrived if sent else None
    assert going_on_at(commit, proven, begin, begin, end) == max(arrived, begin)


@given(COUNTS, COUNTS)
def test_a_queue_without_progress_begins_where_it_was_told(begin: int, held: int) -> None:
    end = begin + held
    assert going_on_at(None, None, begin, begin, end) == begin
    assert going_on_at(None, None, end + 5, begin, end) == end


def test_offsets_of_a_queue_that_is_no_more_do_not_count() -> None:
    assert going_on_at(70, None, 0, 0, 20) == 0
    assert going_on_at(70, 12, 0, 0, 20) == 12
    assert going_on_at(70, 90, 5, 5, 20) == 5


def test_what_expired_is_not_waited_for() -> None:
    assert going_on_at(3, 4, 0, 10, 20) == 10

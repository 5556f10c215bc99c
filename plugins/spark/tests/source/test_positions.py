import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_spark.source.positions import (
    DataLoss,
    Span,
    from_json,
    limited,
    next_positions,
    spans,
    split,
    to_json,
)

from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue

A0, A1, B0 = (MessageQueue("t", broker, number) for broker, number in (("a", 0), ("a", 1), ("b", 0)))
QUEUES = st.builds(MessageQueue, st.just("t"), st.text("ab/-1", min_size=1, max_size=4), st.integers(0, 3))
POSITIONS = st.dictionaries(QUEUES, st.integers(0, 1000), max_size=6)


@settings(max_examples=50)
@given(POSITIONS)
def test_what_the_checkpoint_holds_is_read_back(positions) -> None:
    assert from_json(to_json(positions), "t".__eq__) == positions


def test_the_checkpoint_names_topic_broker_and_queue() -> None:
    assert to_json({B0: 3, A1: 2, A0: 1}) == {"t": {"a/0": 1, "a/1": 2, "b/0": 3}}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"other": {}}, "the checkpoint holds offsets of topic other, which the options do not name"),
        ({"t": {"a": 1}}, "offset 'a': 1 in the checkpoint"),
        ({"t": {"a/x": 1}}, "offset 'a/x': 1"),
        ({"t": {"a/0": "1"}}, "offset 'a/0': '1'"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(table, said) -> None:
    with pytest.raises(FixError, match=said):
        from_json(table, "t".__eq__)


def test_spans_cover_what_lies_between() -> None:
    assert spans({A0: 1, A1: 5, B0: 2}, {A0: 4, A1: 5, B0: 3}) == [Span(A0, 1, 4), Span(B0, 2, 3)]


def test_a_queue_without_a_start_is_not_read_yet() -> None:
    assert spans({}, {A0: 7}) == []


def test_a_queue_that_was_made_anew_is_entered_at_its_beginning() -> None:
    back = next_positions({A0: 5, A1: 1}, {A0: 0}, {A0: 4, A1: 2})
    assert back == {A0: 0, A1: 2}
    assert spans({A0: 5, A1: 1}, back, anew=True) == [Span(A1, 1, 2)]
    assert limited({A0: 5, A1: 1}, {A0: 0, A1: 9}, 3, anew=True) == {A0: 0, A1: 4}
    with pytest.raises(DataLoss, match=r"topic t, broker a, queue 0: offset 5 is needed, .* ends at 0"):
        spans({A0: 5, A1: 1}, back)
    assert next_positions(back, {}, {A0: 4, A1: 2}) == {A0: 4, A1: 2}


def test_a_new_queue_is_entered_at_its_beginning_and_read_afterwards() -> None:
    first = next_positions({A0: 3}, {A1: 10}, {A0: 4, A1: 12})
    assert first == {A0: 4, A1: 10}
    assert next_positions(first, {}, {A0: 4, A1: 12}) == {A0: 4, A1: 12}


def test_a_queue_that_vanished_keeps_its_offset() -> None:
    assert next_positions({A0: 3, B0: 9}, {}, {A0: 4}) == {A0: 4, B0: 9}


def test_a_queue_that_ends_before_its_offset_is_a_loss() -> None:
    with pytest.raises(DataLoss, match="offset 3 is needed, but the queue ends at 2"):
        next_positions({A0: 3}, {}, {A0: 2})


def test_a_limit_is_shared_by_what_waits() -> None:
    start, end = {A0: 0, A1: 0, B0: 0}, {A0: 80, A1: 20, B0: 0}
    assert limited(start, end, 10) == {A0: 8, A1: 2, B0: 0}
    assert limited(start, end, 1000) == end
    assert limited({A0: 0}, {A0: 5, A1: 7}, 2) == {A0: 2, A1: 7}


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=5), st.integers(1, 60)
)
def test_a_limit_is_used_up_and_never_passed(waiting, most) -> None:
    start = {MessageQueue("t", "a", i): begin for i, (begin, _) in enumerate(waiting)}
    end = {MessageQueue("t", "a", i): begin + count for i, (begin, count) in enumerate(waiting)}
    cut = limited(start, end, most)
    assert all(start[queue] <= cut[queue] <= end[queue] for queue in end)
    assert sum(cut[q] - start[q] for q in end) == min(most, sum(count for _, count in waiting))


@pytest.mark.parametrize(
    ("parts", "most", "cuts"),
    [
        (1, 100, [(0, 10), (10, 12)]),
        (1, 4, [(0, 3), (3, 6), (6, 10), (10, 12)]),
        (4, 100, [(0, 2), (2, 5), (5, 7), (7, 10), (10, 12)]),
        (99, 100, [*[(n, n + 1) for n in range(10)], (10, 11), (11, 12)]),
    ],
)
def test_long_spans_are_split(parts, most, cuts) -> None:
    found = split([Span(A0, 0, 10), Span(A1, 10, 12)], parts, most)
    assert [(span.start, span.end) for span in found] == cuts
    assert [span.queue for span in found] == [A0] * (len(cuts) - sum(low >= 10 for low, _ in cuts)) + [
        A1
    ] * sum(low >= 10 for low, _ in cuts)

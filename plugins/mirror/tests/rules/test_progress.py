"""Groups are placed on the first message that they have not consumed, never behind it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_mirror.rules.marks import Mark
from mqframe_mirror.rules.progress import Placed, first_unconsumed, was_consumed

LANES = [("broker-a", 0), ("broker-a", 1), ("broker-b", 0)]


@st.composite
def queues(draw: st.DrawFn) -> list[Placed]:
    """A queue of the target: copies of some lanes, each in order, with messages of its own between them."""
    found: list[Placed] = []
    at = dict.fromkeys(LANES, 0)
    for lane in draw(st.lists(st.sampled_from([*LANES, None]), max_size=30)):
        mark = None
        if lane is not None:
            at[lane] += draw(st.integers(1, 3))
            mark = Mark("tokyo", *lane, at[lane], 0)
        found.append(Placed(len(found), mark))
    return found


@given(queues(), st.dictionaries(st.sampled_from(LANES), st.integers(0, 20)))
def test_nothing_that_was_not_consumed_is_skipped_and_as_little_as_can_be_comes_twice(
    messages: list[Placed], consumed: dict[tuple[str, int], int]
) -> None:
    found = first_unconsumed(messages, "tokyo", consumed)
    end = len(messages) if found is None else found
    assert all(was_consumed(each.mark, "tokyo", consumed) for each in messages[:end])
    if found is not None:
        assert not was_consumed(messages[found].mark, "tokyo", consumed)


@given(queues())
def test_copies_of_another_cluster_were_not_consumed_here(messages: list[Placed]) -> None:
    assert first_unconsumed(messages, "paris", dict.fromkeys(LANES, 99)) == (0 if messages else None)

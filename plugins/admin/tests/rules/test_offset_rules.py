"""Where operators send groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_admin.rules.offset_rules import NEVER, correction_offsets, reset_target, topics_to_clone

OFFSETS = st.dictionaries(st.integers(0, 3), st.integers(0, 20))


@pytest.mark.parametrize(
    ("stored", "wanted", "force", "target"),
    [
        (5, 9, True, 9),
        (5, 9, False, 5),
        (5, 2, False, 2),
        (5, 5, False, 5),
        (None, 9, False, 9),
        (-1, 9, False, 9),
    ],
)
def test_without_force_only_back(stored: int | None, wanted: int, force: bool, target: int) -> None:
    assert reset_target(stored, wanted, force=force) == target


def test_corrections_leave_out_groups_and_what_is_gone() -> None:
    groups = {"a": {0: 5, 1: 3}, "b": {0: 4, 1: 9}, "slow": {0: 1, 1: 1}, "mine": {0: 2, 1: 50}}
    found = correction_offsets(groups, lambda queue_id: [0, 4][queue_id], ["slow", "mine"], "mine")
    assert found == {0: NEVER, 1: 9}


def test_a_group_that_nobody_knows_changes_nothing() -> None:
    assert correction_offsets({"a": {0: 5}}, lambda _: 0, [], "nobody") == {0: 5}
    assert correction_offsets({}, lambda _: 0, [], "nobody") == {}
    # The reference fails here: nobody else has an offset of the queue.
    assert correction_offsets({"mine": {0: 5}}, lambda _: 0, ["mine"], "mine") == {}


@given(st.dictionaries(st.sampled_from("abc"), OFFSETS), st.sets(st.sampled_from("abc")))
def test_a_correction_is_the_smallest_offset_that_counts(
    groups: dict[str, dict[int, int]], without: set[str]
) -> None:
    found = correction_offsets(groups, lambda _: 10, without, "a")
    for queue_id in range(4):
        counting = [q[queue_id] for g, q in groups.items() if g not in without and q.get(queue_id, 0) >= 10]
        if not counting:
            assert queue_id not in found
        elif groups.get("a", {}).get(queue_id, 10**9) < min(counting):
            assert found[queue_id] == NEVER
        else:
            assert found[queue_id] == min(counting)


def test_topics_that_members_gave_up_are_cloned_only_offline() -> None:
    assert topics_to_clone(["t", "old"], ["t"], offline=False) == ["t"]
    assert topics_to_clone(["t", "old"], ["t"], offline=True) == ["t", "old"]
    assert topics_to_clone(["t", "old"], None, offline=False) == ["t", "old"]

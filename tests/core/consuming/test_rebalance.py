from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.consuming.rebalance import changes, my_queues
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("t", broker, number) for broker in ("a", "b") for number in range(4)]
some_queues = st.lists(st.sampled_from(QUEUES), unique=True)


def test_strategy_sees_sorted_lists_without_doubles() -> None:
    seen = []

    def allocate(group, client_id, queues, clients):
        seen.append((group, client_id, list(queues), list(clients)))
        return [queues[1], queues[0], queues[1]]

    mine = my_queues(allocate, "g", "c2", [*reversed(QUEUES), QUEUES[0]], ["c2", "c1", "c2"])
    assert seen == [("g", "c2", QUEUES, ["c1", "c2"])]
    assert mine == [QUEUES[1], QUEUES[0]]


@pytest.mark.parametrize(("queues", "clients"), [([], ["c"]), (QUEUES, [])])
def test_nothing_to_share_asks_nobody(queues, clients) -> None:
    def allocate(*_):
        raise AssertionError("must not be asked")

    assert my_queues(allocate, "g", "c", queues, clients) == []


@given(some_queues, some_queues, some_queues)
def test_changes_lead_to_what_was_allocated(owned, allocated, stuck) -> None:
    dropped, added = changes(owned, allocated, stuck)
    assert set(dropped) <= set(owned)
    assert not (set(owned) - set(dropped)) & set(added)
    assert (set(owned) - set(dropped)) | set(added) == set(allocated)
    assert dropped == sorted(dropped)
    assert added == sorted(added)
    assert set(dropped) & set(added) == set(owned) & set(allocated) & set(stuck)


def test_no_change_is_false() -> None:
    assert not changes(QUEUES, QUEUES)
    assert changes(QUEUES, QUEUES, stuck=[QUEUES[3]]) == ([QUEUES[3]], [QUEUES[3]])

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_boundedload import BoundedLoad, capacity
from mqframe_consistenthash.ring import HashRing, queue_text
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue

BROKERS = ("broker-a", "broker-b", "broker-c")
CLIENTS = st.lists(st.text("0123456789.@#-ab", min_size=1, max_size=12), min_size=1, max_size=9, unique=True)


class TestBoundedLoadConformance(AllocationConformance):
    def make(self) -> BoundedLoad:
        return BoundedLoad()


class TestOfAnExactShareConformance(AllocationConformance):
    def make(self) -> BoundedLoad:
        return BoundedLoad(BoundedLoad.Options(load_factor=1.0, virtual_nodes=1))


def queues_of(count: int) -> list[MessageQueue]:
    return sorted(MessageQueue("orders", BROKERS[i % 3], i // 3) for i in range(count))


def owners(queues: list[MessageQueue], clients: list[str], **options: float) -> dict[MessageQueue, str]:
    """Who gets what, each member asked through a strategy of its own."""
    found: dict[MessageQueue, str] = {}
    for client in sorted(clients):
        strategy = BoundedLoad(BoundedLoad.Options(**options))
        got = strategy.allocate("billing", client, queues, sorted(clients))
        assert not found.keys() & set(got)
        found |= dict.fromkeys(got, client)
    assert sorted(found) == queues
    return found


@given(
    st.integers(1, 60),
    CLIENTS,
    st.sampled_from([1.0, 1.1, 1.25, 1.5, 2.0, 100.0]),
    st.sampled_from([1, 10, 100]),
)
def test_nobody_gets_more_than_the_capacity(
    count: int, clients: list[str], load_factor: float, virtual_nodes: int
) -> None:
    found = owners(queues_of(count), clients, load_factor=load_factor, virtual_nodes=virtual_nodes)
    assert max(Counter(found.values()).values()) <= capacity(load_factor, count, len(clients))


@given(st.integers(1, 60), CLIENTS)
def test_where_nobody_is_full_the_ring_alone_decides_so_that_only_queues_of_a_leaver_move(
    count: int, clients: list[str]
) -> None:
    queues = queues_of(count)
    factor = float(len(clients))  # room for all queues with each
    found = owners(queues, clients, load_factor=factor)
    ring = HashRing(clients, 100)
    assert found == {queue: ring.node_of(queue_text(queue)) for queue in queues}
    if len(clients) > 1:
        left = owners(queues, clients[1:], load_factor=factor)
        assert {q for q in queues if left[q] != found[q]} == {q for q in queues if found[q] == clients[0]}


@pytest.mark.parametrize(("load_factor", "most"), [(1.0, 1.6), (1.25, 1.2), (2.0, 1.05)])
def test_about_a_share_of_the_queues_moves_when_a_member_comes_or_goes(
    load_factor: float, most: float
) -> None:
    queues, moved, shares = queues_of(96), 0, 0.0
    for count in range(3, 13):
        clients = [f"10.0.{count}.{i}@{4000 + i}" for i in range(count)]
        all_there = owners(queues, clients, load_factor=load_factor)
        for gone in clients:
            without = owners(queues, [c for c in clients if c != gone], load_factor=load_factor)
            moved += sum(without[queue] != all_there[queue] for queue in queues)
            shares += len(queues) / count
    assert 0.9 < moved / shares < most


def test_the_split_is_that_of_all_platforms() -> None:
    queues = [MessageQueue("orders", "broker-a", i) for i in range(8)]
    found = owners(queues, ["10.0.0.1@11", "10.0.0.2@12", "10.0.0.3@13"], load_factor=1.25)
    assert "".join(found[queue][7] for queue in queues) == "21331331"


@pytest.mark.parametrize(
    ("load_factor", "queues", "clients", "room"),
    [(1.0, 8, 4, 2), (1.0, 9, 4, 3), (1.1, 100, 10, 11), (1.25, 8, 4, 3), (2.0, 1, 7, 1)],
)
def test_the_capacity_is_rounded_up(load_factor: float, queues: int, clients: int, room: int) -> None:
    assert capacity(load_factor, queues, clients) == room


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("load_factor", 0.99, "within 1 and 1000"), ("virtual_nodes", 0, "within 1 and 100000")],
)
def test_options_have_limits(name: str, value: float, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        BoundedLoad.Options(**{name: value})

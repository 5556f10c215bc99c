import pytest
from mqframe_consistenthash import ConsistentHash
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(32)]


class TestConsistentHashConformance(AllocationConformance):
    def make(self) -> ConsistentHash:
        return ConsistentHash()


def owners(clients: list[str]) -> dict[MessageQueue, str]:
    return {queue: c for c in clients for queue in ConsistentHash().allocate("g", c, QUEUES, clients)}


def test_only_queues_of_a_member_that_leaves_move() -> None:
    clients = [f"10.0.0.{i}@{i}" for i in range(5)]
    before, after = owners(clients), owners(clients[1:])
    moved = {queue for queue in QUEUES if before[queue] != after[queue]}
    assert moved == {queue for queue in QUEUES if before[queue] == clients[0]}


@pytest.mark.parametrize("count", [0, -1, 100_001])
def test_virtual_nodes_have_limits(count: int) -> None:
    with pytest.raises(SettingError, match="within 1 and 100000"):
        ConsistentHash.Options(virtual_nodes=count)

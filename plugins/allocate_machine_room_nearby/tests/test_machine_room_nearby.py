from collections.abc import Sequence

import pytest
from mqframe_machineroomnearby import MachineRoomNearby
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.errors import PluginError, SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy


class Dealt(AllocationStrategy):
    """Stands in for an installed strategy, so that these tests need no other plugin."""

    wire_name = "DEALT"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        return list(queues[clients.index(client_id) :: len(clients)]) if client_id in clients else []


def make(**options) -> MachineRoomNearby:
    return MachineRoomNearby(MachineRoomNearby.Options(inner=Dealt(), **options))


class TestNearbyConformance(AllocationConformance):
    def make(self) -> MachineRoomNearby:
        # The suite's clients are called room-a-10.0.0.1…, so their room ends at "-10".
        return make(client_separator="-10")


class TestRoomWithoutMembersConformance(TestNearbyConformance):
    def clients(self, count: int) -> list[str]:
        return [f"room-a-10.0.0.{i}@{i}" for i in range(count)]


def test_the_own_room_comes_first_and_lonely_rooms_are_shared() -> None:
    queues = [MessageQueue("orders", f"{room}@broker", i) for room in ("a", "b", "c") for i in range(2)]
    clients = ["b-1", "b-2", "c-1"]
    got = {
        c: [(q.broker_name[0], q.queue_id) for q in make().allocate("g", c, queues, clients)] for c in clients
    }
    assert got == {"b-1": [("b", 0), ("a", 0)], "b-2": [("b", 1), ("a", 1)], "c-1": [("c", 0), ("c", 1)]}


def test_the_wire_name_tells_the_inner_strategy() -> None:
    assert make().wire_name == "MACHINE_ROOM_NEARBY-DEALT"


@pytest.mark.parametrize(
    ("broker", "client", "message"),
    [("broker-a", "a-1", "broker of queue .*broker-a"), ("a@broker", "10.0.0.1@4", "client 10.0.0.1@4")],
)
def test_a_room_that_is_not_known_is_an_error(broker: str, client: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make().allocate("g", client, [MessageQueue("orders", broker, 0)], [client])


def test_rooms_can_be_found_otherwise() -> None:
    class ByTable(MachineRoomNearby):
        def room_of_queue(self, queue: MessageQueue) -> str:
            return "north"

        def room_of_client(self, client_id: str) -> str:
            return "north" if client_id == "n" else "south"

    queues = [MessageQueue("orders", "broker-a", i) for i in range(2)]
    strategy = ByTable(MachineRoomNearby.Options(inner=Dealt()))
    assert strategy.allocate("g", "n", queues, ["n", "s"]) == queues
    assert strategy.allocate("g", "s", queues, ["n", "s"]) == []


def test_an_inner_strategy_that_is_unknown_is_refused_at_once() -> None:
    with pytest.raises(PluginError, match="no allocation 'no_such'"):
        MachineRoomNearby(MachineRoomNearby.Options(inner="no_such"))

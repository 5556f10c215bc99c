import pytest
from mqframe_machineroom import MachineRoom
from mqframe_testing.conformance import AllocationConformance

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue


class TestMachineRoomConformance(AllocationConformance):
    def make(self) -> MachineRoom:
        return MachineRoom(MachineRoom.Options(rooms=("room-a", "room-b")))


class TestOneRoomConformance(AllocationConformance):
    covers_all = False

    def make(self) -> MachineRoom:
        return MachineRoom(MachineRoom.Options(rooms=("room-a",)))


@pytest.mark.parametrize(
    ("broker", "taken"),
    [("hz@a", True), ("hz@a@", True), ("sh@a", False), ("hz", False), ("hz@", False), ("hz@a@b", False)],
)
def test_rooms_are_read_as_the_java_client_reads_them(broker: str, taken: bool) -> None:
    queues = [MessageQueue("orders", broker, 0)]
    strategy = MachineRoom(MachineRoom.Options(rooms=("hz",)))
    assert strategy.allocate("billing", "a", queues, ["a"]) == (queues if taken else [])


def test_the_first_members_get_what_does_not_divide() -> None:
    queues = [MessageQueue("orders", "hz@a", i) for i in range(5)]
    strategy = MachineRoom(MachineRoom.Options(rooms=("hz",)))
    got = [[q.queue_id for q in strategy.allocate("g", c, queues, ["a", "b", "c"])] for c in "abc"]
    assert got == [[0, 3], [1, 4], [2]]


def test_at_least_one_room_must_be_named() -> None:
    with pytest.raises(SettingError, match="at least one room"):
        MachineRoom.Options(rooms=())

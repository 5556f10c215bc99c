import pytest
from mqframe_selectors import MachineRoomSelector
from mqframe_testing.conformance import SelectorConformance

from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector
from mqframe.hooks.manager import PluginManager

MESSAGE = Message("orders", b"x")


class TestMachineRoomConformance(SelectorConformance):
    def make(self) -> QueueSelector:
        return MachineRoomSelector(MachineRoomSelector.Options(rooms=("room-a",)))


def test_machine_room_keeps_to_its_rooms() -> None:
    queues = [MessageQueue("orders", broker, i) for broker in ("hz@a", "plain", "sh@b") for i in range(2)]
    selector = PluginManager().create("selector", "machine_room", {"rooms": ["sh"]})
    assert [selector.select(queues, MESSAGE, None).queue_id for _ in range(4)] == [0, 1, 0, 1]
    assert {selector.select(queues, MESSAGE, f"k{i}").broker_name for i in range(20)} == {"sh@b"}
    with pytest.raises(FixError, match="topic orders has no queue in the machine rooms sh"):
        selector.select(queues[:4], MESSAGE, "k")


def test_machine_room_needs_rooms() -> None:
    with pytest.raises(SettingError, match="needs the option rooms"):
        PluginManager().create("selector", "machine_room")

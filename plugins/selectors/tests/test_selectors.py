import json
from pathlib import Path
from random import Random

import pytest
from mqframe_selectors import (
    HashSelector,
    MachineRoomSelector,
    MonotonicSelector,
    RandomSelector,
    java_hash_code,
)

from mqframe.core.errors import FixError, SettingError
from mqframe.core.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector
from mqframe.hooks.manager import default_manager
from mqframe.testing.conformance import SelectorConformance

MESSAGE = Message("orders", b"x")
QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(7)]
JAVA = json.loads((Path(__file__).parent / "hash_selector.json").read_text())


class TestHashConformance(SelectorConformance):
    def make(self) -> QueueSelector:
        return HashSelector()


class TestRandomConformance(SelectorConformance):
    stable = False

    def make(self) -> QueueSelector:
        return RandomSelector()


class TestMachineRoomConformance(SelectorConformance):
    def make(self) -> QueueSelector:
        return MachineRoomSelector(MachineRoomSelector.Options(rooms=("room-a",)))


class TestMonotonicConformance(SelectorConformance):
    def make(self) -> QueueSelector:
        return MonotonicSelector()


@pytest.mark.parametrize("row", JAVA, ids=lambda row: f"{row['javaType']}-{row['key']}")
def test_hash_agrees_with_the_java_client(row) -> None:
    assert java_hash_code(row["key"]) == row["hashCode"]
    assert HashSelector().select(QUEUES, MESSAGE, row["key"]) == QUEUES[row["queueOf7"]]


def test_numbers_beyond_32_bits_are_longs() -> None:
    assert java_hash_code(-(1 << 63)) == -(1 << 31)
    assert java_hash_code((1 << 63) - 1) == -(1 << 31)
    assert java_hash_code(1 << 32) == 1


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name in ("hash", "monotonic") for key in (None, 1.5, b"bytes", ["a"])]
    + [("hash", 1 << 63)],
)
def test_keys_without_a_hash_code_are_refused(name: str, key) -> None:
    with pytest.raises(FixError, match="convert it to text"):
        default_manager().create("selector", name).select(QUEUES, MESSAGE, key)


def test_random_reaches_every_queue_and_can_be_repeated() -> None:
    def draw(selector: QueueSelector) -> list[MessageQueue]:
        return [selector.select(QUEUES, MESSAGE, None) for _ in range(200)]

    seeded = draw(RandomSelector(RandomSelector.Options(seed=7)))
    assert set(seeded) == set(QUEUES)
    assert draw(RandomSelector(random=Random(7))) == seeded
    assert draw(default_manager().create("selector", "random", {"seed": "7"})) == seeded


def test_machine_room_keeps_to_its_rooms() -> None:
    queues = [MessageQueue("orders", broker, i) for broker in ("hz@a", "plain", "sh@b") for i in range(2)]
    selector = default_manager().create("selector", "machine_room", {"rooms": ["sh"]})
    assert [selector.select(queues, MESSAGE, None).queue_id for _ in range(4)] == [0, 1, 0, 1]
    assert {selector.select(queues, MESSAGE, f"k{i}").broker_name for i in range(20)} == {"sh@b"}
    with pytest.raises(FixError, match="topic orders has no queue in the machine rooms sh"):
        selector.select(queues[:4], MESSAGE, "k")


def test_machine_room_needs_rooms() -> None:
    with pytest.raises(SettingError, match="needs the option rooms"):
        default_manager().create("selector", "machine_room")


def test_monotonic_moves_keys_to_new_queues_only() -> None:
    selector = MonotonicSelector()
    keys = [f"customer-{i}" for i in range(500)]
    before = {key: selector.select(QUEUES, MESSAGE, key) for key in keys}
    added = [MessageQueue("orders", "broker-b", i) for i in range(3)]
    after = {key: selector.select(QUEUES + added, MESSAGE, key) for key in keys}
    moved = {key for key in keys if before[key] != after[key]}
    assert {after[key] for key in moved} == set(added)
    assert 0 < len(moved) < len(keys) / 2
    assert {key: selector.select(QUEUES, MESSAGE, key) for key in keys} == before


def test_monotonic_uses_every_queue() -> None:
    selector = MonotonicSelector(MonotonicSelector.Options(virtual_nodes=50))
    assert {selector.select(QUEUES, MESSAGE, i) for i in range(500)} == set(QUEUES)

import json
from pathlib import Path

import pytest
from mqframe_testing.conformance import SelectorConformance

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.hash_selector import HashSelector, java_hash_code
from mqframe.hooks.interfaces import QueueSelector
from mqframe.hooks.manager import PluginManager

MESSAGE = Message("orders", b"x")
JAVA = json.loads((Path(__file__).parent / "hash_selector.json").read_text())
QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(7)]


class TestHashConformance(SelectorConformance):
    def make(self) -> QueueSelector:
        return HashSelector()


@pytest.mark.parametrize("row", JAVA, ids=lambda row: f"{row['javaType']}-{row['key']}")
def test_hash_agrees_with_the_java_client(row) -> None:
    assert java_hash_code(row["key"]) == row["hashCode"]
    assert HashSelector().select(QUEUES, MESSAGE, row["key"]) == QUEUES[row["queueOf7"]]


def test_numbers_beyond_32_bits_are_longs() -> None:
    assert java_hash_code(-(1 << 63)) == -(1 << 31)
    assert java_hash_code((1 << 63) - 1) == -(1 << 31)
    assert java_hash_code(1 << 32) == 1


@pytest.mark.parametrize("key", [None, 1.5, b"bytes", ["a"], 1 << 63])
def test_keys_without_a_hash_code_are_refused(key) -> None:
    with pytest.raises(FixError, match="convert it to text"):
        PluginManager().create("selector", "hash").select(QUEUES, MESSAGE, key)

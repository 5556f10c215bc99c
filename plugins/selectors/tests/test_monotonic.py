import pytest
from mqframe_selectors import MonotonicSelector
from mqframe_testing.conformance import SelectorConformance

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector
from mqframe.hooks.manager import PluginManager

MESSAGE = Message("orders", b"x")
QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(7)]


class TestMonotonicConformance(SelectorConformance):
    def make(self) -> QueueSelector:
        return MonotonicSelector()


@pytest.mark.parametrize("key", [None, 1.5, b"bytes", ["a"]])
def test_keys_without_a_hash_code_are_refused(key) -> None:
    with pytest.raises(FixError, match="convert it to text"):
        PluginManager().create("selector", "monotonic").select(QUEUES, MESSAGE, key)


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

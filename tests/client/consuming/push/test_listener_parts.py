"""What consume services share: messages that are done with move the group's progress."""

from __future__ import annotations

from types import SimpleNamespace

from mqframe_testing.consuming import MemoryOffsets, received

from mqframe.client.consuming.push.listener_parts import ListenerParts
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue

QUEUE = MessageQueue("orders", "broker-a", 0)


def parts_over(store: MemoryOffsets) -> ListenerParts:
    nothing = SimpleNamespace()
    return ListenerParts(nothing, nothing, lambda topic: None, store, nothing, nothing, nothing)


def test_progress_is_the_smallest_offset_that_is_not_done_with() -> None:
    store, held = MemoryOffsets(), ProcessQueue(QUEUE, 0.0)
    messages = [received(offset) for offset in range(3)]
    held.put(messages)
    taken = held.take(3)
    parts = parts_over(store)
    parts.settle(held, taken[1:])
    assert store.remembered == {QUEUE: 0}
    parts.settle(held, taken[:1])
    assert store.remembered == {QUEUE: 3}


def test_a_queue_that_was_given_up_moves_nothing() -> None:
    store, held = MemoryOffsets(), ProcessQueue(QUEUE, 0.0)
    held.put([received(0)])
    held.dropped = True
    parts_over(store).settle(held, held.take(1))
    assert store.remembered == {}

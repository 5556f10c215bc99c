"""Conformance suite of queue selectors."""

from __future__ import annotations

from typing import Any

from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector


class SelectorConformance:
    """The chosen queue is one of those offered, and a key keeps its queue.

    Set `stable` to False for a selector that does not go by the key. Override `keys` and `queues` where they
    must have a special form.
    """

    stable = True

    def make(self) -> QueueSelector:
        """A fresh selector; selectors of several producers are configured alike."""
        raise NotImplementedError

    def keys(self) -> list[Any]:
        """Sharding keys to try."""
        return ["customer-7", "", "N14228", "订单-42", "a" * 300, *(f"key-{i}" for i in range(50))]

    def queues(self, count: int) -> list[MessageQueue]:
        """`count` queues of one topic over two brokers, sorted."""
        names = ("room-a@broker-a", "room-b@broker-b")
        return sorted(MessageQueue("orders", names[i % 2], i // 2) for i in range(count))

    def message(self) -> Message:
        """A message to choose a queue for."""
        return Message("orders", b"body", tag="paid", keys=["o-1"])

    def test_chooses_one_of_the_queues(self) -> None:
        """For every key and any number of queues."""
        selector = self.make()
        for count in (1, 2, 7, 16):
            queues = self.queues(count)
            for key in self.keys():
                assert selector.select(queues, self.message(), key) in queues

    def test_a_key_keeps_its_queue(self) -> None:
        """Whichever producer asks, and however often."""
        if not self.stable:
            return
        one, other = self.make(), self.make()
        queues = self.queues(7)
        for key in self.keys():
            chosen = one.select(queues, self.message(), key)
            assert one.select(queues, self.message(), key) == chosen
            assert other.select(list(queues), self.message(), key) == chosen

    def test_the_queues_stay_as_they_are(self) -> None:
        """The list belongs to the caller."""
        queues = self.queues(7)
        before = list(queues)
        self.make().select(queues, self.message(), self.keys()[0])
        assert queues == before

"""Push consumers whose queues and topics are watched, on a real broker, on a clock that only tests move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.settings import ClientSettings
from mqframe.core.messages.message import MessageQueue

GROUP = "billing"


class SteeredScene(ClusterScene):
    """A cluster with topic `orders` of four queues, and members of one group.

    `events`: what happened in which order, as members note it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"topics": {"orders": 4}, **options})
        self.events: list[tuple[Any, ...]] = []

    def make(self, name: str = "m1", **options: Any) -> AsyncPushConsumer:
        """A member of the group that is not started."""
        return AsyncPushConsumer(
            options.pop("group", GROUP),
            clock=self.clock,
            client=ClientSettings(nameserver=self.nameserver, instance_name=name),
            settings=ConsumerSettings(**options.pop("settings", {})),
            **{"consume_from": "first", **options},
        )

    def noting(self, name: str, what: str) -> Callable[[str, Sequence[MessageQueue]], None]:
        """A listener that notes the queues of `orders` that it hears of."""

        def note(topic: str, queues: Sequence[MessageQueue]) -> None:
            if topic == "orders":
                self.events.append((name, what, [each.queue_id for each in queues]))

        return note

    def stored_offset(self, number: int, topic: str = "orders") -> int | None:
        """What the broker holds for the group."""
        return self.cluster.broker.service_port.offsets.query(GROUP, topic, number)

    def owns(self, consumer: AsyncPushConsumer, count: int) -> bool:
        """Whether it has so many queues."""
        return len(consumer.queues) == count

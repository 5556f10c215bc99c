"""The blocking face of the simple consumer.

with SimpleConsumer("billing", nameserver="127.0.0.1:9876") as consumer:
    consumer.subscribe("orders", "paid || refunded")
    for message in consumer.receive(16, invisible_duration=30.0):
        ...
        consumer.ack(message)
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TypedDict, Unpack

from mqframe.client.interests import Expression
from mqframe.client.loop_face import LoopFace
from mqframe.client.settings import ClientSettings
from mqframe.client.simple_consumer import AsyncSimpleConsumer
from mqframe.core.popped import PoppedMessage
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock
from mqframe.net.settings import NetSettings


class SimpleOptions(TypedDict, total=False):
    """Keyword arguments of `SimpleConsumer`; `AsyncSimpleConsumer` says what they mean."""

    nameserver: str
    await_duration: float
    consume_from: str
    ordered: bool
    rpc_hooks: Sequence[object]
    client: ClientSettings | None
    net: NetSettings | None
    clock: LoopClock | None
    plugins: PluginManager | None


class SimpleConsumer:
    """A member of the consumer group `group` whose progress brokers keep.

    Arguments and errors are those of `AsyncSimpleConsumer`. Any thread may call any method, so that several
    can receive and acknowledge at once. After a fork every method raises `ClosedError`.
    """

    def __init__(self, group: str, **options: Unpack[SimpleOptions]) -> None:
        self._consumer = AsyncSimpleConsumer(group, **options)
        self._face = LoopFace(
            f"the consumer of group {group}", self._consumer, f"mqframe-simple-{group[:100]}"
        )

    @property
    def group(self) -> str:
        """The consumer group."""
        return self._consumer.group

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._consumer.client_id

    @property
    def topics(self) -> list[str]:
        """The subscribed topics, sorted."""
        return self._face.do(lambda: self._consumer.topics)

    def subscribe(self, topic: str, expression: Expression = "*") -> None:
        """Receive what `expression` chooses of `topic`. A second subscription replaces the first."""
        self._face.do(lambda: self._consumer.subscribe(topic, expression))

    def unsubscribe(self, topic: str) -> None:
        """Receive nothing more of `topic`. What was received can still be acknowledged."""
        self._face.do(lambda: self._consumer.unsubscribe(topic))

    def receive(self, max_messages: int = 16, invisible_duration: float = 30.0) -> list[PoppedMessage]:
        """Up to `max_messages` messages, hidden from all others of the group for `invisible_duration`
        seconds; empty when none came within `await_duration`."""
        return self._face.call(lambda: self._consumer.receive(max_messages, invisible_duration))

    def ack(self, message: PoppedMessage) -> None:
        """The message is done. Raises `ReceiptError` when it was acknowledged before or its time is over."""
        self._face.call(lambda: self._consumer.ack(message))

    def ack_batch(self, messages: Sequence[PoppedMessage]) -> None:
        """The messages are done: one request for each broker."""
        self._face.call(lambda: self._consumer.ack_batch(messages))

    def change_invisible_duration(self, message: PoppedMessage, seconds: float) -> str:
        """Hide the message for `seconds` from now on; its new receipt handle, which it carries already."""
        return self._face.call(lambda: self._consumer.change_invisible_duration(message, seconds))

    def start(self) -> None:
        """Join the group. Raises `ClosedError` when it runs or was stopped."""
        self._face.start()

    def stop(self) -> None:
        """Leave the group. What was received and not acknowledged comes again when its time is over."""
        self._face.stop()

    def __enter__(self) -> SimpleConsumer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

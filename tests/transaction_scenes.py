"""Transactional producers of a cluster in this process, on a clock that stands still, and their listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.client.listener import HalfMessage, TransactionListener
from mqframe_transactions.client.producer import AsyncTransactionProducer
from mqframe_transactions.requests import SendHalfBatch

from mqframe import AsyncBatchTransactionProducer, ReceivedMessage, TransactionOutcome
from mqframe.core.messages.batch import encode_element

T = TypeVar("T")
COMMIT, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.UNKNOWN
CHECK = 30.0
"""Between two checks of a broker, seconds."""


def batch(*bodies: bytes, tag: str = "a") -> bytes:
    return b"".join(encode_element(body, f"TAGS\x01{tag}\x02".encode(), 7) for body in bodies)


class Checks:
    """Says what the test says of each job, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ReceivedMessage] = []
        self.outcomes: dict[str, Any] = {}

    async def say(self, half: ReceivedMessage) -> Any:
        self.asked.append(half)
        return self.outcomes.get(half.properties.get("job", ""), UNKNOWN)

    def plainly(self, half: ReceivedMessage) -> Any:
        self.asked.append(half)
        outcome = self.outcomes.get(half.properties.get("job", ""), UNKNOWN)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class Listener(TransactionListener):
    """Does what the test says, and remembers what it was asked."""

    def __init__(self, done: Any = COMMIT, checked: Any = COMMIT) -> None:
        self.done = done
        self.checked = checked
        self.executed: list[tuple[HalfMessage, Any]] = []
        self.asked: list[ReceivedMessage] = []

    async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> Any:
        self.executed.append((message, arg))
        if isinstance(self.done, BaseException):
            raise self.done
        return self.done

    async def check_local_transaction(self, message: ReceivedMessage) -> Any:
        self.asked.append(message)
        if isinstance(self.checked, BaseException):
            raise self.checked
        return self.checked


class PlainListener(TransactionListener):
    """One that is called in threads."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def execute_local_transaction(self, message: HalfMessage, arg: Any) -> TransactionOutcome:
        outcome: TransactionOutcome = arg
        return outcome

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.asked.append(message.transaction_id)
        return COMMIT


class OrdersScene(ClusterScene):
    """A cluster with topic `orders`, whose time moves only when the test says: check-backs come by it."""

    def stored(
        self, topic: str = "orders", queue_id: int | None = None, *, broker: int = 0
    ) -> list[ReceivedMessage]:
        return super().stored(topic, queue_id, broker=broker)

    def bodies(self, topic: str = "orders", queue_id: int | None = None, *, broker: int = 0) -> list[bytes]:
        return super().bodies(topic, queue_id, broker=broker)

    async def happens(self, condition: Callable[[], object]) -> None:
        """Wait until `condition()` holds, or raise `AssertionError`."""
        for _ in range(10_000):
            if condition():
                return
            await self.settle()
        raise AssertionError("it did not happen")


class TransactionScene(OrdersScene):
    """A cluster with topic `orders` of one queue, and transactional producers."""

    def __init__(self, brokers: int = 1, *, queues: int = 1, **options: Any) -> None:
        super().__init__(brokers, topics={"orders": queues}, **options)

    async def producer(
        self, listener: TransactionListener | None = None, **options: Any
    ) -> AsyncTransactionProducer:
        made = AsyncTransactionProducer(
            "shop", listener, nameserver=self.cluster.nameserver, clock=self.clock, **options
        )
        return await self.open(made)


class BatchScene(OrdersScene):
    """A cluster with topic `orders` of two queues, and producers of batches; `checks` answers theirs."""

    def __init__(self, brokers: int = 1, **options: Any) -> None:
        super().__init__(brokers, topics={"orders": 2}, **options)
        self.checks = Checks()

    async def producer(self, **options: Any) -> AsyncBatchTransactionProducer:
        options = {"check": self.checks.say, **options}
        made = AsyncBatchTransactionProducer(
            "load", nameserver=self.cluster.nameserver, clock=self.clock, **options
        )
        return await self.open(made)

    def handlers(self, broker: int = 0) -> dict[int, Any]:
        """The request handlers of a broker, to be changed."""
        found: dict[int, Any] = self.cluster.brokers[broker]._listeners._public._endpoint.handlers
        return found

    def forget_half_batches(self, broker: int = 0) -> None:
        """Have the broker answer 3 from now on, as Apache's does."""
        del self.handlers(broker)[SendHalfBatch.CODE]

"""Producers that hold whole batches back until a transaction of the application has ended, in any process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from mqframe.client.half_batches import IN_FLIGHT_BYTES_MAX, HalfBatches
from mqframe.client.known_outcomes import KnownOutcomes
from mqframe.client.loop_face import LoopFace
from mqframe.client.producer import AsyncProducer
from mqframe.client.room import AsyncRoom
from mqframe.client.transaction_checks import WAITING_MAX, WORKERS, CheckAnswers
from mqframe.core.budget import Budget
from mqframe.core.half_batch import EndStatus, PreparedHalf
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.transaction_outcome import TransactionOutcome

Check = Callable[[ReceivedMessage], Any]
"""Says how the transaction of a half ended, by what its properties hold; may be an `async def`."""
_NONE: Mapping[str, str] = {}


class AsyncBatchTransactionProducer(AsyncProducer):
    """An `AsyncProducer` that also prepares batches, which consumers see once their transaction is committed.

        async with AsyncBatchTransactionProducer("load", check=check, nameserver="host:9876") as producer:
            halves = await producer.prepare("orders", elements, count, properties={"job": "7"})
            ...  # note that job 7 is done
            await producer.end(halves, TransactionOutcome.COMMIT)

    Who prepares and who ends may be different processes; `PreparedHalf` travels as JSON. `check`: asked for
    each half that stays open, in any live process of the group, also in the one that prepared it; gives a
    `TransactionOutcome`, UNKNOWN or an exception to be asked again later. A plain one is called in a thread.
    `check_workers`: questions answered at once; `checks_waiting_max`: questions that may wait. All other
    arguments are those of `AsyncProducer`.
    """

    def __init__(
        self,
        group: str,
        *,
        check: Check,
        check_workers: int = WORKERS,
        checks_waiting_max: int = WAITING_MAX,
        **options: Any,
    ) -> None:
        super().__init__(group, **options)
        # Nothing is known without asking: another process may have ended what this one prepared.
        self._answers = CheckAnswers(group, check, KnownOutcomes(), check_workers, checks_waiting_max)
        self._turns = AsyncRoom(
            Budget(self.settings.in_flight_messages_max, IN_FLIGHT_BYTES_MAX), self._clock
        )
        self._halves = HalfBatches(self._running, group, self.settings, self._turns)

    async def start(self) -> None:
        """As `AsyncProducer.start`; brokers are answered from now on, once they are known (`queues`)."""
        await super().start()
        self._answers.start(self.instance)

    async def stop(self) -> None:
        """As `AsyncProducer.stop`; open halves are left to the other producers of the group."""
        if self._sends is not None:
            await self._answers.stop(self.instance)
        self._turns.close()
        await super().stop()

    async def __aenter__(self) -> AsyncBatchTransactionProducer:
        await self.start()
        return self

    async def prepare(
        self,
        topic: str,
        elements: bytes,
        count: int,
        *,
        properties: Mapping[str, str] = _NONE,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> tuple[PreparedHalf, ...]:
        """Store `count` messages, encoded as a batch (`mqframe.core.batch`), where no consumer sees them.

        A broker of this project takes them as one half message; its commit stores all of them at once, in
        order, in one queue: `queue`, or one of the topic. Any other broker gets one half for each message
        (`repeatable` is false then, and their order is not kept). `properties`: what `check` sees; messages
        have them only where they are halves of their own. `timeout`: for each request, s. `check_after`:
        seconds in which a broker of this project asks nobody, for transactions that take long.

        Never sent twice once it may be stored: after `CallTimeout` or `ConnectionLost` there may be a half
        that nobody ends, about which `check` is asked. Any number of prepares may be under way; 4 MiB
        go at once. Raises
        `MessageError`, and as `send`; `AnswerError` 13 for a batch that the broker does not take, and also
        when a half was stored less safely than configured (it is rolled back then).
        """
        return await self._halves.prepare(topic, elements, count, properties, queue, timeout, check_after)

    async def end(
        self, halves: Iterable[PreparedHalf], outcome: TransactionOutcome, *, timeout: float | None = None
    ) -> list[EndStatus]:
        """Have the messages of `halves` delivered (COMMIT) or dropped (ROLLBACK); waits for their brokers.

        Gives what each said, in the order of `halves`. Raises `EndsUnfinished`, a `RetryError`, when not all
        could be told; its `statuses` say which. `AnswerError` when a broker refuses for good.
        """
        return await self._halves.end(tuple(halves), outcome, timeout)


class BatchTransactionProducer:
    """As `AsyncBatchTransactionProducer`, for plain threads, any number of which may share it.

        with BatchTransactionProducer("load", nameserver="127.0.0.1:9876", check=check) as producer:
            halves = producer.prepare("orders", elements, count, properties={"job": "7"})
            producer.end(halves, TransactionOutcome.COMMIT)

    Everything happens on one thread beside. After a fork every method raises `ClosedError`.
    """

    def __init__(self, group: str, *, check: Check, **options: Any) -> None:
        self._producer = AsyncBatchTransactionProducer(group, check=check, **options)
        title = f"the producer of group {group}"
        self._face = LoopFace(title, self._producer, f"mqframe-halves-{group[:100]}", "producer")

    @property
    def group(self) -> str:
        """The producer group."""
        return self._producer.group

    @property
    def client_id(self) -> str:
        """How brokers know this client. Raises `ClosedError` before the start."""
        return self._producer.client_id

    def start(self) -> None:
        """Begin to work. Raises `ClosedError` when it runs or was stopped."""
        self._face.start()

    def stop(self) -> None:
        """Leave the group, close the connections. Twice does no harm."""
        self._face.stop()

    def __enter__(self) -> BatchTransactionProducer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """The queues of `topic` that can be written. Its brokers know of this producer from then on."""
        return self._face.call(lambda: self._producer.queues(topic))

    def prepare(
        self,
        topic: str,
        elements: bytes,
        count: int,
        *,
        properties: Mapping[str, str] = _NONE,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> tuple[PreparedHalf, ...]:
        """Store a batch where no consumer sees it. See `AsyncBatchTransactionProducer.prepare`."""
        return self.submit(
            topic,
            elements,
            count,
            properties=properties,
            queue=queue,
            timeout=timeout,
            check_after=check_after,
        ).result()

    def submit(
        self,
        topic: str,
        elements: bytes,
        count: int,
        *,
        properties: Mapping[str, str] = _NONE,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> Future[tuple[PreparedHalf, ...]]:
        """As `prepare`, without waiting: gives the future of what it gives or raises."""
        return self._face.begin(
            lambda: self._producer.prepare(
                topic,
                elements,
                count,
                properties=properties,
                queue=queue,
                timeout=timeout,
                check_after=check_after,
            )
        )

    def end(
        self, halves: Iterable[PreparedHalf], outcome: TransactionOutcome, *, timeout: float | None = None
    ) -> list[EndStatus]:
        """Have halves delivered or dropped. See `AsyncBatchTransactionProducer.end`."""
        wanted = tuple(halves)
        return self._face.call(lambda: self._producer.end(wanted, outcome, timeout=timeout))

"""BatchTransactionProducer: `AsyncBatchTransactionProducer` for plain threads.

Generated from mqframe_transactions.client.batch_producer, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Unpack

from mqframe.core.messages.message import MessageQueue
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe_transactions.client.batch_producer import NO_PROPERTIES, AsyncBatchTransactionProducer, Check
from mqframe_transactions.client.checks import WAITING_MAX, WORKERS
from mqframe_transactions.client.producer import ProducerOptions
from mqframe_transactions.client.producer_thread import BatchTransactionThread
from mqframe_transactions.rules.half_batch import EndStatus, PreparedHalf


class BatchTransactionProducer(BatchTransactionThread):
    """A `Producer` that also prepares batches, which consumers see once their transaction is committed.

        with BatchTransactionProducer("load", check=check, nameserver="host:9876") as producer:
            halves = producer.prepare("orders", elements, count, properties={"job": "7"})
            ...  # note that job 7 is done
            producer.end(halves, TransactionOutcome.COMMIT)

    Who prepares and who ends may be different processes; `PreparedHalf` travels as JSON. `check`: asked for
    each half that stays open, in any live process of the group, also in the one that prepared it; returns a
    `TransactionOutcome`, UNKNOWN or an exception to be asked again later. A plain one is called in a thread.
    `check_workers`: questions answered at once; `checks_waiting_max`: questions that may wait. All other
    arguments are those of `Producer`.

    May be shared by any number of threads; halves are sent by the thread beside.
    """

    _section = "producer"

    def __init__(
        self,
        group: str,
        *,
        check: Check,
        check_workers: int = WORKERS,
        checks_waiting_max: int = WAITING_MAX,
        **options: Unpack[ProducerOptions],
    ) -> None:
        super().__init__(
            AsyncBatchTransactionProducer(
                group,
                check=check,
                check_workers=check_workers,
                checks_waiting_max=checks_waiting_max,
                **options,
            )
        )

    def start(self) -> None:
        """As `Producer.start`; brokers are answered from now on, also while nothing is sent."""
        super().start()

    def stop(self) -> None:
        """As `Producer.stop`; open transactions are left to the other producers of the group."""
        super().stop()

    def prepare(
        self,
        topic: str,
        elements: bytes,
        count: int,
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> tuple[PreparedHalf, ...]:
        """Store `count` messages, a batch as `mqframe.core.messages.batch` encodes it, hidden from consumers.

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
        return self._call(
            self._client.prepare,
            topic,
            elements,
            count,
            properties=properties,
            queue=queue,
            timeout=timeout,
            check_after=check_after,
        )

    def submit_prepare(
        self,
        topic: str,
        elements: bytes,
        count: int,
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> Future[tuple[PreparedHalf, ...]]:
        """As `prepare`, without waiting: returns the future of its result."""
        return self._submit(
            self._client.submit_prepare,
            topic,
            elements,
            count,
            properties=properties,
            queue=queue,
            timeout=timeout,
            check_after=check_after,
        )

    def end(
        self, halves: Iterable[PreparedHalf], outcome: TransactionOutcome, *, timeout: float | None = None
    ) -> list[EndStatus]:
        """Have the messages of `halves` delivered (COMMIT) or dropped (ROLLBACK); waits for their brokers.

        Returns the answer about each, in their order. Raises `EndsUnfinished`, a `RetryError`, when not all
        could be notified; its `statuses` say which. `AnswerError` when a broker refuses for good.
        """
        return self._call(self._client.end, tuple(halves), outcome, timeout=timeout)

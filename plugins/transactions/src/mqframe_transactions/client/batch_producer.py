"""Producers that hold whole batches back until a transaction of the application has ended, in any process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from mqframe.client.sending.in_flight_limit import AsyncInFlightLimit
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.sending.in_flight import InFlightCount
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe_transactions.client.checks import WAITING_MAX, WORKERS, CheckAnswers
from mqframe_transactions.client.half_batches import IN_FLIGHT_BYTES_MAX, HalfBatches
from mqframe_transactions.client.local_states import LocalTransactionStates
from mqframe_transactions.client.producer import AsyncAnsweringProducer, AsyncProducerOptions
from mqframe_transactions.rules.half_batch import EndStatus, PreparedHalf

Check = Callable[[ReceivedMessage], Any]
"""Says how the transaction of a half ended, by what its properties hold; may be an `async def`."""
NO_PROPERTIES: Mapping[str, str] = {}


class AsyncBatchTransactionProducer(AsyncAnsweringProducer):
    """An `AsyncProducer` that also prepares batches, which consumers see once their transaction is committed.

        async with AsyncBatchTransactionProducer("load", check=check, nameserver="host:9876") as producer:
            halves = await producer.prepare("orders", elements, count, properties={"job": "7"})
            ...  # note that job 7 is done
            await producer.end(halves, TransactionOutcome.COMMIT)

    Who prepares and who ends may be different processes; `PreparedHalf` travels as JSON. `check`: asked for
    each half that stays open, in any live process of the group, also in the one that prepared it; returns a
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
        **options: Unpack[AsyncProducerOptions],
    ) -> None:
        # Nothing is known without asking: another process may have ended what this one prepared.
        known = LocalTransactionStates()
        super().__init__(
            group, CheckAnswers(group, check, known, check_workers, checks_waiting_max), **options
        )
        self._turns = AsyncInFlightLimit(
            InFlightCount(self._settings.in_flight_messages_max, IN_FLIGHT_BYTES_MAX), self._clock
        )
        self._halves = HalfBatches(self._running, group, self._settings, self._turns)

    async def stop(self) -> None:
        """As `AsyncProducer.stop`; open transactions are left to the other producers of the group."""
        self._turns.close()
        await super().stop()

    async def prepare(
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
        return await self._halves.prepare(topic, elements, count, properties, queue, timeout, check_after)

    async def submit_prepare(
        self,
        topic: str,
        elements: bytes,
        count: int,
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> asyncio.Future[tuple[PreparedHalf, ...]]:
        """As `prepare`, without waiting: returns the future of its result."""
        self._running()
        return asyncio.ensure_future(
            self._halves.prepare(topic, elements, count, properties, queue, timeout, check_after)
        )

    async def end(
        self, halves: Iterable[PreparedHalf], outcome: TransactionOutcome, *, timeout: float | None = None
    ) -> list[EndStatus]:
        """Have the messages of `halves` delivered (COMMIT) or dropped (ROLLBACK); waits for their brokers.

        Returns the answer about each, in their order. Raises `EndsUnfinished`, a `RetryError`, when not all
        could be notified; its `statuses` say which. `AnswerError` when a broker refuses for good.
        """
        return await self._halves.end(tuple(halves), outcome, timeout)

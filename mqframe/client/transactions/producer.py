"""The transactional producer for asyncio programs."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import Any

from mqframe.client.known_outcomes import KnownOutcomes
from mqframe.client.producer import AsyncProducer
from mqframe.client.transaction_checks import WAITING_MAX, WORKERS, CheckAnswers
from mqframe.client.transaction_listener import (
    HalfMessage,
    TransactionListener,
    TransactionSendResult,
    check_of,
)
from mqframe.client.transaction_sends import OpenTransaction, TransactionSends, Where
from mqframe.core.errors import FixError
from mqframe.core.message import Message, MessageQueue

NO_LISTENER = "send_in_transaction needs a listener; pass one to the producer, or use transaction(message)"


class AsyncTransactionProducer(AsyncProducer):
    """An `AsyncProducer` that also sends messages together with a transaction of the application.

        async with AsyncTransactionProducer("shop", listener, nameserver="127.0.0.1:9876") as producer:
            result = await producer.send_in_transaction(Message("orders", b"..."), order)
            async with producer.transaction(Message("orders", b"...")) as transaction:
                ...  # an exception rolls back

    `listener`: does the local transactions and answers brokers that ask how one ended, of any producer of the
    group; without it only those that this producer began are known. `check_workers`: questions answered at
    once; `checks_waiting_max`: questions that may wait. All other arguments are those of `AsyncProducer`.
    """

    def __init__(
        self,
        group: str,
        listener: TransactionListener | None = None,
        *,
        check_workers: int = WORKERS,
        checks_waiting_max: int = WAITING_MAX,
        **options: Any,
    ) -> None:
        super().__init__(group, **options)
        self._listener = listener
        self._known = KnownOutcomes()
        self._answers = CheckAnswers(
            group, check_of(listener), self._known, check_workers, checks_waiting_max
        )
        self._transactions = TransactionSends(self._running, group, self._known, self.settings)

    async def start(self) -> None:
        """As `AsyncProducer.start`; brokers are answered from now on."""
        await super().start()
        self._answers.start(self.instance)

    async def stop(self) -> None:
        """As `AsyncProducer.stop`; open transactions are left to the other producers of the group."""
        if self._sends is not None:
            await self._answers.stop(self.instance)
        await super().stop()

    async def __aenter__(self) -> AsyncTransactionProducer:
        await self.start()
        return self

    async def send_in_transaction(
        self,
        message: Message,
        arg: Any = None,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> TransactionSendResult:
        """Send `message` as a half, have the listener do its transaction, tell the broker how that ended.

        The send is not repeated; a status other than SEND_OK is a rollback, and the listener is not called.
        `check_after`: seconds in which the broker does not ask, for transactions that take long; the end must
        come within it. Else as `send`. Raises as `send`; then the transaction was not done.
        """
        listener = self._listener
        if listener is None:
            raise FixError(NO_LISTENER)
        where = Where(queue, selector, sharding_key, timeout, check_after)

        def execute(half: HalfMessage) -> Awaitable[object]:
            return self._answers.call(listener.execute_local_transaction, half, arg)

        return await self._transactions.run(message, where, execute)

    def transaction(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> AsyncTransaction:
        """A transaction around a block: `async with producer.transaction(message) as transaction: …`."""
        self._running()
        where = Where(queue, selector, sharding_key, timeout, check_after)
        return AsyncTransaction(self._transactions, message, where)


class AsyncTransaction(OpenTransaction):
    """A transaction around an `async with` block. See `OpenTransaction`."""

    async def __aenter__(self) -> AsyncTransaction:
        await self.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.end(problem)

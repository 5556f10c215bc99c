"""The transactional producer for asyncio programs."""

from __future__ import annotations

from typing import Any, Unpack

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.sending.pipeline import Randomness
from mqframe.client.sending.producer import AsyncProducer
from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.messages.names import DEFAULT_TOPIC, HALF_TOPIC
from mqframe.net.clock import LoopClock
from mqframe_transactions.client.checks import WAITING_MAX, WORKERS, CheckAnswers
from mqframe_transactions.client.listener import TransactionListener, TransactionSendResult, check_of
from mqframe_transactions.client.local_states import LocalTransactionStates
from mqframe_transactions.client.options import (
    ProducerOptions as ProducerOptions,  # the blocking twin takes these
)
from mqframe_transactions.client.sends import AsyncTransaction, Execute, TransactionSends, Where

NO_LISTENER = "send_in_transaction needs a listener; pass one to the producer, or use transaction(message)"

_OF_ALL_BROKERS = (HALF_TOPIC, DEFAULT_TOPIC)
"""Topics whose routes name the brokers that may have a question: those with transactions, and, as of Java
producers, those that make topics by themselves."""


class AsyncProducerOptions(ProducerOptions, total=False):
    """The options of `AsyncProducer`."""

    instance: ClientInstance | None
    clock: LoopClock | None
    randomness: Randomness | None


class AsyncAnsweringProducer(AsyncProducer):
    """An `AsyncProducer` that answers brokers which ask how its group's transactions ended, by `answers`."""

    def __init__(self, group: str, answers: CheckAnswers, **options: Unpack[AsyncProducerOptions]) -> None:
        super().__init__(group, **options)
        self._answers = answers

    async def start(self) -> None:
        """As `AsyncProducer.start`; brokers are answered from now on, also while nothing is sent."""
        await super().start()
        instance = self._instance
        assert instance is not None
        self._answers.start(instance, self._parts.send_hooks)
        for topic in _OF_ALL_BROKERS:
            instance.spawn(instance.routes.watch(topic))

    async def stop(self) -> None:
        """As `AsyncProducer.stop`; open transactions are left to the other producers of the group."""
        if self._api is not None and self._instance is not None:
            await self._answers.stop(self._instance)
        await super().stop()


class AsyncTransactionProducer(AsyncAnsweringProducer):
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
        **options: Unpack[AsyncProducerOptions],
    ) -> None:
        self._listener = listener
        self._known = LocalTransactionStates()
        check = check_of(listener)
        super().__init__(
            group, CheckAnswers(group, check, self._known, check_workers, checks_waiting_max), **options
        )
        self._transactions = TransactionSends(self._running, group, self._known, self._settings)

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
        """Send `message` as a half, have the listener do its transaction, notify the broker of its end.

        The send is not repeated; a status other than SEND_OK is a rollback, and the listener is not called.
        `check_after`: seconds in which the broker does not ask, for transactions that take long; the end must
        come within it. Else as `send`. Raises as `send`; then the transaction was not done.
        """
        where = Where(queue, selector, sharding_key, timeout, check_after)
        return await self._transactions.run(message, where, self._execute(arg))

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

    def _execute(self, arg: Any) -> Execute:
        listener = self._listener
        if listener is None:
            raise FixError(NO_LISTENER)
        return lambda half: self._answers.call(listener.execute_local_transaction, half, arg)

"""The transactional producer for plain threads."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from mqframe.client.blocking_port import run_blocking
from mqframe.client.blocking_producer import Producer
from mqframe.client.known_outcomes import KnownOutcomes
from mqframe.client.transaction_checks import WAITING_MAX, WORKERS, CheckAnswers
from mqframe.client.transaction_listener import (
    HalfMessage,
    TransactionListener,
    TransactionSendResult,
    check_of,
    must_be_plain,
)
from mqframe.client.transaction_producer import NO_LISTENER
from mqframe.client.transaction_sends import OpenTransaction, TransactionSends, Where
from mqframe.core.errors import FixError
from mqframe.core.message import Message, MessageQueue


class TransactionProducer(Producer):
    """A `Producer` that also sends messages together with a transaction of the application.

        with TransactionProducer("shop", listener, nameserver="127.0.0.1:9876") as producer:
            result = producer.send_in_transaction(Message("orders", b"..."), order)
            with producer.transaction(Message("orders", b"...")) as transaction:
                ...  # an exception rolls back

    Arguments and behaviour are those of `AsyncTransactionProducer`. The thread that sends does the local
    transaction; brokers that ask are answered by `check_workers` threads. Raises `FixError` for a listener
    with `async def` methods.
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
        must_be_plain(listener)
        super().__init__(group, **options)
        self._listener = listener
        self._known = KnownOutcomes()
        self._answers = CheckAnswers(
            group, check_of(listener), self._known, check_workers, checks_waiting_max
        )
        self._transactions = TransactionSends(self._running, group, self._known, self.settings)

    def start(self) -> None:
        """As `Producer.start`; brokers are answered from now on."""
        super().start()
        with self._lifecycle:
            if self._thread is not None and not self._stopped:
                self._thread.call(self._start_answers())

    def stop(self) -> None:
        """As `Producer.stop`; open transactions are left to the other producers of the group."""
        with self._lifecycle:
            self._process.check()
            if self._thread is not None and not self._stopped:
                self._thread.call(self._stop_answers())
        super().stop()

    def __enter__(self) -> TransactionProducer:
        self.start()
        return self

    def send_in_transaction(
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

        See `AsyncTransactionProducer.send_in_transaction`.
        """
        listener = self._listener
        if listener is None:
            raise FixError(NO_LISTENER)
        where = Where(queue, selector, sharding_key, timeout, check_after)

        async def execute(half: HalfMessage) -> object:
            return listener.execute_local_transaction(half, arg)

        return run_blocking(self._transactions.run(message, where, execute))

    def transaction(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> Transaction:
        """A transaction around a block: `with producer.transaction(message) as transaction: …`."""
        self._running()
        where = Where(queue, selector, sharding_key, timeout, check_after)
        return Transaction(self._transactions, message, where)

    async def _start_answers(self) -> None:
        assert self._instance is not None
        self._answers.start(self._instance)

    async def _stop_answers(self) -> None:
        assert self._instance is not None
        await self._answers.stop(self._instance)


class Transaction(OpenTransaction):
    """A transaction around a `with` block. See `OpenTransaction`."""

    def __enter__(self) -> Transaction:
        run_blocking(self.begin())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(self.end(problem))

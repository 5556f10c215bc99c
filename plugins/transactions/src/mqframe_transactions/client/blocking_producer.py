"""TransactionProducer: `AsyncTransactionProducer` for plain threads.

Generated from mqframe_transactions.client.producer, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from typing import Any, Unpack

from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.core.messages.message import Message, MessageQueue
from mqframe_transactions.client.checks import WAITING_MAX, WORKERS
from mqframe_transactions.client.listener import TransactionListener, TransactionSendResult
from mqframe_transactions.client.options import ProducerOptions
from mqframe_transactions.client.producer import AsyncTransactionProducer
from mqframe_transactions.client.producer_thread import TransactionThread
from mqframe_transactions.client.sends import Transaction, Where


class TransactionProducer(TransactionThread):
    """A `Producer` that also sends messages together with a transaction of the application.

        with TransactionProducer("shop", listener, nameserver="127.0.0.1:9876") as producer:
            result = producer.send_in_transaction(Message("orders", b"..."), order)
            with producer.transaction(Message("orders", b"...")) as transaction:
                ...  # an exception rolls back

    `listener`: does the local transactions and answers brokers that ask how one ended, of any producer of the
    group; without it only those that this producer began are known. `check_workers`: questions answered at
    once; `checks_waiting_max`: questions that may wait. All other arguments are those of `Producer`.

    The thread that sends does the local transaction; brokers that ask are answered by
    `check_workers` threads. Raises `FixError` for a listener with `async def` methods.
    """

    _section = "producer"

    def __init__(
        self,
        group: str,
        listener: TransactionListener | None = None,
        *,
        check_workers: int = WORKERS,
        checks_waiting_max: int = WAITING_MAX,
        **options: Unpack[ProducerOptions],
    ) -> None:
        super().__init__(
            AsyncTransactionProducer(
                group, listener, check_workers=check_workers, checks_waiting_max=checks_waiting_max, **options
            )
        )

    def start(self) -> None:
        """As `Producer.start`; brokers are answered from now on, also while nothing is sent."""
        super().start()

    def stop(self) -> None:
        """As `Producer.stop`; open transactions are left to the other producers of the group."""
        super().stop()

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
        """Send `message` as a half, have the listener do its transaction, notify the broker of its end.

        The send is not repeated; a status other than SEND_OK is a rollback, and the listener is not called.
        `check_after`: seconds in which the broker does not ask, for transactions that take long; the end must
        come within it. Else as `send`. Raises as `send`; then the transaction was not done.
        """
        where = Where(queue, selector, sharding_key, timeout, check_after)
        return run_blocking(self._transactions.run(message, where, self._execute(arg)))

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

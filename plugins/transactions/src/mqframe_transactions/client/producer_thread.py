"""The bases of transactional producers for plain threads: what is not generated from the asyncio ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from mqframe.client.sending.blocking_producer import Producer
from mqframe.client.sending.producer_thread import ProducerThread
from mqframe.core.errors import FixError
from mqframe_transactions.client.batch_producer import AsyncBatchTransactionProducer
from mqframe_transactions.client.listener import HalfMessage, must_be_plain
from mqframe_transactions.client.producer import NO_LISTENER, AsyncTransactionProducer
from mqframe_transactions.client.sends import Execute, TransactionSends

P = ParamSpec("P")
T = TypeVar("T")


class TransactionThread(Producer):
    """What `TransactionProducer` is generated upon: the thread that sends does the local transaction, and
    brokers that ask are answered on the loop beside."""

    def __init__(self, client: AsyncTransactionProducer) -> None:
        must_be_plain(client._listener)
        # Not `Producer`'s constructor, which makes a producer without transactions for the loop.
        ProducerThread.__init__(self, client)
        self._listener = client._listener
        # What the calling thread began is known to the one beside, which answers brokers.
        self._transactions = TransactionSends(self._running, self.group, client._known, self._settings)

    def _execute(self, arg: Any) -> Execute:
        listener = self._listener
        if listener is None:
            raise FixError(NO_LISTENER)

        async def execute(half: HalfMessage) -> object:
            return listener.execute_local_transaction(half, arg)

        return execute


class BatchTransactionThread(Producer):
    """What `BatchTransactionProducer` is generated upon: half batches are sent on the loop beside."""

    _client: AsyncBatchTransactionProducer

    def __init__(self, client: AsyncBatchTransactionProducer) -> None:
        ProducerThread.__init__(self, client)  # as in `TransactionThread`

    def _submit(
        self, method: Callable[P, Coroutine[Any, Any, asyncio.Future[T]]], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """The future of a result, for a method of the client that returns one of its loop.

        It fails with `ClosedError` when the client is stopped first.
        """

        async def result() -> T:
            return await (await method(*args, **kwargs))

        return self._thread().submit(result())

"""Transactions in tests of applications: a message stands or falls with its block."""

from __future__ import annotations

import pytest
from mqframe_faststream import MqframeBroker, TestMqframeBroker

from mqframe import ClosedError, FixError, TransactionListener, TransactionOutcome


class Says(TransactionListener):
    def execute_local_transaction(self, message, arg):
        if isinstance(arg, Exception):
            raise arg
        return arg


async def test_blocks_deliver_or_drop() -> None:
    broker = MqframeBroker()

    @broker.subscriber("orders")
    async def handle(value: int) -> None: ...

    async with TestMqframeBroker(broker):
        async with broker.transaction(1, "orders", tag="t") as transaction:
            assert transaction.transaction_id
            assert handle.mock.call_count == 0
        with pytest.raises(RuntimeError, match="no"):
            async with broker.transaction(2, "orders"):
                raise RuntimeError("no")
        async with broker.transaction(3, "orders") as transaction:
            transaction.unknown()
        handle.mock.assert_called_once_with(1)


async def test_each_block_takes_a_transaction_of_its_own() -> None:
    async with TestMqframeBroker(MqframeBroker()) as broker:
        block = broker.transaction(1, "orders")
        await block.__aenter__()
        with pytest.raises(ClosedError, match="begun before"):
            await block.__aenter__()


async def test_listeners_deliver_or_drop() -> None:
    broker = MqframeBroker(transaction_listener=Says())

    @broker.subscriber("orders")
    async def handle(value: int) -> None: ...

    async with TestMqframeBroker(broker):
        answers = (TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, RuntimeError("fire"))
        results = [
            await broker.publish_in_transaction(number, "orders", answer)
            for number, answer in enumerate(answers)
        ]
        handle.mock.assert_called_once_with(0)
        outcomes, error = ([result.outcome for result in results], str(results[2].error))
    assert outcomes == [TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN]
    assert error == "fire"


async def test_without_a_listener_nothing_is_published() -> None:
    async with TestMqframeBroker(MqframeBroker()) as broker:
        with pytest.raises(FixError, match="transaction_listener"):
            await broker.publish_in_transaction(1, "orders")

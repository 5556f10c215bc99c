"""A slave that becomes master: what was under way at the old one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mqframe_transactions.client.listener import TransactionListener
from mqframe_transactions.client.producer import AsyncTransactionProducer
from popping import pop_request, popped
from replicas import Pair, texts

from mqframe.broker.broker import Broker
from mqframe.core.messages.message import Message, ReceivedMessage
from mqframe.core.sending.transaction_outcome import TransactionOutcome


async def passes(pair: Pair, seconds: int) -> None:
    for _ in range(seconds):
        await pair.settle(1)


async def both(pair: Pair) -> tuple[Broker, Broker]:
    master = await pair.start("one", "ASYNC_MASTER")
    slave = await pair.start("two", "SLAVE")
    await pair.sent(master, *texts(0, 6))
    await pair.follows(master, slave)
    return master, slave


async def promoted(pair: Pair, master: Broker, slave: Broker, *, kill: bool) -> Broker:
    """The slave as master, after the old one went."""
    await pair.follows(master, slave)
    await pair.stop(master, kill=kill)
    await pair.stop(slave)
    return await pair.start("two", "ASYNC_MASTER")


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("seconds", [0, 2, 15, 35])
async def test_what_was_popped_and_not_acknowledged_comes_again(
    seconds: int, kill: bool, tmp_path: Path
) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        first = popped(await pair.invoke(master, pop_request()))
        assert [each.body for each in first] == texts(0, 6)
        for each in first[:4]:
            assert (await pair.invoke(master, each.ack())).code == 0
        await passes(pair, seconds)
        new = await promoted(pair, master, slave, kill=kill)
        found: list[bytes] = []
        for _ in range(80):
            await passes(pair, 2)
            again = popped(await pair.invoke(new, pop_request()))
            found += [each.body for each in again]
            for each in again:
                assert (await pair.invoke(new, each.ack())).code == 0
        # None is lost, whenever it was; once progress was copied, what was acknowledged does not come again.
        assert set(texts(4, 2)) <= set(found)
        assert all(found.count(body) <= 1 for body in texts(0, 4))
        if seconds == 35:
            assert found == texts(4, 2)


async def test_a_slave_pops_nothing(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        _, slave = await both(pair)
        answer = await pair.invoke(slave, pop_request())
        assert answer.code == 14


class Asked(TransactionListener):
    """Knows what became of each transaction only when it is asked for it."""

    def __init__(self) -> None:
        self.checked: list[bytes] = []

    async def execute_local_transaction(self, message: Message, arg: Any) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN

    async def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.checked.append(message.body)
        return TransactionOutcome.COMMIT if message.body == b"kept" else TransactionOutcome.ROLLBACK


async def test_open_transactions_are_asked_about_and_ended_at_the_new_master(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        listener = Asked()
        producer = AsyncTransactionProducer("shop", listener, nameserver=pair.names.address, clock=pair.clock)
        await producer.start()
        try:
            queue = next(queue for queue in await producer.queues("t") if queue.queue_id == 1)
            for body in (b"kept", b"dropped"):
                await producer.send_in_transaction(Message("t", body), queue=queue)
            new = await promoted(pair, master, slave, kill=True)
            assert await pair.bodies(new, 1) == []
            await passes(pair, 130)
            assert await pair.bodies(new, 1) == [b"kept"]
            assert sorted(listener.checked) == [b"dropped", b"kept"]
            await passes(pair, 130)
            assert await pair.bodies(new, 1) == [b"kept"]
            assert sorted(listener.checked) == [b"dropped", b"kept"]
        finally:
            await producer.stop()


async def test_an_end_that_the_slave_had_is_not_asked_about_again(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        listener = Asked()
        producer = AsyncTransactionProducer("shop", listener, nameserver=pair.names.address, clock=pair.clock)
        await producer.start()
        try:
            queue = next(queue for queue in await producer.queues("t") if queue.queue_id == 1)
            await producer.send_in_transaction(Message("t", b"kept"), queue=queue)
            await passes(pair, 130)
            assert await pair.bodies(master, 1) == [b"kept"]
            new = await promoted(pair, master, slave, kill=True)
            await passes(pair, 130)
            assert await pair.bodies(new, 1) == [b"kept"]
            assert listener.checked == [b"kept"]
        finally:
            await producer.stop()

"""Connections that die without a word, as by a pulled cable: clients leave them and go on over new ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.client.listener import TransactionListener
from mqframe_transactions.client.producer import AsyncTransactionProducer

from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import RetryError
from mqframe.core.messages.message import Message
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.net.async_peer import AsyncPeer


class Cables:
    """All connections of the process; those that are cut carry nothing any more, and no side is told."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._ports: dict[AsyncPeer, set[int]] = {}
        self._cut: set[AsyncPeer] = set()
        made, received = AsyncPeer.connection_made, AsyncPeer.data_received

        def connection_made(peer: AsyncPeer, transport: Any) -> None:
            ends = (transport.get_extra_info("sockname"), transport.get_extra_info("peername"))
            self._ports[peer] = {end[1] for end in ends}
            made(peer, transport)

        def data_received(peer: AsyncPeer, data: bytes) -> None:
            if peer not in self._cut:
                received(peer, data)

        patch.setattr(AsyncPeer, "connection_made", connection_made)
        patch.setattr(AsyncPeer, "data_received", data_received)

    def cut(self, address: str) -> None:
        """Cut the connections of the server at `address` that there are now."""
        self._cut |= self._of(address)

    def carries(self, address: str) -> bool:
        """Whether there is a connection of the server at `address` that is not cut."""
        return bool(self._of(address) - self._cut)

    def _of(self, address: str) -> set[AsyncPeer]:
        port = int(address.rpartition(":")[2])
        return {peer for peer, ports in self._ports.items() if port in ports and not peer.closed}


@pytest.fixture
def cables(monkeypatch: pytest.MonkeyPatch) -> Cables:
    return Cables(monkeypatch)


class Scene(ClusterScene):
    """A cluster with topic `orders` of two queues, and what its consumers got."""

    def __init__(self) -> None:
        super().__init__(topics={"orders": 2})
        self.got: list[bytes] = []

    async def producer(self) -> AsyncProducer:
        return await self.open(AsyncProducer("p", nameserver=self.nameserver, clock=self.clock))

    async def take(self, messages: Any, context: Any) -> ConsumeResult:
        self.got += [message.body for message in messages]
        return ConsumeResult.SUCCESS

    async def until(self, condition: Any, seconds: float = 60.0, step: float = 0.25) -> None:
        await super().until(condition, seconds, step)

    def members(self, group: str) -> list[str]:
        """Who the broker knows in `group` on a connection that it can still reach."""
        online = self.cluster.broker.service_port.clients.consumers.get(group)
        return [] if online is None else [member.address for member in online.members.values()]


@pytest.mark.parametrize("ordered", [False, True])
async def test_a_consumer_goes_on_over_a_new_connection_and_is_a_member_at_once(
    cables: Cables, ordered: bool
) -> None:
    async with Scene() as scene:
        producer = await scene.producer()
        consumer = AsyncPushConsumer(
            "g", nameserver=scene.nameserver, clock=scene.clock, consume_from="first", ordered=ordered
        )
        consumer.subscribe("orders", "*", scene.take)
        await scene.open(consumer)
        await producer.send(Message("orders", b"before"))
        await scene.until(lambda: scene.got == [b"before"], 60)
        [old] = scene.members("g")
        address = scene.cluster.broker.address
        await scene.clock.aadvance(1)
        cables.cut(address)
        # What it asks of the broker the next time is not answered within 3 s; rebalances come every 20 s.
        await scene.until(lambda: cables.carries(address), 25)
        await scene.until(lambda: set(scene.members("g")) - {old}, 1)
        behind = asyncio.ensure_future(send_until_stored(producer, b"behind"))
        await scene.until(behind.done, 30)
        await scene.until(lambda: b"behind" in scene.got, 5)


async def send_until_stored(producer: AsyncProducer, body: bytes) -> None:
    for _ in range(10):
        try:
            await producer.send(Message("orders", body))
        except RetryError:
            continue
        return
    raise AssertionError("no send was answered")


async def test_a_send_that_nobody_answers_ends_in_time_and_the_next_one_is_stored_at_once(
    cables: Cables,
) -> None:
    async with Scene() as scene:
        producer = await scene.producer()
        await producer.send(Message("orders", b"1"))
        cables.cut(scene.cluster.broker.address)
        lost = asyncio.ensure_future(producer.send(Message("orders", b"2")))
        await scene.until(lost.done, 20)
        before = scene.clock.monotonic()
        await producer.send(Message("orders", b"3"))
        assert scene.clock.monotonic() == before
        if lost.exception() is not None:
            assert lost.exception().maybe_stored


async def test_transactions_are_checked_back_over_the_new_connection(cables: Cables) -> None:
    async with Scene() as scene:
        asked: list[bytes] = []

        class Listener(TransactionListener):
            async def execute_local_transaction(self, message: Any, arg: Any) -> TransactionOutcome:
                return TransactionOutcome.UNKNOWN

            async def check_local_transaction(self, message: Any) -> TransactionOutcome:
                asked.append(message.body)
                return TransactionOutcome.COMMIT

        producer = AsyncTransactionProducer("tp", Listener(), nameserver=scene.nameserver, clock=scene.clock)
        await scene.open(producer)
        await producer.send_in_transaction(Message("orders", b"half"))
        cables.cut(scene.cluster.broker.address)
        lost = asyncio.ensure_future(send_until_stored(producer, b"other"))
        await scene.until(lost.done, 30)
        await scene.until(lambda: b"half" in asked, 120)

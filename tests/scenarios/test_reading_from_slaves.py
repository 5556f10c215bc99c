"""Consumers whose master goes away, or sends them to a slave, and comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mqframe_admin.requests import UpdateBrokerConfig
from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer
from replicas import Pair, texts

from mqframe.broker.broker import Broker
from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests.consumers import QueryConsumerOffset


class Reader:
    """A push consumer of `t`, and the bodies that it was handed."""

    def __init__(self, pair: Pair, *, ordered: bool = False, batch: int = 32) -> None:
        self.found: list[bytes] = []
        settings = ConsumerSettings(pull_messages_max=batch)
        self.consumer = AsyncPushConsumer(
            "g", nameserver=pair.names.address, consume_from="first", ordered=ordered, clock=pair.clock,
            settings=settings,
        )  # fmt: skip
        self.consumer.on("t")(self._take)

    async def _take(self, message: ReceivedMessage) -> None:
        self.found.append(message.body)


@asynccontextmanager
async def reading(pair: Pair, *, ordered: bool = False) -> AsyncIterator[Reader]:
    reader = Reader(pair, ordered=ordered)
    await reader.consumer.start()
    try:
        yield reader
    finally:
        await reader.consumer.stop()


async def committed(pair: Pair, broker: Broker) -> int:
    request = QueryConsumerOffset("g", "t", 0, set_zero_if_not_found=False)
    answer = await pair.invoke(broker, request)
    return int((answer.ext or {}).get("offset", -1))


async def both(pair: Pair) -> tuple[Broker, Broker]:
    master = await pair.start("master", "ASYNC_MASTER")
    await pair.sent(master, *texts(0, 10))
    slave = await pair.start("slave", "SLAVE")
    await pair.settle(2)
    await pair.follows(master, slave)
    return master, slave


async def passes(pair: Pair, seconds: int) -> None:
    for _ in range(seconds * 2):
        await pair.settle(0.5)


async def test_a_consumer_goes_on_from_the_slave_and_returns(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        async with reading(pair) as reader:
            await passes(pair, 12)
            assert reader.found == texts(0, 10)
            assert await committed(pair, master) == await committed(pair, slave) == 10
            reader.consumer.suspend()
            await pair.sent(master, *texts(10, 10))
            await pair.follows(master, slave)
            await pair.stop(master, kill=True)
            reader.consumer.resume()
            await passes(pair, 40)
            assert reader.found == texts(0, 20)
            assert await committed(pair, slave) == 20
            master = await pair.start("master", "ASYNC_MASTER")
            await slave.register()
            await pair.sent(master, *texts(20, 5))
            await passes(pair, 60)
            assert reader.found == texts(0, 25)
            assert await committed(pair, master) == 25


async def test_it_goes_on_within_seconds_of_the_name_servers_word(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        async with reading(pair) as reader:
            await passes(pair, 12)
            reader.consumer.suspend()
            await pair.sent(master, *texts(10, 10))
            await pair.follows(master, slave)
            await pair.stop(master, kill=True)
            reader.consumer.resume()
            await passes(pair, 8)
            assert reader.found == texts(0, 20)


async def test_one_that_joins_while_only_the_slave_is_there_begins_at_the_progress_that_was_copied(
    tmp_path: Path,
) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        async with reading(pair):
            await passes(pair, 12)
        await passes(pair, 11)
        await pair.sent(master, *texts(10, 10))
        await pair.follows(master, slave)
        await pair.stop(master, kill=True)
        async with reading(pair) as reader:
            await passes(pair, 40)
            assert reader.found == texts(10, 10)
        assert await committed(pair, slave) == 20
        # It has left; the master hears of what it did from the slave.
        master = await pair.start("master", "ASYNC_MASTER")
        await slave.register()
        await passes(pair, 10)
        async with reading(pair) as reader:
            await passes(pair, 20)
            assert reader.found == []
        assert await committed(pair, master) == 20


async def test_a_lite_pull_consumer_goes_on_from_the_slave_and_commits_there(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        consumer = AsyncLitePullConsumer(
            "g", nameserver=pair.names.address, consume_from="first", clock=pair.clock
        )
        consumer.subscribe("t")
        await consumer.start()
        found: list[bytes] = []
        try:
            await passes(pair, 12)
            found += [message.body for message in await consumer.poll(timeout=0)]
            await pair.stop(master, kill=True)
            await passes(pair, 20)
            await consumer.commit()
            found += [message.body for message in await consumer.poll(timeout=0)]
            await passes(pair, 6)
        finally:
            await consumer.stop()
        assert found == texts(0, 10)
        assert await committed(pair, slave) == 10


async def test_one_in_order_goes_on_until_its_locks_end(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        async with reading(pair, ordered=True) as reader:
            await passes(pair, 25)
            assert reader.found == texts(0, 10)
            reader.consumer.suspend()
            await pair.sent(master, *texts(10, 4))
            await pair.follows(master, slave)
            await pair.stop(master, kill=True)
            reader.consumer.resume()
            await passes(pair, 15)
            assert reader.found == texts(0, 14)
        # A new one gets no lock without a master.
        async with reading(pair, ordered=True) as reader:
            await passes(pair, 40)
            assert reader.found == []


async def test_a_slow_reader_is_served_by_the_slave_until_it_is_near_the_end(tmp_path: Path) -> None:
    async with Pair(tmp_path) as pair:
        master, slave = await both(pair)
        for broker in (master, slave):
            assert (await pair.invoke(broker, UpdateBrokerConfig(), b"slaveReadEnable=true")).code == 0
        await pair.stop(master)
        await pair.stop(slave)
        near = {"hot_bytes": 3000}
        master = await pair.start("master", "ASYNC_MASTER", near)
        slave = await pair.start("slave", "SLAVE", near)
        await pair.settle(2)
        await pair.follows(master, slave)
        await master.register()
        await slave.register()
        reader = Reader(pair, batch=2)
        await reader.consumer.start()
        try:
            await passes(pair, 12)
            assert reader.found == texts(0, 10)
            assert await committed(pair, master) == 10
            served = {name: int((await pair.counters(b))["msgGetTotalTodayNow"])
                      for name, b in (("master", master), ("slave", slave))}  # fmt: skip
            assert served["slave"] > served["master"] > 0
            assert sum(served.values()) == 10
        finally:
            await reader.consumer.stop()

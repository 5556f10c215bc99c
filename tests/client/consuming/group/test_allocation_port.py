"""What strategies may look at: lags that brokers tell, notes that several name servers keep."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager

import pytest
from mqframe_testing.consuming import AllQueues
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.allocation_port import GroupPort, prepare
from mqframe.client.settings import ClientSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper
from mqframe.core.errors import CallTimeout, ConnectError, RetryError
from mqframe.core.requests.admin import GetConsumeStats
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.nameserver import GetKvConfig, KvAnswer, PutKvConfig
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import PREPARE_SECONDS_MAX

SERVERS = ["10.0.0.8:9876", "10.0.0.9:9876"]


class World(ScriptedBroker):
    """Two name servers that keep values, a broker that tells lags. `away`: addresses without an answer."""

    def __init__(self, clock):
        super().__init__(clock, {"orders": 2})
        self.kept = {address: {} for address in SERVERS}
        self.away = set()
        self.stats = {}

    async def invoke(self, address, request, body=b"", *, timeout=3.0):
        if address in self.away:
            raise ConnectError(f"{address} is away")
        match request:
            case PutKvConfig():
                self.kept[address][request.namespace, request.key] = request.value
                return Frame(0, flag=1)
            case GetKvConfig():
                value = self.kept[address].get((request.namespace, request.key))
                if value is None:
                    return Frame(ResponseCode.QUERY_NOT_FOUND, flag=1, remark="no such value")
                return Frame(0, flag=1, ext=encode_fields(KvAnswer(value)))
            case GetConsumeStats():
                assert (request.consumer_group, request.topic) == ("billing", "orders")
                return Frame(0, flag=1, body=loose_json.dumps(ConsumeStats(offset_table=self.stats)))
        return await super().invoke(address, request, body, timeout=timeout)


@asynccontextmanager
async def staged():
    clock = ManualClock()
    world = World(clock)
    settings = ClientSettings(nameserver=";".join(SERVERS), client_ip="10.1.1.1", instance_name="m1")
    instance = world.instance = ClientInstance(settings, clock, world)
    rounds = []
    yield (world, GroupPort("billing", instance, clock, lambda: rounds.append(clock.monotonic())), rounds)
    await instance.stop()


async def test_a_note_is_kept_by_all_name_servers_for_the_group_alone():
    async with staged() as (world, port, _rounds):
        assert await port.notes("my/orders") == ["", ""]
        await port.write_note("my/orders", "né 1")
        key = ("MQFRAME_ALLOCATION", "billing/my/orders")
        assert world.kept == {address: {key: "né 1"} for address in SERVERS}
        assert await port.notes("my/orders") == ["né 1", "né 1"]
        assert await port.notes("my/others") == ["", ""]
        assert port.client_id == "10.1.1.1@m1"


async def test_name_servers_that_are_away_are_left_out_and_told_of(caplog):
    with caplog.at_level(logging.WARNING, "mqframe"):
        async with staged() as (world, port, _rounds):
            world.away = {SERVERS[0]}
            await port.write_note("k", "v")
            assert await port.notes("k") == ["v"]
            assert [record.getMessage().partition(" group=")[0] for record in caplog.records] == [
                "note was not written",
                "note was not read",
            ]
            world.away = set(SERVERS)
            for asked in (port.notes("k"), port.write_note("k", "v")):
                with pytest.raises(
                    RetryError, match=r"no name server answered: 10.0.0.8:9876 is away; 10.0.0.9:9876 is away"
                ):
                    await asked


async def test_lags_are_what_is_left_to_consume():
    async with staged() as (world, port, _rounds):
        one, two = world.queue("orders", 0), world.queue("orders", 1)
        retry = world.queue("%RETRY%billing", 0)
        world.stats = {one: OffsetWrapper(10, 3), two: OffsetWrapper(5, 9), retry: OffsetWrapper(4, 0)}
        assert await port.lags("orders") == {one: 7, two: 0}
        world.script(GetConsumeStats, CallTimeout("late"))
        world.away = {world.address}
        with pytest.raises(RetryError, match="topic orders: no broker answered"):
            await port.lags("orders")


async def test_the_earliest_wish_for_a_round_counts():
    async with staged() as (_world, port, rounds):
        port.again_in(10)
        port.again_in(4)
        port.again_in(7)
        await port.clock.aadvance(3.9)
        assert rounds == []
        await port.clock.aadvance(20)
        assert rounds == [4.0]
        port.again_in(-1)
        await port.clock.aadvance(0)
        assert len(rounds) == 2
        port.again_in(1)
        port.stop()
        port.again_in(2)
        await port.clock.aadvance(20)
        assert len(rounds) == 2
        assert port.clock.timers == 0


async def test_a_preview_writes_nothing_and_wishes_nothing():
    async with staged() as (world, port, _rounds):
        preview = GroupPort("billing", world.instance, port.clock, None)
        assert (port.preview, preview.preview) == (False, True)
        await preview.write_note("k", "v")
        preview.again_in(1)
        assert world.sent(PutKvConfig) == []
        assert port.clock.timers == 0


class Looking(AllQueues):
    """Notes what it is asked with, then does `work`."""

    def __init__(self, work):
        self.asked = []
        self._work = work

    async def prepare(self, port, group, topic, queues, clients):
        self.asked.append((group, topic, list(queues), list(clients)))
        await self._work()


async def test_a_strategy_looks_at_sorted_lists_without_doubles():
    async def nothing():
        pass

    async with staged() as (world, port, _rounds):
        one, two = world.queue("orders", 0), world.queue("orders", 1)
        strategy = Looking(nothing)
        assert await prepare(strategy, port, "billing", "orders", [two, one, two], ["b", "a"]) is None
        assert strategy.asked == [("billing", "orders", [one, two], ["a", "b"])]
        for queues, clients in (([], ["a"]), ([one], [])):
            assert await prepare(strategy, port, "billing", "orders", queues, clients) is None
        assert len(strategy.asked) == 1


async def test_what_goes_wrong_is_logged_and_returned(caplog):
    async def fail():
        raise ValueError("no idea")

    with caplog.at_level(logging.WARNING, "mqframe"):
        async with staged() as (world, port, _rounds):
            queues = [world.queue("orders", 0)]
            problem = await prepare(Looking(fail), port, "billing", "orders", queues, ["a"])
            assert isinstance(problem, ValueError)
            assert "allocation strategy could not look" in caplog.records[-1].getMessage()
            task = asyncio.ensure_future(
                prepare(Looking(asyncio.Event().wait), port, "billing", "orders", queues, ["a"])
            )
            await port.clock.aadvance(PREPARE_SECONDS_MAX - 0.1)
            assert not task.done()
            await port.clock.aadvance(0.2)
            assert isinstance(await task, CallTimeout)

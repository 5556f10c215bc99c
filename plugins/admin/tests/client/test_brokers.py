"""Administration of single brokers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from mqframe_admin.requests import UpdateBrokerConfig
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import AsyncAdmin, AsyncProducer, Message, MessageQueue, Producer
from mqframe.core.errors import AnswerError, FixError, MqframeError
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode


def test_brokers(admin):
    masters = admin.cluster.masters()
    assert sorted(masters) == ["broker-a", "broker-b"]
    address = masters["broker-a"]
    assert admin.brokers.config(address)["brokerName"] == "broker-a"
    admin.brokers.update_config(address, {"brokerPermission": "6"})
    assert admin.brokers.config_origins(address)["brokerPermission"].startswith("changed while it ran, ")
    found = {each.path: each for each in admin.brokers.settings(address)}
    assert (found["broker.permission"].value, found["broker.permission"].changed) == ("6", True)
    admin.brokers.update_config(address, {"fileReservedTime": "5"}, unset=["broker.permission"])
    found = {each.path: each for each in admin.brokers.settings(address)}
    assert not found["broker.permission"].changed
    assert (found["store.keep_hours"].value, found["store.keep_hours"].live) == ("5", True)
    assert "runtime" in admin.brokers.runtime(address)
    with pytest.raises(MqframeError, match="nothing"):
        admin.brokers.update_config(address, {"nothing": "x"})
    with pytest.raises(FixError, match="line breaks"):
        admin.brokers.update_config(address, {"a": "b\nc"})


def test_any_request_goes_to_the_broker_that_is_named(admin):
    for name in ("broker-b", "broker-a"):
        runtime = decode(bytes(admin.brokers.call(name, GetBrokerRuntimeInfo()).body), KVTable)
        assert runtime.table["runtime"].startswith("[ 0 days")
        address = admin.cluster.masters(broker=name)[name]
        assert admin.brokers.runtime(address)["bootTimestamp"] == runtime.table["bootTimestamp"]
    admin.brokers.call("broker-b", UpdateBrokerConfig(), b"maxTransferCountOnBulkPull=777\n")
    configs = {name: admin.brokers.config(address) for name, address in admin.cluster.masters().items()}
    counts = {name: config["maxTransferCountOnBulkPull"] for name, config in configs.items()}
    assert counts["broker-b"] == "777" != counts["broker-a"]
    with pytest.raises(FixError, match="no master of nobody"):
        admin.brokers.call("nobody", GetBrokerRuntimeInfo())


def test_producers_leave_a_broker_that_is_wiped(admin, cluster):
    admin.topics.create("wiped", queues=2)
    assert admin.brokers.wipe_write_permission("broker-b") > 0
    with Producer("other", nameserver=cluster.nameserver) as fresh:
        assert {queue.broker_name for queue in fresh.queues("wiped")} == {"broker-a"}
    assert admin.brokers.add_write_permission("broker-b") > 0


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[AsyncCluster, AsyncAdmin, AsyncProducer]]:
    """Two brokers with one topic, and a producer that knows it."""
    clock = ManualClock()
    async with AsyncCluster(2, clock=clock) as cluster:
        await cluster.create_topic("paid", 1)
        admin = AsyncAdmin(nameserver=cluster.nameserver, clock=clock)
        await admin.start()
        async with AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock) as producer:
            await producer.queues("paid")
            yield cluster, admin, producer
        await admin.stop()


async def refused(cluster: AsyncCluster, producer: AsyncProducer, queue: MessageQueue) -> AnswerError:
    """How a send to `queue` ends, which is tried until its time is over."""
    sending = asyncio.ensure_future(producer.send(Message("paid", b"refused"), queue=queue))
    clock = cluster.clock
    assert isinstance(clock, ManualClock)
    for _ in range(50):
        await clock.aadvance(0.1)
    with pytest.raises(AnswerError, match="takes no new messages") as found:
        await sending
    return found.value


async def test_a_broker_that_is_drained_gives_away_what_it_has_and_takes_nothing_new() -> None:
    async with pair() as (cluster, admin, producer):
        at_a, at_b = sorted(await producer.queues("paid"), key=lambda queue: queue.broker_name)
        for body in (b"1", b"2"):
            await producer.send(Message("paid", body), queue=at_a)
        await producer.send(Message("paid", b"later"), queue=at_a, delay_level=3)
        await admin.groups.create("audit")
        await admin.offsets.reset("audit", "paid", 0)
        drained = await admin.brokers.drain("broker-a")
        assert (drained.draining, drained.delayed, drained.half, drained.in_flight) == (True, 1, 0, 0)
        assert drained.unconsumed["audit"] == 2
        assert not drained.may_go
        # Who knows an old route is refused, and goes elsewhere; who looks at it now does not come.
        assert (await refused(cluster, producer, at_a)).code == 14
        for _ in range(4):
            assert (await producer.send(Message("paid", b"4"))).queue == at_b
        async with AsyncProducer("new", nameserver=cluster.nameserver, clock=cluster.clock) as fresh:
            assert list(await fresh.queues("paid")) == [at_b]
        # What is delayed comes all the same, and consumers are told of it.
        for _ in range(12):
            await cluster.clock.aadvance(1)  # type: ignore[attr-defined]
        drained = await admin.brokers.drained("broker-a")
        assert (drained.delayed, drained.unconsumed["audit"]) == (0, 3)
        await admin.offsets.reset_queue("audit", at_a, 3)
        assert (await admin.brokers.drained("broker-a")).may_go
        assert "it takes new messages still" in (await admin.brokers.drained("broker-b")).waits_for[0]


async def test_a_broker_is_drained_over_a_restart_and_until_that_is_taken_back() -> None:
    async with pair() as (cluster, admin, producer):
        at_a, _ = sorted(await producer.queues("paid"), key=lambda queue: queue.broker_name)
        await admin.brokers.drain("broker-a")
        await cluster.restart_broker(0)
        assert (await admin.brokers.drain("broker-a")).draining
        assert (await refused(cluster, producer, at_a)).code == 14
        assert not (await admin.brokers.undrain("broker-a")).draining
        assert await permission(admin, "broker-a") == ("6", False)
        assert (await producer.send(Message("paid", b"2"), queue=at_a)).queue == at_a
        with pytest.raises(FixError, match="no broker named nobody is registered; known: broker-a, broker-b"):
            await admin.brokers.drain("nobody")


async def permission(admin: AsyncAdmin, broker: str) -> tuple[str, bool]:
    """The permission of `broker`, and whether it was changed since the start."""
    address = (await admin.brokers.drained(broker)).address
    [found] = [each for each in await admin.brokers.settings(address) if each.path == "broker.permission"]
    return found.value, found.changed


async def test_what_an_operator_set_before_a_drain_holds_after_it() -> None:
    async with pair() as (_, admin, _):
        address = (await admin.brokers.drained("broker-b")).address
        await admin.brokers.update_config(address, {"brokerPermission": "2"})
        await admin.brokers.drain("broker-b")
        assert await permission(admin, "broker-b") == ("0", True)
        await admin.brokers.undrain("broker-b")
        assert await permission(admin, "broker-b") == ("2", True)

"""What is seen of a cluster, and what pages show of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_dashboard.alarms.watch import SHOWN, AlarmWatch, cluster_seen
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.sampling import Samples
from mqframe_testing import Cluster
from mqframe_testing.ports import lasting_port

from mqframe import Admin, AsyncAdmin, AsyncPuller, Message, Producer
from mqframe.core.cluster.route_bodies import ClusterInfo
from mqframe.core.errors import RetryError


@pytest.fixture
def behind(mqframe_cluster: Cluster) -> Cluster:
    """More groups than a banner has room for are behind, and nobody is there."""
    mqframe_cluster.create_topic("orders", 1)
    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer:
        for number in range(4):
            producer.send(Message("orders", str(number).encode()))
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        for number in range(SHOWN + 2):
            group = f"late-{number}"
            admin.groups.create(group)
            admin.offsets.reset(group, "orders", 0)
    return mqframe_cluster


async def test_what_is_seen_of_a_cluster(behind):
    async with (
        AsyncAdmin(nameserver=behind.nameserver) as admin,
        AsyncPuller(nameserver=behind.nameserver) as puller,
    ):
        asking = Asking(admin, puller)
        samples = Samples(asking, 10.0)
        seen = await cluster_seen(asking, samples)
        assert [(each.name, each.number, each.silent) for each in seen.brokers] == [("broker-a", 0, "")]
        assert "commitLogDiskRatio" in seen.brokers[0].counters
        assert [each.broker for each in seen.replicas] == ["broker-a"]
        found = {each.name: (each.lag, each.members) for each in seen.groups}
        assert found == {f"late-{number}": (4, 0) for number in range(SHOWN + 2)}
        assert (seen.letters, seen.unseen) == ({}, [])
        watch = AlarmWatch(asking, samples)
        before = watch.banner()
        assert (before.alarms, before.more) == ((), 0)
        assert "not known yet" in before.note
        await watch.look()
        lags = [each for each in watch.alarms if "no member is online" in each.link.text]
        assert len(lags) == SHOWN + 2
        banner = watch.banner()
        assert (len(banner.alarms), banner.note) == (SHOWN, "")
        assert banner.more == len(watch.alarms) - SHOWN


async def test_a_cluster_that_cannot_be_seen_is_told_and_not_taken_for_a_well_one():
    nameserver = f"127.0.0.1:{lasting_port()}"
    async with AsyncAdmin(nameserver=nameserver) as admin, AsyncPuller(nameserver=nameserver) as puller:
        asking = Asking(admin, puller)
        watch = AlarmWatch(asking, Samples(asking, 10.0))
        with pytest.raises(RetryError):
            await watch.look()
        banner = watch.banner()
        assert [each.severe for each in banner.alarms] == [True]
        assert "The cluster could not be looked at: " in banner.alarms[0].link.text
        assert banner.note == "What is wrong there now is not known."


async def test_a_broker_that_is_gone_is_missed_for_an_hour(mqframe_cluster_factory):
    cluster: Cluster = mqframe_cluster_factory(2)
    now = [1_700_000_000.0]
    at = {"nameserver": cluster.nameserver}
    async with AsyncAdmin(**at) as admin, AsyncPuller(**at) as puller:
        asking = Asking(admin, puller, now=lambda: now[0])
        watch = AlarmWatch(asking, Samples(asking, 10.0))

        async def missed(seconds: float) -> list[str]:
            now[0] += seconds
            await watch.look()
            return [each.link.text for each in watch.alarms if "is gone" in each.link.text]

        assert await missed(0) == []
        address = cluster.cluster.brokers[1].address
        cluster.stop_broker(1)
        text = f"Broker broker-b (0) at {address} is gone: it was registered 60 s ago."
        assert await missed(60) == [text]
        assert await missed(3601) == []


async def test_an_answer_that_makes_no_sense_is_told_and_does_not_end_the_looks(caplog):
    class Odd:
        """Its list of brokers is none, at first."""

        def __init__(self) -> None:
            self.answer: Any = None
            self.cluster = self.replicas = self.brokers = self.members = self
            self.runtime = self.progress = self.consumers = self.info

        async def info(self) -> Any:
            return self.answer

        async def list(self) -> Any:
            return []

    admin: Any = Odd()
    asking = Asking(admin, admin)
    watch = AlarmWatch(asking, Samples(asking, 10.0), 0.0)
    task = asyncio.create_task(watch.run())
    while "the cluster was not looked at" not in caplog.text:
        await asyncio.sleep(0)
    assert watch.banner().alarms[0].severe
    admin.answer = ClusterInfo()
    while watch.looked_ms is None:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [each.link.text for each in watch.banner().alarms] == ["No broker is registered."]

"""What is seen of a cluster, and what pages show of it."""

from __future__ import annotations

import pytest
from mqframe_dashboard.alarms.watch import SHOWN, AlarmWatch, cluster_seen
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.sampling import Samples
from mqframe_testing import Cluster
from mqframe_testing.ports import lasting_port

from mqframe import Admin, AsyncAdmin, AsyncPuller, Message, Producer
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

import pytest
from mqframe_testing.cluster import AsyncCluster, Cluster
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import ConnectError, ConnectionLost
from mqframe.core.requests.admin import GetTopicConfig
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.loose_json import loads
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock


async def ask(address, request):
    client = Client(SystemClock())
    try:
        return await client.invoke(address, request)
    finally:
        await client.close()


async def test_a_blocking_test_gets_a_cluster_that_goes_with_it():
    with Cluster() as cluster:
        directory = cluster.directory
        cluster.create_topic("orders", queues=3)
        answer = await ask(cluster.nameserver, GetRouteinfoByTopic(topic="orders"))
        assert loads(answer.body)["queueDatas"][0]["writeQueueNums"] == 3
        address = cluster.broker.address
    assert not directory.exists()
    with pytest.raises((ConnectError, ConnectionLost)):
        await ask(address, GetTopicConfig(topic="orders"))


async def test_a_blocking_cluster_comes_and_goes_beside_a_running_loop():
    with Cluster() as cluster:
        cluster.create_topic("orders", 1)
    assert cluster.loop.is_closed()


async def test_a_topic_lies_on_all_brokers():
    async with AsyncCluster(brokers=2, clock=ManualClock()) as cluster:
        await cluster.create_topic("orders", 2)
        answer = await ask(cluster.nameserver, GetRouteinfoByTopic(topic="orders"))
        names = {broker["brokerName"] for broker in loads(answer.body)["brokerDatas"]}
        assert names == {"broker-a", "broker-b"}


@pytest.mark.parametrize("end", ["restart_broker", "kill_broker"])
async def test_a_broker_comes_back_where_it_was(end, tmp_path):
    with Cluster(directory=tmp_path) as cluster:
        cluster.create_topic("orders")
        address = cluster.broker.address
        getattr(cluster, end)()
        if end == "kill_broker":
            assert (tmp_path / "broker-a" / "abort").exists()
            cluster.start_broker()
        assert cluster.broker.address == address
        assert (await ask(address, GetTopicConfig(topic="orders"))).code == 0
    assert (tmp_path / "broker-a" / "commitlog").exists()

from mqframe_testing.cluster_scene import ClusterScene
from scrapes import of_broker

from mqframe.core.filtering.bodies import SubscriptionData


async def test_members_count_by_group_language_and_version():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t"), producers=("p", "q"))
        await world.connect().heartbeat("g", SubscriptionData(topic="t"))
        shown = await of_broker(world)
        same = {"language": "python", "version": "v5_3_3", "protocol_type": "remoting"}
        assert shown.value("rocketmq_producer_connections", **same) == 2
        assert (
            shown.value("rocketmq_consumer_connections", consumer_group="g", is_system="false", **same) == 2
        )

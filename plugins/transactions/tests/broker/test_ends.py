from halves import COMMIT, ROLLBACK, end, half
from mqframe_testing.cluster_scene import ClusterScene
from scrapes import of_broker


async def test_open_and_ended_transactions_are_shown():
    async with ClusterScene(topics={"t": 2}) as world:
        first, second, third = [await half(world) for _ in range(3)]
        assert (await of_broker(world)).value("rocketmq_half_messages") == 3
        await end(world, first, COMMIT)
        await end(world, second, ROLLBACK)
        shown = await of_broker(world)
        assert shown.value("rocketmq_half_messages") == 1
        assert shown.value("rocketmq_commit_messages_total", topic="t") == 1
        assert shown.value("rocketmq_rollback_messages_total", topic="t") == 1
        assert shown.value("rocketmq_finish_message_latency_milliseconds_count", topic="t") == 1
        committed = {"topic": "t", "message_type": "transaction"}
        assert shown.value("rocketmq_messages_in_total", **committed) == 1
        await end(world, third, COMMIT)
        assert (await of_broker(world)).value("rocketmq_half_messages") == 0

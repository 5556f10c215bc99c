from mqframe_testing.cluster_scene import ClusterScene
from popping import pop, send
from scrapes import of_broker


async def test_pops_in_flight_and_what_comes_back_are_shown():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2")
        first, _ = await pop(world)
        shown = await of_broker(world)
        assert shown.value("rocketmq_pop_checkpoint_buffer_size") == 1
        assert shown.value("rocketmq_pop_offset_buffer_size") == 1
        assert shown.value("rocketmq_pop_revive_lag_milliseconds", queue_id="7") == 0
        assert shown.value("rocketmq_pop_revive_latency_milliseconds", queue_id="7") == 0
        await world.clock.aadvance(11)
        await world.client.ok(first.ack())
        await world.clock.aadvance(2)
        written = {"consumer_group": "g", "topic": "t", "put_status": "PUT_OK"}
        shown = await of_broker(world)
        name = "rocketmq_pop_revive_in_message_total"
        assert shown.value(name, revive_message_type="CK", **written) == 1
        assert shown.value(name, revive_message_type="ACK", **written) == 1
        await world.clock.aadvance(60)
        shown = await of_broker(world)
        assert shown.value("rocketmq_pop_revive_retry_messages_total", **written) == 1
        assert shown.value("rocketmq_pop_checkpoint_buffer_size") == 0

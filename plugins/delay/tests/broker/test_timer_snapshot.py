from mqframe_testing.cluster_scene import ClusterScene
from scrapes import of_broker
from timed_messages import send


async def test_what_waits_is_shown_by_topic_and_by_how_long_it_will():
    async with ClusterScene(topics={"t": 2}) as world:
        for body, seconds in (("a", 3), ("b", 40), ("c", 50), ("d", 7200)):
            await send(world, body, TIMER_DELAY_SEC=seconds)
        await world.clock.aadvance(1)
        shown = await of_broker(world)
        bounds = {
            labels["timer_bound_s"]: shown.value(
                "rocketmq_timer_message_snapshot", timer_bound_s=labels["timer_bound_s"]
            )
            for labels in shown.labels("rocketmq_timer_message_snapshot")
        }
        assert bounds == {
            "5": 1, "60": 2, "300": 0, "900": 0, "3600": 0, "14400": 1, "28800": 0, "86400": 0
        }  # fmt: skip
        assert shown.value("rocketmq_timing_messages", topic="t", storage_medium="disk") == 4
        assert shown.value("rocketmq_timer_enqueue_total", topic="t") == 4
        assert shown.value("rocketmq_delay_message_latency_seconds_count", topic="t") == 4
        assert shown.value("rocketmq_timer_dequeue_lag") == 4
        assert shown.value("rocketmq_timer_enqueue_lag") == 0
        assert shown.value("rocketmq_timer_dequeue_total") is None
        await world.clock.aadvance(10)
        later = await of_broker(world)
        assert later.value("rocketmq_timer_dequeue_total", topic="t") == 1
        assert later.value("rocketmq_timing_messages", topic="t") == 3
        assert later.value("rocketmq_timer_dequeue_latency_milliseconds") == 0

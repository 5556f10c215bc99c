from mqframe_testing.cluster_scene import ClusterScene
from popping import KEY
from scrapes import of_broker

from mqframe.hooks.interfaces.dispatcher import Dispatcher


class Nothing(Dispatcher):
    """Makes nothing durable."""

    name = "nothing"

    def dispatch(self, stretch):
        return 0


async def test_the_store_says_what_is_behind_and_how_old_it_is():
    async with ClusterScene(topics={"t": 2}) as world:
        empty = await of_broker(world)
        assert empty.value("rocketmq_storage_message_reserve_time_milliseconds") is None
        world.store.followers.add(Nothing())
        await world.client.ok_send("t", KEY)
        behind = world.store.log.max_offset - world.store.log.flushed_offset
        await world.settle_loop()
        shown = await of_broker(world)
        assert shown.value("rocketmq_storage_flush_behind_bytes", storage_type="local") == behind > 0
        assert shown.value("rocketmq_storage_dispatch_behind_bytes") == 0
        assert shown.value("mqframe_storage_log_bytes") == world.store.log.max_offset
        assert shown.value("mqframe_storage_refusing") == 0
        assert 0 < shown.value("rocketmq_storage_size_bytes") < shown.value("mqframe_storage_capacity_bytes")
        assert (
            shown.value("mqframe_dispatcher_behind_bytes", dispatcher="nothing") == world.store.log.max_offset
        )
        await world.clock.aadvance(7)
        later = await of_broker(world)
        assert later.value("rocketmq_storage_message_reserve_time_milliseconds") == 7000
        assert later.value("mqframe_dispatcher_latency_milliseconds", dispatcher="nothing") == 7000

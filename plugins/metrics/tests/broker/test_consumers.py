"""Lag of groups, as a broker shows it after real requests."""

from mqframe_testing.cluster_scene import ClusterScene
from popping import KEY, pop, send
from scrapes import of_broker

from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.consumers import UpdateConsumerOffset

NAMES = {
    "lag": "rocketmq_consumer_lag_messages",
    "latency": "rocketmq_consumer_lag_latency_milliseconds",
    "in_flight": "rocketmq_consumer_inflight_messages",
    "queueing": "rocketmq_consumer_queueing_latency_milliseconds",
    "ready": "rocketmq_consumer_ready_messages",
}


async def look(world, group="g", topic="t", is_retry="false"):
    shown = await of_broker(world)
    labels = {"consumer_group": group, "topic": topic, "is_retry": is_retry, "is_system": "false"}
    return {key: shown.value(name, **labels) for key, name in NAMES.items()}


async def commit(world, offset, queue_id=0, group="g"):
    fields = {"consumer_group": group, "topic": "t", "queue_id": queue_id, "commit_offset": offset}
    await world.client.ok(UpdateConsumerOffset(**fields))


async def test_lag_counts_what_is_behind_what_is_fetched_and_for_how_long():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await commit(world, 0)
        for _ in range(5):
            await world.client.ok_send("t", KEY)
            await world.clock.aadvance(1)
        assert await look(world) == {
            "lag": 5, "latency": 5000, "in_flight": 0, "queueing": 5000, "ready": 5
        }  # fmt: skip
        await world.client.pull("t", max_msg_nums=3)
        assert await look(world) == {
            "lag": 5, "latency": 5000, "in_flight": 3, "queueing": 2000, "ready": 2
        }  # fmt: skip
        await commit(world, 2)
        assert await look(world) == {
            "lag": 3, "latency": 3000, "in_flight": 1, "queueing": 2000, "ready": 2
        }  # fmt: skip
        await commit(world, 5)
        assert await look(world) == {"lag": 0, "latency": 0, "in_flight": 0, "queueing": 0, "ready": 0}


async def test_the_queues_of_a_topic_are_one_sum_and_the_oldest_message_counts():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        for queue_id in (0, 1):
            await commit(world, 0, queue_id)
            await world.client.ok_send("t", KEY, queue_id=queue_id)
            await world.clock.aadvance(2)
        found = await look(world)
        assert (found["lag"], found["latency"]) == (2, 4000)


async def test_a_group_whose_members_are_gone_is_still_shown():
    async with ClusterScene(topics={"t": 2}) as world:
        stranger = world.connect()
        await stranger.heartbeat("g", SubscriptionData(topic="t"))
        await commit(world, 0)
        await world.client.ok_send("t", KEY)
        await stranger.client.close()
        await world.settle_loop()
        assert (await look(world))["lag"] == 1
        assert (await of_broker(world)).labels("rocketmq_consumer_connections") == []


async def test_a_group_that_stored_nothing_yet_is_not_behind():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", KEY)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        assert (await look(world))["lag"] == 0


async def test_what_is_popped_and_not_acknowledged_is_in_flight():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await send(world, b"1", b"2", b"3")
        await world.clock.aadvance(1)
        first, _ = await pop(world, max_msg_nums=2)
        assert await look(world) == {
            "lag": 3, "latency": 1000, "in_flight": 2, "queueing": 1000, "ready": 1
        }  # fmt: skip
        await world.client.ok(first.ack())
        found = await look(world)
        assert (found["lag"], found["in_flight"], found["ready"]) == (2, 1, 1)
        await world.clock.aadvance(60)
        retried = await look(world, is_retry="true")
        assert (retried["lag"], retried["ready"]) == (1, 1)


async def test_the_broker_s_own_groups_are_not_shown():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1")
        await pop(world)
        await world.clock.aadvance(15)
        shown = await of_broker(world)
        groups = {labels["consumer_group"] for labels in shown.labels(NAMES["lag"])}
        assert groups == {"g"}

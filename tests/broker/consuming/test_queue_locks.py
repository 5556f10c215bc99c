import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.consuming.bodies import LockAnswerBody, LockBody, QueueBody
from mqframe.core.requests.consumers import LockBatchMq, UnlockBatchMq, UnregisterClient
from mqframe.core.wire.loose_json import decode, dumps

QUEUES = [QueueBody(broker_name="broker-a", queue_id=number, topic="t") for number in (0, 1)]


def body(client_id, queues=QUEUES, group="g", **fields):
    return dumps(LockBody(client_id=client_id, consumer_group=group, mq_set=list(queues), **fields))


async def join(world, *names):
    """Members of group g, each on a connection of its own."""
    members = [world.connect() for _ in names]
    for member, name in zip(members, names, strict=True):
        await member.heartbeat("g", client_id=name)
    return members


async def lock(world, client_id, queues=QUEUES, **fields):
    answer = await world.client.ok(LockBatchMq(), body(client_id, queues, **fields))
    return [queue.queue_id for queue in decode(answer.body, LockAnswerBody).lock_ok_mq_set]


async def test_a_queue_is_locked_for_one_client_for_a_minute():
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "one", "two")
        assert await lock(world, "one", QUEUES[:1]) == [0]
        assert await lock(world, "two") == [1]
        await world.clock.aadvance(59)
        assert await lock(world, "two", QUEUES[:1]) == []
        await world.clock.aadvance(2)
        assert await lock(world, "two", QUEUES[:1]) == [0]


async def test_a_lock_ends_when_the_broker_s_setting_says():
    async with ClusterScene(topics={"t": 2}, broker={"queue_lock_seconds": 10.0}) as world:
        await join(world, "one", "two")
        assert await lock(world, "one", QUEUES[:1]) == [0]
        await world.clock.aadvance(9)
        assert await lock(world, "two", QUEUES[:1]) == []
        await world.clock.aadvance(2)
        assert await lock(world, "two", QUEUES[:1]) == [0]


async def test_a_lock_can_be_given_back_by_its_holder_alone():
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "one", "two")
        assert await lock(world, "one") == [0, 1]
        await world.client.ok(UnlockBatchMq(), body("two"))
        assert await lock(world, "two") == []
        await world.client.ok(UnlockBatchMq(), body("one", QUEUES[1:]))
        assert await lock(world, "two") == [1]


async def test_strangers_get_no_lock():
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "one")
        answer = await world.client.invoke(LockBatchMq(), body("stranger"))
        assert answer.code == 206
        assert "stranger is no member of consumer group g" in answer.remark
        assert await lock(world, "one") == [0, 1]


async def test_a_group_that_no_heartbeat_has_named_yet_is_locked_for_who_asks():
    async with ClusterScene(topics={"t": 2}) as world:
        assert await lock(world, "one", QUEUES[:1], group="new") == [0]
        assert await lock(world, "two", group="new") == [1]
        await world.client.ok(UnlockBatchMq(), body("one", group="new"))
        assert await lock(world, "two", group="new") == [0, 1]


async def test_a_broker_of_the_same_name_is_believed():
    async with ClusterScene(topics={"t": 2}) as world:
        assert await lock(world, "member of its", only_this_broker=True) == [0, 1]
        await join(world, "one")
        assert await lock(world, "one") == []


@pytest.mark.parametrize("leaves", ["is gone", "unregisters"])
async def test_the_lock_of_a_member_outlives_its_connection(leaves):
    """Its listeners may still run; the queue is free when its lease has ended."""

    async with ClusterScene(topics={"t": 2}) as world:
        one, _ = await join(world, "one", "two")
        assert await lock(world, "one") == [0, 1]
        if leaves == "unregisters":
            await one.ok(UnregisterClient("one", None, "g"))
        else:
            await one.client.close()
            await world.settle()
        assert await lock(world, "two") == []
        await world.clock.aadvance(61)
        assert await lock(world, "two") == [0, 1]


@pytest.mark.parametrize("kind", [LockBatchMq, UnlockBatchMq])
@pytest.mark.parametrize(
    "bad", [b"", b"{", b"[]", b'{"consumerGroup":"g"}', b'{"clientId":"c","consumerGroup":"g","mqSet":[1]}']
)
async def test_bodies_that_say_nothing(kind, bad):
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "one")
        assert (await world.client.invoke(kind(), bad)).code == 1
        assert await lock(world, "one") == [0, 1]

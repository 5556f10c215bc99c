"""The budgets of a broker: what is refused, at which number, naming which setting, and what is shown."""

import pytest
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup, UpdateAndGetGroupForbidden
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.consuming.bodies import LockBody, QueueBody
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, UpdateAndCreateTopic
from mqframe.core.requests.consumers import HeartBeat, LockBatchMq, UnlockBatchMq, UpdateConsumerOffset
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode, dumps

BUSY = 2
KEY = "UNIQ_KEY\x01FD00AA\x02"


async def shown(world, name):
    table = decode((await world.client.ok(GetBrokerRuntimeInfo())).body, KVTable).table
    return tuple(int(table[f"budget.{name}.{what}"]) for what in ("used", "max", "refused"))


async def refused(world, request, setting, body=b""):
    answer = await world.client.invoke(request, body)
    assert (answer.code, f"(broker.{setting})" in answer.remark) == (BUSY, True), answer.remark


def topic(name):
    return UpdateAndCreateTopic(topic=name, read_queue_nums=1, write_queue_nums=1, perm=6)


async def test_topics_are_made_by_operators_and_senders_up_to_a_limit():
    async with ClusterScene(topics={"t": 2}, broker={"topics_max": 64}) as world:
        used, most, _ = await shown(world, "topics")
        for number in range(used, most):
            await world.client.ok_send(f"new{number}", KEY)
        answer = await world.client.send("one-more", properties=KEY)
        assert (answer.code, "(broker.topics_max)" in answer.remark) == (BUSY, True)
        answer = await world.client.send("%RETRY%any", properties=KEY)
        assert answer.code == BUSY
        await refused(world, topic("one-more"), "topics_max")
        await world.client.ok(topic("t"))
        await world.client.heartbeat("g")  # the retry topic of a group that exists is always made
        assert await shown(world, "topics") == (65, 64, 3)


async def test_groups_are_made_by_operators_members_and_readers_up_to_a_limit():
    async with ClusterScene(topics={"t": 2}, broker={"groups_max": 64}) as world:
        used, most, _ = await shown(world, "groups")
        for number in range(used, most):
            await world.client.pull("t", consumer_group=f"g{number}", sys_flag=4)
        assert (await world.client.pull("t", consumer_group="one-more", sys_flag=4)).code == BUSY
        body = dumps({"groupName": "one-more"})
        await refused(world, UpdateAndCreateSubscriptionGroup(), "groups_max", body)
        beat = dumps(HeartbeatData(client_id="c", consumer_data_set=[ConsumerData("one-more")]))
        await refused(world, HeartBeat(), "groups_max", beat)
        assert await shown(world, "groups") == (64, 64, 3)


async def test_offsets_have_a_limit_and_those_that_exist_go_on():
    async with ClusterScene(topics={"t": 2}, broker={"offsets_max": 64}) as world:
        await world.client.heartbeat("g")
        for number in range(70):
            await world.client.ok(topic(f"o{number}"))

        def commit(name):
            return UpdateConsumerOffset(consumer_group="g", topic=name, queue_id=0, commit_offset=0)

        used, _, _ = await shown(world, "offsets")
        codes = [(await world.client.invoke(commit(f"o{number}"))).code for number in range(70)]
        assert codes == [0] * (64 - used) + [BUSY] * (6 + used)
        assert await shown(world, "offsets") == (64, 64, 6 + used)
        await world.client.ok(commit("o0"))
        await refused(world, commit("o69"), "offsets_max")


async def test_members_and_client_ids_do_not_grow_without_end():
    async with ClusterScene(topics={"t": 2}, broker={"members_max": 64}) as world:
        for number in range(200):  # one connection that calls itself something else each time
            beat = HeartbeatData(client_id=f"c{number}", producer_data_set=[ProducerData("p")])
            await world.client.ok(HeartBeat(), dumps(beat))
        assert await shown(world, "members") == (1, 64, 0)
        for number in range(63):
            beat = HeartbeatData(client_id="c", producer_data_set=[ProducerData(f"p{number}")])
            await world.client.ok(HeartBeat(), dumps(beat))
        beat = HeartbeatData(client_id="c", producer_data_set=[ProducerData("one-more")])
        await refused(world, HeartBeat(), "members_max", dumps(beat))
        beat = HeartbeatData(client_id="c", producer_data_set=[ProducerData("p")])
        await world.client.ok(HeartBeat(), dumps(beat))


async def test_long_subscriptions_count_more_than_short_ones():
    async with ClusterScene(topics={"t": 2}, broker={"subscriptions_max": 90}) as world:
        tags = " || ".join(f"tag{n}" for n in range(1000))
        for number in range(2):
            await world.client.heartbeat(f"g{number}", SubscriptionData(topic="t", sub_string=tags))
        long = SubscriptionData(topic="t", sub_string=tags)
        beat = HeartbeatData(
            client_id="c", consumer_data_set=[ConsumerData("g2", subscription_data_set=[long])]
        )
        await refused(world, HeartBeat(), "subscriptions_max", dumps(beat))
        used, most, missed = await shown(world, "subscriptions")
        assert (used, most, missed) == (2 * (1 + (1 + len(tags)) // 256), 90, 1)


async def test_locks_of_queues_have_a_limit():
    async with ClusterScene(topics={"t": 2}, broker={"queue_locks_max": 64}) as world:

        def body(first, last):
            queues = [QueueBody("broker-a", number, "t") for number in range(first, last)]
            return dumps(LockBody("c", "g", queues, only_this_broker=True))

        await world.client.ok(LockBatchMq(), body(0, 60))
        await refused(world, LockBatchMq(), "queue_locks_max", body(50, 70))
        await world.client.ok(LockBatchMq(), body(50, 64))
        await world.client.ok(UnlockBatchMq(), body(0, 50))
        await world.client.ok(LockBatchMq(), body(100, 150))
        assert await shown(world, "queueLocks") == (64, 64, 1)
        await world.clock.aadvance(80)
        assert await shown(world, "queueLocks") == (0, 64, 1)


async def test_rules_of_operators_have_a_limit():
    async with ClusterScene(topics={"t": 2}, broker={"group_rules_max": 64}) as world:

        def forbid(number, readable=False):
            return UpdateAndGetGroupForbidden(group="g", topic=f"t{number}", readable=readable)

        for number in range(64):
            await world.client.ok(forbid(number))
        await refused(world, forbid(64), "group_rules_max")
        await world.client.ok(forbid(0, readable=True))
        await world.client.ok(forbid(64))
        await world.client.ok(forbid(64))
        assert await shown(world, "forbiddenTopics") == (64, 64, 1)


@pytest.mark.parametrize("expression", ["", "x" * 1000])
async def test_pulls_that_wait_have_a_limit(expression):
    async with ClusterScene(topics={"t": 2}, broker={"pull_waiting_max": 16}) as world:
        fields = {"sys_flag": 6, "subscription": expression or "*"}
        weight = 1 + len(expression) // 256
        waiting = [world.client.pull("t", **fields) for _ in range(16 // weight)]
        await world.settle()
        assert await shown(world, "waitingPulls") == (16 // weight * weight, 16, 0)
        answer = await world.client.pull("t", **fields)
        assert (answer.code, "(broker.pull_waiting_max)" in answer.remark) == (BUSY, True)
        assert not any(each.done() for each in waiting)
        await world.client.ok_send("t", f"TAGS\x01{expression}\x02{KEY}", queue_id=0)
        await world.settle()
        assert {(await each).code for each in waiting} == {0}
        assert await shown(world, "waitingPulls") == (0, 16, 1)

"""What pops read: which queues and messages, from which offset, and what memory or disk holds."""

import pytest
from mqframe_admin.requests import DeleteTopicInBroker, InvokeBrokerToResetOffset, UpdateBrokerConfig
from mqframe_pop.settings import PopSettings
from mqframe_testing.cluster_scene import ClusterScene
from popping import KEY, committed, pop, pop_request, popped, send


async def test_a_queue_may_be_named():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"0")
        await send(world, b"1", queue_id=1)
        assert [m.body for m in await pop(world, queue_id=1)] == [b"1"]
        assert [m.body for m in await pop(world, queue_id=0)] == [b"0"]


async def test_any_queue_means_all_of_them_and_tells_what_is_left():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"0", b"2")
        await send(world, b"1", b"3", queue_id=1)
        answer = await world.client.invoke(pop_request(max_msg_nums=3))
        assert len(popped(answer)) == 3
        assert answer.ext["restNum"] == "1"
        assert len(await pop(world)) == 1


async def test_tags_choose_and_what_is_passed_does_not_hold_the_offset():
    async with ClusterScene(topics={"t": 2}) as world:
        for tag in "abcab":
            await send(world, tag.encode(), properties=f"TAGS\x01{tag}\x02{KEY}")
        first = await pop(world, exp="a || c", exp_type="TAG")
        assert [(m.body, m.offset) for m in first] == [(b"a", 0), (b"c", 2), (b"a", 3)]
        for message in first:
            await world.client.ok(message.ack())
        assert await committed(world) == 5
        await send(world, b"b", properties=f"TAGS\x01b\x02{KEY}")
        assert await pop(world, exp="a || c", exp_type="TAG") == []
        assert await committed(world) == 6
        assert [m.body for m in await pop(world, consumer_group="h")] == [*map(str.encode, "abcabb")]


@pytest.mark.parametrize(("v2", "topic", "mark"), [("false", "%RETRY%g_t", "1"), ("true", "%RETRY%g+t", "2")])
async def test_retry_topics_of_both_forms_are_mixed_in(v2, topic, mark):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateBrokerConfig(), f"enableRetryTopicV2={v2}".encode())
        await send(world, b"1")
        await pop(world, invisible_time=1000)
        await world.clock.aadvance(1)
        assert world.store.queues.max_offset(topic, 0) == 1
        # Whatever form the broker writes now, it reads both.
        await world.client.ok(UpdateBrokerConfig(), b"enableRetryTopicV2=false")
        (again,) = await pop(world)
        assert (again.body, again.topic, again.handle.mark) == (b"1", topic, mark)
        await world.client.ok(again.ack())
        assert await committed(world, topic) == 1


async def test_a_new_group_begins_where_it_says():
    async with ClusterScene(topics={"t": 2}, store={"hot_bytes": 6000}) as world:
        await send(world, b"1", b"2", b"3")
        assert [m.body for m in await pop(world, consumer_group="old", init_mode=0)] == [b"1", b"2", b"3"]
        # A queue that is short and whole is read from its beginning all the same.
        assert len(await pop(world, consumer_group="new", init_mode=1)) == 3
        await send(world, *[bytes(900)] * 12)
        assert [m.offset for m in await pop(world, consumer_group="newest", init_mode=1)] == [14]


async def test_an_operator_s_reset_moves_the_next_pop():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        first = await pop(world)
        reset = InvokeBrokerToResetOffset(
            topic="t", group="g", timestamp=0, is_force=True, queue_id=0, offset=1
        )
        await world.client.ok(reset)
        await world.clock.aadvance(0.001)
        assert [m.body for m in await pop(world)] == [b"2", b"3"]
        for message in first:
            await world.client.ok(message.ack())
        assert await committed(world) == 1


async def test_offsets_that_do_not_exist_are_corrected():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1")
        await world.client.heartbeat("g")
        world.cluster.broker.service_port.offsets.commit("g", "t", 0, 7)  # no client can
        assert await pop(world) == []
        assert await committed(world) == 1
        await send(world, b"2")
        assert [m.body for m in await pop(world)] == [b"2"]


async def test_messages_that_lie_on_the_disk_only_are_popped_and_come_again():
    async with ClusterScene(topics={"t": 2}, store={"hot_bytes": 4000, "mapped_read_bytes": 4000}) as world:
        await send(world, *[bytes([65 + number]) * 1000 for number in range(12)])
        found = []
        while batch := await pop(world, invisible_time=1000):
            found += [m.body[:1] for m in batch]
        assert found == [bytes([65 + number]) for number in range(12)]
        await world.clock.aadvance(1)
        assert len(await pop(world)) + len(await pop(world)) == 12


async def test_more_than_is_allowed_is_not_given_away():
    async with ClusterScene(topics={"t": 2}, sections=[PopSettings(out_max=3)]) as world:
        await send(world, *[b"x"] * 5)
        assert len(await pop(world, max_msg_nums=2)) == 2
        (third,) = await pop(world, max_msg_nums=1)
        assert await pop(world) == []
        await world.client.ok(third.ack())
        assert len(await pop(world)) == 2


async def test_a_topic_that_was_made_anew_is_popped_from_its_beginning():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        await pop(world, queue_id=0)
        await world.client.ok(DeleteTopicInBroker(topic="t"))
        assert (await world.client.invoke(pop_request())).code == 17
        await world.cluster.create_topic("t", 2)
        await world.clock.aadvance(0.001)
        await send(world, b"4")
        (message,) = await pop(world, queue_id=0)
        assert message.body == b"4"
        await world.client.ok(message.ack())
        assert await committed(world) == 1

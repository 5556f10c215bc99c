"""Pops, acknowledgements and messages that come again, by raw requests."""

import asyncio

import pytest
from popping import pop_request, popped

from mqframe.core.loosejson import dumps
from mqframe.core.requests.admin import UpdateAndCreateSubscriptionGroup
from mqframe.core.requests.consumers import QueryConsumerOffset

KEY = "UNIQ_KEY\x01FD00AA\x02"


async def send(world, *bodies, topic="t", properties=KEY, **fields):
    for body in bodies:
        await world.talker.ok_send(topic, properties, body=body, **fields)


async def pop(world, **fields):
    return popped(await world.talker.invoke(pop_request(**fields)), group=fields.get("consumer_group", "g"))


async def committed(world, topic="t", queue_id=0, group="g"):
    request = QueryConsumerOffset(
        consumer_group=group, topic=topic, queue_id=queue_id, set_zero_if_not_found=False
    )
    answer = await world.talker.invoke(request)
    return int(answer.ext["offset"]) if answer.code == 0 else None


def test_popped_messages_are_hidden_until_they_are_acknowledged(run):
    async def scenario(world):
        await send(world, b"1", b"2", b"3")
        first = await pop(world, max_msg_nums=2)
        assert [m.body for m in first] == [b"1", b"2"]
        assert [m.body for m in await pop(world)] == [b"3"]
        assert await pop(world) == []
        assert await committed(world) == 0
        for message in first:
            assert (await world.talker.ok(message.ack())).ext is None
        assert await committed(world) == 2

    run(scenario)


def test_messages_that_are_not_acknowledged_come_again_once_their_time_is_over(run):
    async def scenario(world):
        await send(world, b"1", b"2", properties=f"TAGS\x01a\x02{KEY}")
        first = await pop(world)
        await world.talker.ok(first[0].ack())
        await world.clock.aadvance(59.9)
        assert await pop(world) == []
        await world.clock.aadvance(0.1)
        (again,) = await pop(world)
        assert (again.body, again.message.reconsume_times, again.message.tag) == (b"2", 1, "a")
        assert (again.topic, again.handle.mark) == ("%RETRY%g_t", "1")
        assert again.message.properties["1ST_POP_TIME"] == str(first[1].handle.pop_time)
        assert again.message.message_id == "FD00AA"
        await world.talker.ok(again.ack())
        await world.clock.aadvance(3600)
        assert await pop(world) == []
        assert await committed(world) == 2
        assert await committed(world, "%RETRY%g_t") == 1

    run(scenario)


def test_a_waiting_pop_gets_what_arrives(run):
    async def scenario(world):
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(world.talker.invoke(pop_request(poll_time=15_000, born_time=now)))
        await world.clock.aadvance(5)
        assert not waiting.done()
        await send(world, b"1", queue_id=1)
        await world.settle()
        (message,) = popped(await waiting)
        assert (message.body, message.handle.queue_id) == (b"1", 1)

    run(scenario)


def test_a_waiting_pop_ends_with_its_time(run):
    async def scenario(world):
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(world.talker.invoke(pop_request(poll_time=15_000, born_time=now)))
        await world.clock.aadvance(14.9)
        assert not waiting.done()
        await world.clock.aadvance(0.2)
        answer = await waiting
        assert (answer.code, answer.remark) == (210, "NO_MESSAGE_IN_QUEUE")
        assert answer.ext | {"reviveQid": "0"} == {
            "popTime": str(now),
            "invisibleTime": "60000",
            "reviveQid": "0",
            "restNum": "0",
            "startOffsetInfo": "",
            "msgOffsetInfo": "",
        }

    run(scenario)


def test_beyond_the_group_s_maximum_messages_are_dead_letters(run):
    async def scenario(world):
        group = dumps({"groupName": "g", "retryMaxTimes": 2})
        await world.talker.ok(UpdateAndCreateSubscriptionGroup(), group)
        await send(world, b"1")
        tries = []
        for _ in range(5):
            tries += [m.message.reconsume_times for m in await pop(world)]
            await world.clock.aadvance(60)
        assert tries == [0, 1, 2]
        assert world.store.queue_max("%DLQ%g", 0) == 1
        assert await committed(world) == 1

    run(scenario)

"""Ordered pops: one member at a time, in order, whatever fails."""

import asyncio

from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_testing.cluster_scene import ClusterScene
from popping import pop_request, popped

from mqframe.core.requests.consumers import QueryConsumerOffset
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.loose_json import dumps

KEY = "UNIQ_KEY\x01FD00AA\x02"


async def send(world, *bodies):
    for body in bodies:
        await world.client.ok_send("t", KEY, body=body)


def request(**fields):
    return pop_request(**({"order": True, "queue_id": 0, "max_msg_nums": 2} | fields))


async def pop(world, **fields):
    return popped(await world.client.invoke(request(**fields)))


async def committed(world):
    query = QueryConsumerOffset(consumer_group="g", topic="t", queue_id=0)
    return int((await world.client.ok(query)).ext["offset"])


async def test_a_queue_is_blocked_until_all_of_a_pop_is_acknowledged():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        first = await pop(world)
        assert [m.body for m in first] == [b"1", b"2"]
        assert first[0].handle.revive_queue == 999
        assert await pop(world) == []
        await world.client.ok(first[1].ack())
        assert (await committed(world), await pop(world)) == (0, [])
        await world.client.ok(first[0].ack())
        assert await committed(world) == 2
        assert [m.body for m in await pop(world)] == [b"3"]


async def test_what_is_not_acknowledged_comes_again_in_place():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        first = await pop(world, invisible_time=10_000)
        await world.client.ok(first[0].ack())
        await world.clock.aadvance(9.9)
        assert await pop(world) == []
        await world.clock.aadvance(0.1)
        answer = await world.client.invoke(request())
        assert [m.body for m in popped(answer)] == [b"2", b"3"]
        assert answer.ext["orderCountInfo"] == "0 qo0%1 1;0 0 0"
        # The first pop's handle is not good for the second's message.
        assert (await world.client.invoke(first[1].ack())).code == 208
        assert (await world.client.invoke(first[0].ack())).code == 208


async def test_the_same_attempt_does_not_block_itself():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1")
        answer = await world.client.invoke(request(attempt_id="a"))
        assert answer.ext["orderCountInfo"] == "0 0 0"
        answer = await world.client.invoke(request(attempt_id="a"))
        assert [m.body for m in popped(answer)] == [b"1"]
        assert answer.ext["orderCountInfo"] == "0 0 0"
        assert await pop(world, attempt_id="b") == []


async def test_a_waiting_pop_is_served_when_the_block_ends():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")

        def wait():
            born = world.clock.now_ms()
            return asyncio.ensure_future(
                world.client.invoke(request(poll_time=60_000, born_time=born, queue_id=-1))
            )

        first = await pop(world, invisible_time=10_000)
        waiting = wait()
        await world.clock.aadvance(9.9)
        assert not waiting.done()
        await world.clock.aadvance(0.2)
        second = popped(await waiting)
        assert [m.body for m in second] == [b"1", b"2"]
        waiting = wait()
        await world.settle()
        for message in second:
            assert not waiting.done()
            await world.client.ok(message.ack())
            await world.settle()
        assert [m.body for m in popped(await waiting)] == [b"3"]
        assert len(first) == 2


async def test_one_message_may_be_hidden_for_longer_or_shorter():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2")
        first = await pop(world, invisible_time=10_000)
        await world.client.ok(first[0].ack())
        answer = await world.client.ok(first[1].hide(3000))
        assert answer.ext == {
            "popTime": str(first[1].handle.pop_time),
            "invisibleTime": "3000",
            "reviveQid": "999",
        }
        assert (await world.client.invoke(first[0].hide(3000))).code == 208
        await world.clock.aadvance(2.9)
        assert await pop(world) == []
        await world.clock.aadvance(0.1)
        assert (await world.client.invoke(first[1].hide(3000))).code == 208
        assert [m.body for m in await pop(world)] == [b"2"]


async def test_bad_acknowledgements_do_not_move_the_offset():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        first = await pop(world)
        assert (await world.client.invoke(first[0].ack(offset=2))).code == 13
        assert await committed(world) == 0
        other = first[0].handle._replace(pop_time=first[0].handle.pop_time - 1)
        assert (await world.client.invoke(first[0].ack(extra_info=other.text))).code == 208
        assert await committed(world) == 0


async def test_what_fails_too_often_is_a_dead_letter_and_lets_the_others_pass():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(
            UpdateAndCreateSubscriptionGroup(), dumps({"groupName": "g", "retryMaxTimes": 2})
        )
        await send(world, b"bad", b"good")
        seen = []
        for _ in range(4):
            batch = await pop(world, max_msg_nums=1, invisible_time=1000)
            seen += [m.body for m in batch]
            await world.clock.aadvance(1)
        assert seen == [b"bad", b"bad", b"bad", b"good"]
        (letter,) = decode_records(world.store.reads.get("%DLQ%g", 0, 0, 32).parts[0])
        assert (letter.body, letter.properties["RETRY_TOPIC"]) == (b"bad", "t")
        assert await committed(world) == 1


async def test_a_block_survives_an_orderly_restart():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", b"3")
        first = await pop(world, invisible_time=60_000)
        await world.client.ok(first[0].ack())
        await world.cluster.restart_broker()
        again = world.connect()
        assert popped(await again.invoke(request())) == []
        await again.ok(first[1].ack())
        assert [m.body for m in popped(await again.invoke(request()))] == [b"3"]


async def test_a_pop_of_messages_that_a_crash_took_blocks_nobody():
    async with ClusterScene(topics={"t": 2}) as world:
        saved = world.cluster.directory / "broker-a/config/consumerOrderInfo.json"
        await send(world, b"1", b"2")
        await pop(world)
        await world.cluster.stop_broker()
        text = saved.read_text()
        assert '"o":[0,1]' in text
        saved.write_text(text.replace('"o":[0,1]', '"o":[1,1]'))
        saved.with_name("consumerOrderInfo.json.sum").unlink()  # it was changed by hand
        await world.cluster.start_broker()
        assert saved.read_text() == '{"table":{"t@g":{}}}', "before anything new is stored there"
        assert [m.body for m in await pop(world)] == [b"1", b"2"]

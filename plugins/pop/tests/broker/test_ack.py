"""Acknowledgements and changed invisible times: good ones, late ones, double ones, foreign ones."""

import pytest
from mqframe_pop.broker.ack import TURN_ACKS
from mqframe_pop.requests import BatchAckMessage
from mqframe_pop.rules.bodies import BatchAck, BatchAckBody, bits_of
from mqframe_testing.cluster_scene import ClusterScene
from msgspec.structs import replace
from popping import pop_request, popped

from mqframe.core.wire.loose_json import decode, dumps

KEY = "UNIQ_KEY\x01FD00AA\x02"


async def sent_and_popped(world, count=1, **fields):
    for number in range(count):
        await world.client.ok_send("t", KEY, body=b"%d" % number)
    return popped(await world.client.invoke(pop_request(**fields)))


async def pop(world, **fields):
    return popped(await world.client.invoke(pop_request(**fields)))


def batch(messages, distances, **fields):
    handle = messages[0].handle
    ack = BatchAck(
        "g", "t", handle.start_offset, handle.queue_id, handle.revive_queue, handle.pop_time,
        handle.invisible_time, handle.mark, bits_of(distances),
    )  # fmt: skip
    return dumps(BatchAckBody([replace(ack, **fields)], "broker-a"))


async def test_acknowledged_twice_is_told_and_changes_nothing():
    async with ClusterScene(topics={"t": 2}) as world:
        first, second = await sent_and_popped(world, 2)
        await world.client.ok(first.ack())
        for _ in range(2):
            answer = await world.client.invoke(first.ack())
            assert (answer.code, "acknowledged" in answer.remark) == (208, True)
        await world.clock.aadvance(60)
        assert [m.body for m in await pop(world)] == [second.body]


async def test_acknowledged_too_late_is_told_and_the_message_comes_again():
    async with ClusterScene(topics={"t": 2}) as world:
        (message,) = await sent_and_popped(world, invisible_time=5000)
        await world.clock.aadvance(5)
        answer = await world.client.invoke(message.ack())
        assert (answer.code, "comes again" in answer.remark) == (208, True)
        (again,) = await pop(world)
        assert again.body == message.body
        await world.client.ok(again.ack())


async def test_a_changed_time_counts_from_the_change():
    async with ClusterScene(topics={"t": 2}) as world:
        (message,) = await sent_and_popped(world, invisible_time=10_000)
        await world.clock.aadvance(9)
        answer = await world.client.ok(message.hide(20_000))
        now = world.clock.now_ms()
        assert answer.remark == "not set any response code"
        assert answer.ext == {
            "popTime": str(now),
            "invisibleTime": "20000",
            "reviveQid": str(message.handle.revive_queue),
        }
        await world.clock.aadvance(19.9)
        assert await pop(world) == []
        await world.clock.aadvance(0.1)
        (again,) = await pop(world)
        assert (again.body, again.message.reconsume_times) == (message.body, 1)


async def test_a_changed_time_may_be_shorter():
    async with ClusterScene(topics={"t": 2}) as world:
        (message,) = await sent_and_popped(world)
        # Its offset is the one that its pop began at, so hidden anew at once its handle needs another time.
        answer = await world.client.ok(message.hide(1000))
        assert int(answer.ext["popTime"]) == message.handle.pop_time + 1
        await world.clock.aadvance(1.001)
        assert len(await pop(world)) == 1
        await world.clock.aadvance(59)
        assert await pop(world) == []


async def test_after_a_change_the_new_handle_counts():
    async with ClusterScene(topics={"t": 2}) as world:
        (message,) = await sent_and_popped(world)
        await world.clock.aadvance(1)
        answer = await world.client.ok(message.hide(5000))
        assert (await world.client.invoke(message.ack())).code == 208
        assert (await world.client.invoke(message.hide(5000))).code == 208
        handle = message.handle._replace(
            start_offset=message.offset, pop_time=int(answer.ext["popTime"]), invisible_time=5000
        )
        await world.client.ok(message.ack(extra_info=handle.text))
        await world.clock.aadvance(3600)
        assert await pop(world) == []


async def test_a_change_is_refused_once_timed_out_or_acknowledged():
    async with ClusterScene(topics={"t": 2}) as world:
        first, second = await sent_and_popped(world, 2, invisible_time=1000)
        await world.client.ok(first.ack())
        assert (await world.client.invoke(first.hide(1000))).code == 208
        await world.clock.aadvance(1)
        answer = await world.client.invoke(second.hide(1000))
        assert (answer.code, "comes again" in answer.remark) == (208, True)
        assert [m.body for m in await pop(world)] == [second.body]


@pytest.mark.parametrize("invisible", [0, -1])
async def test_an_invisible_time_must_be_positive(invisible):
    async with ClusterScene(topics={"t": 2}) as world:
        (message,) = await sent_and_popped(world)
        answer = await world.client.invoke(message.hide(invisible))
        assert (answer.code, "invisibleTime" in answer.remark) == (29, True)
        await world.client.ok(message.ack())


async def test_many_are_acknowledged_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        messages = await sent_and_popped(world, 5)
        await world.client.ok(BatchAckMessage(), batch(messages, [0, 2, 4]))
        await world.clock.aadvance(60)
        again = await pop(world)
        assert [m.body for m in again] == [b"1", b"3"]
        await world.client.ok(BatchAckMessage(), batch(again, [0, 1]))
        await world.clock.aadvance(3600)
        assert await pop(world) == []


async def test_a_long_batch_is_served_in_several_turns():
    async with ClusterScene(topics={"t": 2}) as world:
        messages = await sent_and_popped(world, 3)
        one = decode(batch(messages, [1]), BatchAckBody).acks[0]
        other = decode(batch(messages, [2]), BatchAckBody).acks[0]
        body = dumps(BatchAckBody([one] * (2 * TURN_ACKS) + [other], "broker-a"))
        await world.client.ok(BatchAckMessage(), body)
        assert (await world.client.invoke(BatchAckMessage(), body)).code == 208
        await world.clock.aadvance(60)
        assert [m.body for m in await pop(world)] == [b"0"]


async def test_a_batch_of_which_some_are_out_is_taken_as_far_as_it_goes():
    async with ClusterScene(topics={"t": 2}) as world:
        messages = await sent_and_popped(world, 3)
        await world.client.ok(messages[0].ack())
        await world.client.ok(BatchAckMessage(), batch(messages, [0, 1, 7]))
        assert (await world.client.invoke(BatchAckMessage(), batch(messages, [0, 1]))).code == 208
        await world.clock.aadvance(60)
        assert [m.body for m in await pop(world)] == [b"2"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (dumps(BatchAckBody([])), 208),
        (b"{}", 208),
        (b"nonsense", 1),
        (b'{"acks":[{"c":"g"}]}', 1),
        (b'{"acks":[{"c":"g","t":"t","so":0,"q":0,"rq":0,"pt":1,"it":1,"b":"!"}]}', 1),
        (b'{"acks":[{"c":"g","t":"t","so":0,"q":0,"rq":0,"pt":1,"it":1,"r":"7","b":"AQ=="}]}', 13),
        (b'{"acks":[{"c":"g","t":"t","so":0,"q":0,"rq":0,"pt":1,"it":1,"b":"AQ=="}],"brokerName":"x"}', 13),
        (b'{"acks":[{"c":"g","t":"t","so":0,"q":0,"rq":0,"pt":1,"it":1,"b":"AQ=="}]}', 208),
    ],
)
async def test_bad_batches_are_refused_and_lose_nothing(body, code):
    async with ClusterScene(topics={"t": 2}) as world:
        await sent_and_popped(world)
        answer = await world.client.invoke(BatchAckMessage(), body)
        assert (answer.code, bool(answer.remark)) == (code, True)
        await world.clock.aadvance(60)
        assert len(await pop(world)) == 1


@pytest.mark.parametrize("offset", [3, 1000])
async def test_an_ordered_acknowledgement_of_what_is_not_stored_moves_no_offset(offset):
    async with ClusterScene(topics={"t": 2}) as world:
        await sent_and_popped(world, 3, order=True, queue_id=0)
        body = b'{"acks":[{"c":"h","t":"t","so":%d,"q":0,"rq":999,"pt":1,"it":1,"b":"AQ=="}]}' % offset
        assert (await world.client.invoke(BatchAckMessage(), body)).code == 208
        await world.client.heartbeat("h")
        assert len(await pop(world, consumer_group="h", order=True, queue_id=0)) == 3

"""Groups that operators move: 222, 308, 314, and 220 to members."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.cluster_scene import ClusterScene
from popping import pop_request, popped

from mqframe.core.cluster.broker_info import CorrectionOffsets, pushed_offsets
from mqframe.core.consuming.bodies import OffsetTableBody
from mqframe.core.consuming.offset_rules import NEVER
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.admin import InvokeBrokerToResetOffset
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.insight import CloneGroupOffset, QueryCorrectionOffset, ResetConsumerClientOffset
from mqframe.core.requests.serving import Reply, serves
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.core.wire.loose_json import decode, loads

KEY = "UNIQ_KEY\x01FD00AA\x02"
QUEUES = [MessageQueue("t", "broker-a", number) for number in (0, 1)]
PUSH = {"broker": {"server_side_reset": False}}
SUSPEND, SUBSCRIPTION = 2, 4


def reset(**fields):
    return InvokeBrokerToResetOffset(
        **({"topic": "t", "group": "g", "timestamp": -1, "is_force": True} | fields)
    )


async def fill(world, count=3):
    for _ in range(count):
        await world.client.ok_send("t", KEY)
        await world.clock.aadvance(1)


async def commit(world, offset, group="g", queue_id=0):
    await world.client.ok(UpdateConsumerOffset(group, "t", queue_id, offset))


async def stored(world, group="g", queue_id=0):
    answer = await world.client.invoke(QueryConsumerOffset(group, "t", queue_id, set_zero_if_not_found=False))
    return None if answer.code == 22 else int(answer.ext["offset"])


def listening(world, **beat):
    """A member that notes what it is told of resets."""
    talker, told = world.connect(), []

    @serves(ResetConsumerClientOffset)
    def note(fields, call):
        told.append((call.frame.ext, bytes(call.frame.body)))
        return Reply()

    talker.client.serve(note)
    return talker, told


async def raw(world, request, **fields):
    """Sends `request` on a connection of its own, with other fields of the frame than ours."""
    host, _, port = world.client.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    frame = Frame(request.CODE, 1, 0, None, encode_fields(request))
    for name, value in fields.items():
        setattr(frame, name, value)
    writer.write(encode_frame(frame))
    size = int.from_bytes(await reader.readexactly(4), "big")
    await reader.readexactly(size)
    writer.close()
    await writer.wait_closed()


async def test_a_pull_that_waits_is_told_of_a_reset_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await world.client.heartbeat("other", SubscriptionData(topic="t"))
        waiting = world.client.pull("t", 3, sys_flag=SUSPEND | SUBSCRIPTION)
        others = world.client.pull("t", 3, sys_flag=SUSPEND | SUBSCRIPTION, consumer_group="other")
        await world.settle()
        assert not waiting.done()
        await world.client.ok(reset(timestamp=0))
        answer = await waiting
        assert (answer.code, answer.remark, answer.ext["nextBeginOffset"]) == (21, "OFFSET_RESET", "0")
        assert not others.done()
        await world.clock.aadvance(21)
        assert (await others).code == 19


async def test_without_force_nothing_moves_forward():
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        await fill(world)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await commit(world, 2)
        answer = await world.client.ok(reset(is_force=False))
        assert decode(answer.body, OffsetTableBody).offset_table == {QUEUES[0]: 2, QUEUES[1]: 0}
        assert (await world.client.pull("t", 2)).code == 0, "no reset waits for the queue"
        answer = await world.client.ok(reset(is_force=False, timestamp=start))
        assert decode(answer.body, OffsetTableBody).offset_table[QUEUES[0]] == 0
        assert (await world.client.pull("t", 2)).code == 21


@pytest.mark.parametrize("bad", [{"topic": "t"}, {"topic": "t", "group": "g", "timestamp": "soon"}, {}])
async def test_a_reset_without_its_fields_is_refused(bad):
    async with ClusterScene(topics={"t": 2}) as world:
        request = reset()
        await world.client.heartbeat("g")
        for name in ("topic", "group", "timestamp", "is_force"):
            setattr(request, name, None)
        for name, value in bad.items():
            setattr(request, name, value)
        assert (await world.client.invoke(request)).code == 1


async def test_members_are_told_where_the_broker_keeps_no_resets():
    async with ClusterScene(topics={"t": 2}, **PUSH) as world:
        await fill(world)
        member, told = listening(world)
        await member.heartbeat("g", SubscriptionData(topic="t"), client_id="c1")
        await commit(world, 3)
        await commit(world, 0, queue_id=1)
        answer = await world.client.ok(reset(timestamp=0))
        assert decode(answer.body, OffsetTableBody).offset_table == {QUEUES[0]: 0, QUEUES[1]: 0}
        await world.settle()
        ((ext, body),) = told
        assert (ext["topic"], ext["group"], ext["isForce"]) == ("t", "g", "true")
        assert pushed_offsets(body) == {QUEUES[0]: 0, QUEUES[1]: 0}
        assert await stored(world) == 3, "the member commits, not the broker"


async def test_askers_of_another_language_are_told_in_its_form():
    async with ClusterScene(topics={"t": 2}, **PUSH) as world:
        await fill(world)
        member, told = listening(world)
        await member.heartbeat("g", SubscriptionData(topic="t"))
        await commit(world, 3)
        await raw(world, reset(timestamp=0, queue_id=0), language="CPP")
        await world.settle()
        ((_, body),) = told
        assert loads(body) == {
            "offsetTable": [{"brokerName": "broker-a", "offset": 0, "queueId": 0, "topic": "t"}]
        }


async def test_nobody_can_be_told():
    async with ClusterScene(topics={"t": 2}, **PUSH) as world:
        await fill(world)
        await world.client.heartbeat("g")
        assert (await world.client.invoke(reset(queue_id=0))).code == 1, "it has no offset to reset"
        await commit(world, 3)
        await world.disconnect(world.client)
        await world.settle()
        answer = await world.client.invoke(reset(queue_id=0))
        assert (answer.code, "g" in answer.remark) == (206, True)


async def test_offsets_are_cloned_of_all_topics_or_one():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.ok_send("t", KEY, queue_id=1)
        await world.client.heartbeat("source")
        await commit(world, 2, "source")
        await commit(world, 1, "source", queue_id=1)
        await world.client.ok(CloneGroupOffset("source", "target", "t"))
        assert [await stored(world, "target", n) for n in (0, 1)] == [2, 1]
        await commit(world, 3, "source")
        await world.client.ok(CloneGroupOffset("source", "target", offline=True))
        assert await stored(world, "target") == 3


async def test_a_topic_that_members_gave_up_is_not_cloned_unless_asked():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("source", SubscriptionData(topic="elsewhere"))
        await commit(world, 2, "source")
        await world.client.ok(CloneGroupOffset("source", "target", "t"))
        assert await stored(world, "target") is None
        await world.client.ok(CloneGroupOffset("source", "target", "t", offline=True))
        assert await stored(world, "target") == 2


async def test_members_of_the_target_go_on_from_the_clone():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("source")
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await commit(world, 1, "source")
        waiting = world.client.pull("t", 3, sys_flag=SUSPEND | SUBSCRIPTION)
        await world.settle()
        await world.client.ok(CloneGroupOffset("source", "g", "t", offline=True))
        answer = await waiting
        assert (answer.code, answer.ext["nextBeginOffset"]) == (21, "1")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (("nobody", "g", "t"), 26),
        (("nobody", "g"), 26),
        (("source", "source", "t"), 29),
        (("source", "g", "absent"), 17),
        (("source", "a b", "t"), 26),
    ],
)
async def test_clones_that_make_no_sense_are_refused(fields, code):
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        await world.client.heartbeat("source")
        await commit(world, 2, "source")
        assert (await world.client.invoke(CloneGroupOffset(*fields))).code == code


async def test_a_correction_is_the_smallest_offset_of_the_others():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        for group, offset in (("a", 2), ("b", 3), ("slow", 0), ("behind", 1)):
            await world.client.heartbeat(group)
            await commit(world, offset, group)
        request = QueryCorrectionOffset("b", "t", "slow,behind")
        answer = decode((await world.client.ok(request)).body, CorrectionOffsets)
        assert answer.correction_offsets == {0: 2}
        request = QueryCorrectionOffset("behind", "t", "slow,behind")
        answer = decode((await world.client.ok(request)).body, CorrectionOffsets)
        assert answer.correction_offsets == {0: NEVER}
        assert await stored(world, "slow") == 0, "asking removes nobody's offsets"
        request = QueryCorrectionOffset("x", "absent")
        assert decode((await world.client.ok(request)).body, CorrectionOffsets).correction_offsets == {}


async def test_a_pop_that_waits_gets_what_lies_behind_a_reset_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        await fill(world)
        for message in popped(await world.client.invoke(pop_request(max_msg_nums=32))):
            await world.client.ok(message.ack())
        waiting = world.client.invoke(
            pop_request(poll_time=15_000, born_time=world.clock.now_ms(), max_msg_nums=32)
        )
        await world.settle()
        assert not waiting.done()
        await world.client.ok(reset(queue_id=0, offset=1))
        assert [message.message.queue_offset for message in popped(await waiting)] == [1, 2]

"""Pulls that wait, over the wire."""

import asyncio
from functools import partial

import pytest
from mqframe_admin.requests import DeleteTopicInBroker, UpdateBrokerConfig
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.protocol_client import pull_request

from mqframe.broker.consuming.long_polling import HeldPull, PullLongPolling
from mqframe.broker.consuming.processor import TURN_PULLS, PullProcessor
from mqframe.core.codes import PullFlag
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.requests.serving import Call
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame

KEY = "UNIQ_KEY\x01FD00AA\x02"
WAIT = PullFlag.SUBSCRIPTION | PullFlag.SUSPEND


async def test_a_waiting_pull_gets_the_message_when_it_arrives():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT)
        await world.settle()
        assert not waiting.done()
        await world.connect().ok_send("t", KEY)
        answer = await waiting
        assert (answer.code, answer.remark) == (0, "FOUND")
        assert [m.stored_body for m in decode_records(answer.body)] == [b"body"]
        assert answer.ext["nextBeginOffset"] == "1"


async def test_a_pull_that_may_not_wait_is_answered_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.pull("t")
        assert (answer.code, answer.remark) == (19, "NO_MATCHED_LOGIC_QUEUE")


async def test_a_pull_waits_as_long_as_it_asked_for_and_until_the_next_look():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT, suspend_timeout_millis=12_000)
        await world.settle()
        await world.clock.aadvance(11)
        assert not waiting.done()
        await world.clock.aadvance(5)
        answer = await waiting
        assert answer.code == 19


async def test_only_a_wanted_tag_wakes_and_others_move_the_offset_on():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT, subscription="paid || refunded")
        await world.settle()
        other = world.connect()
        await other.ok_send("t", f"TAGS\x01open\x02{KEY}")
        await world.settle()
        assert not waiting.done()
        await world.clock.aadvance(5)
        answer = await waiting
        assert (answer.code, answer.remark) == (20, "NO_MATCHED_MESSAGE")
        assert answer.ext["nextBeginOffset"] == "1"
        waiting = world.client.pull("t", 1, sys_flag=WAIT, subscription="paid || refunded")
        await world.settle()
        await other.ok_send("t", f"TAGS\x01refunded\x02{KEY}")
        assert (await waiting).code == 0


async def test_messages_of_other_queues_wake_nobody():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT, queue_id=1)
        await world.settle()
        await world.client.ok_send("t", KEY)
        await world.settle()
        assert not waiting.done()
        await world.client.ok_send("t", KEY, queue_id=1)
        assert (await waiting).code == 0


async def test_many_pulls_of_one_queue_are_all_woken():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = [world.connect().pull("t", sys_flag=WAIT, consumer_group=f"g{n}") for n in range(5)]
        await world.settle()
        await world.client.ok_send("t", KEY)
        answers = await asyncio.gather(*waiting)
        assert [answer.code for answer in answers] == [0] * 5


async def test_a_woken_pull_is_not_held_again():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat(
            "g", SubscriptionData(topic="t", sub_string="a", code_set=[java_hash("a")])
        )
        waiting = world.client.pull("t", sys_flag=PullFlag.SUSPEND, subscription=None)
        await world.settle()
        await world.client.ok_send("t", f"TAGS\x01b\x02{KEY}")
        await world.settle()
        await world.clock.aadvance(5)
        assert (await waiting).code == 20


async def test_a_waiting_pull_commits_once():
    async with ClusterScene(topics={"t": 2}) as world:
        flags = WAIT | PullFlag.COMMIT_OFFSET
        waiting = world.client.pull("t", sys_flag=flags, commit_offset=0)
        await world.settle()
        await world.client.ok_send("t", KEY)
        await waiting
        answer = await world.client.pull("t", 1, sys_flag=4 | PullFlag.COMMIT_OFFSET, commit_offset=1)
        assert answer.remark == "OFFSET_OVERFLOW_ONE"


async def test_pulls_of_a_closed_connection_are_forgotten():
    async with ClusterScene(topics={"t": 2}) as world:
        leaving = world.connect()
        waiting = asyncio.ensure_future(leaving.pull("t", sys_flag=WAIT))
        await world.settle()
        await leaving.client.close()
        await asyncio.gather(waiting, return_exceptions=True)
        await world.settle()
        stays = world.client.pull("t", sys_flag=WAIT)
        await world.settle()
        await world.client.ok_send("t", KEY)
        assert (await stays).code == 0


async def test_deleting_the_topic_ends_the_wait():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT)
        await world.settle()
        await world.client.ok(DeleteTopicInBroker(topic="t"))
        await world.clock.aadvance(20)
        assert (await waiting).code == 17


async def test_without_long_polling_a_pull_waits_a_short_time():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateBrokerConfig(), b"longPollingEnable=false\nshortPollingTimeMills=2000\n")
        waiting = world.client.pull("t", sys_flag=WAIT, suspend_timeout_millis=600_000)
        await world.settle()
        await world.clock.aadvance(5)
        assert (await waiting).code == 19


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_nobody_sees_a_message_before_it_is_confirmed(flush):
    async with ClusterScene(topics={"t": 2}, store={"flush": flush}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT)
        await world.settle()
        await world.connect().ok_send("t", KEY)
        answer = await waiting
        assert answer.ext["maxOffset"] == "1"
        assert world.store.log.confirmed_offset == world.store.log.max_offset


async def test_many_that_wait_are_answered_in_several_turns():
    async with ClusterScene(topics={"t": 2}) as world:
        others = [world.connect() for _ in range(2)]
        waiting = [talker.pull("t", sys_flag=WAIT) for talker in others for _ in range(TURN_PULLS)]
        await world.settle()
        await world.client.ok_send("t", KEY)
        answers = await asyncio.gather(*waiting)
        assert {(answer.code, answer.ext["nextBeginOffset"]) for answer in answers} == {(0, "1")}


async def test_one_that_can_be_answered_a_shorter_way_is_and_another_as_ever():
    async with ClusterScene(topics={"t": 2}) as world:
        pulls, choice = world.cluster.broker.part(PullProcessor), RecordChoice(None)
        asked = []
        for opaque, can in ((1, True), (2, False)):
            call = Call(Frame(11, opaque), Answered(), 0.0)
            shorter = partial(lambda can, held: asked.append(held.call.frame.opaque) or can, can)
            pulls.hold(call, pull_request("t"), SubscriptionGroupConfig(group_name="g"), choice, shorter)
        await world.client.ok_send("t", KEY)
        await world.settle()
        assert asked == [1, 2]
        assert [(call.frame.opaque, reply.remark) for call, reply in Answered.answers] == [(2, "FOUND")]


class Answered:
    """The connection of pulls: remembers what they were answered."""

    address, closed = "10.0.0.9:1", False
    answers = []

    def answer(self, call, reply):
        self.answers.append((call, reply))


def test_what_waits_keeps_neither_its_body_nor_long_fields():
    call = Call(Frame(11, ext={"a": "x" * 5000}, body=b"x" * 1000), Peer(), 0.0)
    call.let_go()
    assert (call.frame.ext, call.frame.body) == ({}, b"")
    call = Call(Frame(11, ext={"topic": "t"}, body=b""), Peer(), 0.0)
    call.let_go()
    assert call.frame.ext == {"topic": "t"}


class Peer:
    """A connection that is not used."""

    address = "10.0.0.9:1"


def test_one_that_nobody_wants_any_more_is_dropped():
    polling = PullLongPolling(ManualClock(), lambda topic, queue_id: 0)
    group = SubscriptionGroupConfig(group_name="g")

    def held(queue_id, weight):
        call = Call(Frame(11), Talking(), 0.0)
        return HeldPull(call, pull_request("t", queue_id=queue_id), group, None, 9.0, None, 0, weight)

    pulls = [held(0, 1), held(0, 2), held(1, 4)]
    for pull in pulls:
        polling.hold(pull)
    polling.drop(pulls[1])
    polling.drop(pulls[1])
    assert (len(polling), polling.weight) == (2, 5)
    assert polling.arrived("t", 1, 1, []) == [pulls[2]]
    polling.drop(pulls[2])  # it is being answered
    assert polling.release_all() == [pulls[0]]
    assert polling.weight == 0


class Talking:
    """The connection of a pull."""

    closed = False

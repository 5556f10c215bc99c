"""Pops that wait for messages: whom something arrived for, and whose time is over."""

import asyncio
import weakref

import pytest
from mqframe_pop.broker.long_polling import HeldPop, PopLongPolling
from mqframe_pop.requests import PollingInfo
from mqframe_pop.settings import PopSettings
from mqframe_testing.cluster_scene import ClusterScene
from popping import KEY, pop, pop_request, popped, send

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.errors import MqframeError
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame


async def test_a_waiting_pop_gets_what_arrives():
    async with ClusterScene(topics={"t": 2}) as world:
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(world.client.invoke(pop_request(poll_time=15_000, born_time=now)))
        await world.clock.aadvance(5)
        assert not waiting.done()
        await send(world, b"1", queue_id=1)
        await world.settle()
        (message,) = popped(await waiting)
        assert (message.body, message.handle.queue_id) == (b"1", 1)


async def test_a_waiting_pop_ends_with_its_time():
    async with ClusterScene(topics={"t": 2}) as world:
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(world.client.invoke(pop_request(poll_time=15_000, born_time=now)))
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


async def test_a_waiting_pop_is_woken_by_tags_that_it_wants_only():
    async with ClusterScene(topics={"t": 2}) as world:
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(
            world.client.invoke(pop_request(poll_time=15_000, born_time=now, exp="a"))
        )
        await world.settle()
        await send(world, b"b", properties=f"TAGS\x01b\x02{KEY}")
        await world.settle()
        assert not waiting.done()
        await send(world, b"a", properties=f"TAGS\x01a\x02{KEY}")
        await world.settle()
        assert [(m.body, m.offset) for m in popped(await waiting)] == [(b"a", 1)]


async def test_pops_that_wait_are_served_in_turn_and_told_apart_by_group():
    async with ClusterScene(topics={"t": 2}) as world:
        now = world.clock.now_ms()

        def wait(**fields):
            request = pop_request(poll_time=15_000, born_time=now, max_msg_nums=1, **fields)
            return asyncio.ensure_future(world.client.invoke(request))

        first, second, other = wait(), wait(), wait(consumer_group="h")
        await world.settle()
        info = PollingInfo(consumer_group="g", topic="t", queue_id=-1)
        assert (await world.client.ok(info)).ext == {"pollingNum": "2"}
        await send(world, b"1")
        await world.settle()
        assert (first.done(), second.done(), other.done()) == (True, False, True)
        await send(world, b"2")
        await world.settle()
        assert [m.body for m in popped(await first) + popped(await second)] == [b"1", b"2"]
        assert [m.body for m in popped(await other, group="h")] == [b"1"]


async def test_messages_that_come_again_wake_pops_of_their_topic():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1")
        await pop(world, invisible_time=5000)
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(
            world.client.invoke(pop_request(poll_time=15_000, born_time=now, queue_id=1))
        )
        await world.clock.aadvance(4.9)
        assert not waiting.done()
        await world.clock.aadvance(0.2)
        (again,) = popped(await waiting)
        assert (again.body, again.handle.mark, again.message.reconsume_times) == (b"1", "1", 1)


async def test_no_more_may_wait_than_is_allowed():
    async with ClusterScene(topics={"t": 2}, sections=[PopSettings(waiting_queue_max=2)]) as world:
        now = world.clock.now_ms()
        request = pop_request(poll_time=1000, born_time=now)
        waiting = [asyncio.ensure_future(world.client.invoke(request)) for _ in range(2)]
        await world.settle()
        answer = await world.client.invoke(request)
        assert (answer.code, answer.remark) == (209, "NO_MESSAGE_IN_QUEUE")
        await world.clock.aadvance(1.1)
        assert [(await each).code for each in waiting] == [210, 210]


async def test_a_sender_whose_clock_runs_ahead_waits_no_longer_than_it_says():
    async with ClusterScene(topics={"t": 2}) as world:
        born = world.clock.now_ms() + 3_600_000
        waiting = asyncio.ensure_future(world.client.invoke(pop_request(poll_time=5000, born_time=born)))
        await world.clock.aadvance(5.1)
        assert (await waiting).code == 210


async def test_a_connection_that_closes_waits_no_more():
    async with ClusterScene(topics={"t": 2}) as world:
        born = world.clock.now_ms()
        gone = world.connect()
        lost = asyncio.ensure_future(gone.invoke(pop_request(poll_time=60_000, born_time=born)))
        await world.settle()
        await gone.client.close()
        await world.settle()
        with pytest.raises(MqframeError):
            await lost
        await send(world, b"1")
        await world.settle()
        assert [m.body for m in await pop(world)] == [b"1"]


class Connection:
    """A peer of which only its state counts."""

    def __init__(self):
        self.closed = False


def held(waiting, deadline=10.0, peer=None, codes=None, **fields):
    """A request that `waiting` holds now."""
    call = Call(Frame(0), peer or Connection(), 0.0)
    one = HeldPop(call, pop_request(**fields), TopicConfig("t"), RecordChoice(codes), deadline, Reply())
    waiting.hold(one)
    return one


def served(waiting, woken):
    """All that are to be served, in their order; none of them waits any more."""
    return [one for each in woken for one in iter(lambda each=each: waiting.release_next(each), None)]


def test_those_of_the_queue_come_before_those_of_any_queue_each_the_oldest_first():
    waiting = PopLongPolling()
    any_queue, first, other, second = (held(waiting, queue_id=at) for at in (-1, 3, 4, 3))
    woken = waiting.arrived("t", 3, [7])
    assert [(each.at, each.queue_id) for each in woken] == [(3, 3), (-1, 3)]
    assert served(waiting, woken) == [first, second, any_queue]
    assert (len(waiting), waiting.at("t", "g", 4), waiting.release_all()) == (1, 1, [other])


def test_who_found_nothing_waits_on_in_its_place():
    waiting = PopLongPolling()
    one, two, three = (held(waiting, codes=codes) for codes in ({1}, {2}, {2}))
    (_, woken) = waiting.arrived("t", 0, [2])
    assert waiting.release_next(woken) is two
    assert len(waiting) == 2
    waiting.hold(two)
    assert (len(waiting), waiting.release_all()) == (3, [one, two, three])


def test_retries_of_a_group_concern_all_of_its_requests_and_no_other_group_s():
    waiting = PopLongPolling()
    mine = [held(waiting, queue_id=at, codes={1}) for at in (2, -1)]
    held(waiting, consumer_group="h")
    for topic in ("%RETRY%g_t", "%RETRY%g+t"):
        woken = waiting.arrived(topic, 0, [5])
        assert sorted(each[:3] for each in woken) == [(("t", "g"), -1, -1), (("t", "g"), 2, -1)]
    assert served(waiting, woken) == mine
    assert not waiting.arrived("u", 0, [5])
    assert not waiting.wake("u", "g", 0)


def test_what_is_over_is_taken_once_and_the_next_end_is_known():
    waiting = PopLongPolling()
    late, soon, later = (held(waiting, deadline) for deadline in (9.0, 1.0, 4.0))
    assert waiting.release_expired(0.5) == ([], 1.0)
    assert waiting.release_expired(4.0) == ([soon, later], 9.0)
    assert waiting.release_expired(9.0) == ([late], None)
    assert waiting.release_expired(9.0) == ([], None)


def test_closed_connections_leave_nothing_behind():
    waiting = PopLongPolling()
    gone, silent = Connection(), Connection()
    held(waiting, peer=gone)
    held(waiting, peer=silent)
    stays = held(waiting)
    waiting.forget(gone)
    assert len(waiting) == 2
    silent.closed = True
    assert served(waiting, waiting.wake("t", "g", -1)) == [stays]
    waiting.clean()
    assert (len(waiting), waiting.names) == (0, {})


def test_answered_ones_are_let_go_before_their_time():
    waiting = PopLongPolling()
    answered = [weakref.ref(held(waiting, 1000.0)) for _ in range(5000)]
    while waiting.release_next(waiting.wake("t", "g", -1)[0]) is not None:
        pass
    stays = held(waiting, 2000.0)
    assert waiting.release_expired(0.0) == ([], 2000.0)
    assert not any(each() for each in answered)
    assert waiting.release_all() == [stays]


def test_the_next_end_and_what_a_closed_connection_left_are_known_at_once():
    waiting = PopLongPolling()
    others, gone = Connection(), Connection()
    for number in range(300):
        held(waiting, 50.0 + number, peer=others)
    first = held(waiting, 1.0)
    held(waiting, 2.0, peer=gone)
    assert waiting.release_expired(1.5) == ([first], 2.0)
    waiting.forget(gone)
    assert waiting.release_expired(1.5) == ([], 50.0)
    assert (len(waiting), waiting.weight) == (300, 300)
    waiting.forget(others)
    assert (len(waiting), waiting.weight, waiting.release_expired(1e9)) == (0, 0, ([], None))


def test_one_that_nobody_wants_any_more_is_dropped_wherever_it_is():
    waiting = PopLongPolling()
    first, second, third = (held(waiting) for _ in range(3))
    waiting.drop(second)
    waiting.drop(second)
    assert (len(waiting), waiting.weight) == (2, 2)
    (_, woken) = waiting.arrived("t", 0, [7])
    assert waiting.release_next(woken) is first
    waiting.drop(first)  # it is being served
    assert waiting.release_all() == [third]
    assert waiting.weight == 0

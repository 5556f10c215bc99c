"""Pops, acknowledgements and messages that come again, by raw requests."""

import asyncio

import pytest
from msgspec.structs import replace
from popping import pop_request, popped

from mqframe.core.bodies import ConsumeStats
from mqframe.core.errors import MqframeError
from mqframe.core.loosejson import decode, dumps
from mqframe.core.message import MessageQueue
from mqframe.core.record import decode_records
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    GetConsumeStats,
    InvokeBrokerToResetOffset,
    UpdateAndCreateSubscriptionGroup,
    UpdateBrokerConfig,
)
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.pop import Notification, PeekMessage, PollingInfo

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
        assert await committed(world) == 1
        (letter,) = decode_records(world.store.get("%DLQ%g", 0, 0, 32).parts[0])
        assert (letter.body, letter.message_id, letter.reconsume_times) == (b"1", "FD00AA", 3)
        assert letter.properties["RETRY_TOPIC"] == "t"
        assert letter.properties["ORIGIN_MESSAGE_ID"]

    run(scenario)


def test_a_queue_may_be_named(run):
    async def scenario(world):
        await send(world, b"0")
        await send(world, b"1", queue_id=1)
        assert [m.body for m in await pop(world, queue_id=1)] == [b"1"]
        assert [m.body for m in await pop(world, queue_id=0)] == [b"0"]

    run(scenario)


def test_any_queue_means_all_of_them_and_tells_what_is_left(run):
    async def scenario(world):
        await send(world, b"0", b"2")
        await send(world, b"1", b"3", queue_id=1)
        answer = await world.talker.invoke(pop_request(max_msg_nums=3))
        assert len(popped(answer)) == 3
        assert answer.ext["restNum"] == "1"
        assert len(await pop(world)) == 1

    run(scenario)


def test_tags_choose_and_what_is_passed_does_not_hold_the_offset(run):
    async def scenario(world):
        for tag in "abcab":
            await send(world, tag.encode(), properties=f"TAGS\x01{tag}\x02{KEY}")
        first = await pop(world, exp="a || c", exp_type="TAG")
        assert [(m.body, m.offset) for m in first] == [(b"a", 0), (b"c", 2), (b"a", 3)]
        for message in first:
            await world.talker.ok(message.ack())
        assert await committed(world) == 5
        await send(world, b"b", properties=f"TAGS\x01b\x02{KEY}")
        assert await pop(world, exp="a || c", exp_type="TAG") == []
        assert await committed(world) == 6
        assert [m.body for m in await pop(world, consumer_group="h")] == [*map(str.encode, "abcabb")]

    run(scenario)


def test_a_waiting_pop_is_woken_by_tags_that_it_wants_only(run):
    async def scenario(world):
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(
            world.talker.invoke(pop_request(poll_time=15_000, born_time=now, exp="a"))
        )
        await world.settle()
        await send(world, b"b", properties=f"TAGS\x01b\x02{KEY}")
        await world.settle()
        assert not waiting.done()
        await send(world, b"a", properties=f"TAGS\x01a\x02{KEY}")
        await world.settle()
        assert [(m.body, m.offset) for m in popped(await waiting)] == [(b"a", 1)]

    run(scenario)


def test_pops_that_wait_are_served_in_turn_and_told_apart_by_group(run):
    async def scenario(world):
        now = world.clock.now_ms()

        def wait(**fields):
            request = pop_request(poll_time=15_000, born_time=now, max_msg_nums=1, **fields)
            return asyncio.ensure_future(world.talker.invoke(request))

        first, second, other = wait(), wait(), wait(consumer_group="h")
        await world.settle()
        info = PollingInfo(consumer_group="g", topic="t", queue_id=-1)
        assert (await world.talker.ok(info)).ext == {"pollingNum": "2"}
        await send(world, b"1")
        await world.settle()
        assert (first.done(), second.done(), other.done()) == (True, False, True)
        await send(world, b"2")
        await world.settle()
        assert [m.body for m in popped(await first) + popped(await second)] == [b"1", b"2"]
        assert [m.body for m in popped(await other, group="h")] == [b"1"]

    run(scenario)


def test_messages_that_come_again_wake_pops_of_their_topic(run):
    async def scenario(world):
        await send(world, b"1")
        await pop(world, invisible_time=5000)
        now = world.clock.now_ms()
        waiting = asyncio.ensure_future(
            world.talker.invoke(pop_request(poll_time=15_000, born_time=now, queue_id=1))
        )
        await world.clock.aadvance(4.9)
        assert not waiting.done()
        await world.clock.aadvance(0.2)
        (again,) = popped(await waiting)
        assert (again.body, again.handle.mark, again.message.reconsume_times) == (b"1", "1", 1)

    run(scenario)


@pytest.mark.parametrize(("v2", "topic", "mark"), [("false", "%RETRY%g_t", "1"), ("true", "%RETRY%g+t", "2")])
def test_retry_topics_of_both_forms_are_mixed_in(run, v2, topic, mark):
    async def scenario(world):
        await world.talker.ok(UpdateBrokerConfig(), f"enableRetryTopicV2={v2}".encode())
        await send(world, b"1")
        await pop(world, invisible_time=1000)
        await world.clock.aadvance(1)
        assert world.store.queue_max(topic, 0) == 1
        # Whatever form the broker writes now, it reads both.
        await world.talker.ok(UpdateBrokerConfig(), b"enableRetryTopicV2=false")
        (again,) = await pop(world)
        assert (again.body, again.topic, again.handle.mark) == (b"1", topic, mark)
        await world.talker.ok(again.ack())
        assert await committed(world, topic) == 1

    run(scenario)


def test_a_new_group_begins_where_it_says(run):
    async def scenario(world):
        await send(world, b"1", b"2", b"3")
        assert [m.body for m in await pop(world, consumer_group="old", init_mode=0)] == [b"1", b"2", b"3"]
        # A queue that is short and whole is read from its beginning all the same.
        assert len(await pop(world, consumer_group="new", init_mode=1)) == 3
        await send(world, *[bytes(900)] * 12)
        assert [m.offset for m in await pop(world, consumer_group="newest", init_mode=1)] == [14]

    run(scenario, store={"hot_bytes": 6000})


def test_an_operator_s_reset_moves_the_next_pop(run):
    async def scenario(world):
        await send(world, b"1", b"2", b"3")
        first = await pop(world)
        reset = InvokeBrokerToResetOffset(
            topic="t", group="g", timestamp=0, is_force=True, queue_id=0, offset=1
        )
        await world.talker.ok(reset)
        await world.clock.aadvance(0.001)
        assert [m.body for m in await pop(world)] == [b"2", b"3"]
        for message in first:
            await world.talker.ok(message.ack())
        assert await committed(world) == 1

    run(scenario)


def test_offsets_that_do_not_exist_are_corrected(run):
    async def scenario(world):
        await send(world, b"1")
        update = UpdateConsumerOffset(consumer_group="g", topic="t", queue_id=0, commit_offset=7)
        await world.talker.beat("g")
        await world.talker.ok(update)
        assert await pop(world) == []
        assert await committed(world) == 1
        await send(world, b"2")
        assert [m.body for m in await pop(world)] == [b"2"]

    run(scenario)


def test_messages_that_lie_on_the_disk_only_are_popped_and_come_again(run):
    async def scenario(world):
        await send(world, *[bytes([65 + number]) * 1000 for number in range(12)])
        found = []
        while batch := await pop(world, invisible_time=1000):
            found += [m.body[:1] for m in batch]
        assert found == [bytes([65 + number]) for number in range(12)]
        await world.clock.aadvance(1)
        assert len(await pop(world)) + len(await pop(world)) == 12

    run(scenario, store={"hot_bytes": 4000, "mapped_read_bytes": 4000})


def test_what_is_out_shows_in_the_group_s_statistics(run):
    async def scenario(world):
        await send(world, b"1", b"2", b"3")
        first = await pop(world, max_msg_nums=2)
        await world.talker.ok(first[0].ack())
        answer = await world.talker.ok(GetConsumeStats(consumer_group="g", topic="t"))
        table = decode(answer.body, ConsumeStats).offset_table
        wrapper = table[MessageQueue("t", "broker-a", 0)]
        assert (wrapper.broker_offset, wrapper.consumer_offset, wrapper.pull_offset) == (3, 0, 2)
        await world.talker.ok(first[1].ack())
        answer = await world.talker.ok(GetConsumeStats(consumer_group="g", topic="t"))
        wrapper = decode(answer.body, ConsumeStats).offset_table[MessageQueue("t", "broker-a", 0)]
        assert (wrapper.consumer_offset, wrapper.pull_offset) == (2, 2)

    run(scenario)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "absent"}, 17),
        ({"consumer_group": "bad group"}, 26),
        ({"consumer_group": "stopped"}, 16),
        ({"topic": "writeonly"}, 16),
        ({"queue_id": 2}, 29),
        ({"max_msg_nums": 33}, 29),
        ({"max_msg_nums": 0}, 29),
        ({"invisible_time": 0}, 29),
        ({"invisible_time": -5}, 29),
        ({"exp": "||"}, 23),
        ({"exp": "a >", "exp_type": "SQL92"}, 23),
        ({"born_time": 1_600_000_000_000, "poll_time": 15_000}, 210),
    ],
)
def test_pops_that_cannot_be_served_are_refused(run, fields, code):
    async def scenario(world):
        await world.cluster.create_topic("writeonly", 1, perm=2)
        stopped = dumps({"groupName": "stopped", "consumeEnable": False})
        await world.talker.ok(UpdateAndCreateSubscriptionGroup(), stopped)
        await world.talker.ok(UpdateBrokerConfig(), b"enablePropertyFilter=true")
        answer = await world.talker.invoke(pop_request(**fields))
        assert (answer.code, bool(answer.remark), not answer.ext) == (code, True, True)

    run(scenario)


def test_no_more_may_wait_than_is_allowed(run):
    async def scenario(world):
        now = world.clock.now_ms()
        request = pop_request(poll_time=1000, born_time=now)
        waiting = [asyncio.ensure_future(world.talker.invoke(request)) for _ in range(2)]
        await world.settle()
        answer = await world.talker.invoke(request)
        assert (answer.code, answer.remark) == (209, "NO_MESSAGE_IN_QUEUE")
        await world.clock.aadvance(1.1)
        assert [(await each).code for each in waiting] == [210, 210]

    run(scenario, broker={"pop_waiting_queue_max": 2})


def test_more_than_is_allowed_is_not_given_away(run):
    async def scenario(world):
        await send(world, *[b"x"] * 5)
        assert len(await pop(world, max_msg_nums=2)) == 2
        (third,) = await pop(world, max_msg_nums=1)
        assert await pop(world) == []
        await world.talker.ok(third.ack())
        assert len(await pop(world)) == 2

    run(scenario, broker={"pop_out_max": 3})


def test_a_peek_takes_nothing(run):
    async def scenario(world):
        await send(world, b"1", b"2")
        peek = PeekMessage(topic="t", queue_id=-1, max_msg_nums=1, consumer_group="g")
        for _ in range(2):
            answer = await world.talker.ok(peek)
            assert [m.body for m in decode_records(answer.body)] == [b"1"]
            assert answer.ext["restNum"] == "2"
        await pop(world)
        assert (await world.talker.invoke(peek)).code == 19
        assert (await world.talker.invoke(replace(peek, max_msg_nums=0))).code == 29
        assert (await world.talker.invoke(replace(peek, topic="absent"))).code == 17

    run(scenario)


def test_a_notification_comes_when_there_is_something_to_pop(run):
    async def scenario(world):
        now = world.clock.now_ms()
        ask = Notification(consumer_group="g", topic="t", queue_id=-1, poll_time=10_000, born_time=now)
        waiting = asyncio.ensure_future(world.talker.ok(ask))
        await world.settle()
        assert not waiting.done()
        await send(world, b"1")
        await world.settle()
        assert (await waiting).ext == {"hasMsg": "true", "pollingFull": "false"}
        assert (await world.talker.ok(ask)).ext["hasMsg"] == "true"
        await pop(world)
        waiting = asyncio.ensure_future(world.talker.ok(ask))
        await world.clock.aadvance(10.1)
        assert (await waiting).ext == {"hasMsg": "false", "pollingFull": "false"}
        assert (await world.talker.invoke(replace(ask, topic="absent"))).code == 17
        assert (await world.talker.invoke(replace(ask, queue_id=9))).code == 29

    run(scenario)


def test_a_topic_that_was_made_anew_is_popped_from_its_beginning(run):
    async def scenario(world):
        await send(world, b"1", b"2", b"3")
        await pop(world, queue_id=0)
        await world.talker.ok(DeleteTopicInBroker(topic="t"))
        assert (await world.talker.invoke(pop_request())).code == 17
        await world.cluster.create_topic("t", 2)
        await world.clock.aadvance(0.001)
        await send(world, b"4")
        (message,) = await pop(world, queue_id=0)
        assert message.body == b"4"
        await world.talker.ok(message.ack())
        assert await committed(world) == 1

    run(scenario)


def test_messages_of_a_group_or_topic_that_is_gone_are_let_go(run):
    async def scenario(world):
        await send(world, b"1")
        await pop(world, invisible_time=20_000)
        await world.clock.aadvance(11)
        await world.talker.ok(DeleteSubscriptionGroup(group_name="g", clean_offset=True))
        await world.clock.aadvance(10)
        assert world.store.queue_max("%RETRY%g_t", 0) == 0

    run(scenario)


def test_a_sender_whose_clock_runs_ahead_waits_no_longer_than_it_says(run):
    async def scenario(world):
        born = world.clock.now_ms() + 3_600_000
        waiting = asyncio.ensure_future(world.talker.invoke(pop_request(poll_time=5000, born_time=born)))
        await world.clock.aadvance(5.1)
        assert (await waiting).code == 210

    run(scenario)


def test_a_connection_that_closes_waits_no_more(run):
    async def scenario(world):
        born = world.clock.now_ms()
        gone = world.join()
        lost = asyncio.ensure_future(gone.invoke(pop_request(poll_time=60_000, born_time=born)))
        await world.settle()
        await gone.client.close()
        await world.settle()
        with pytest.raises(MqframeError):
            await lost
        await send(world, b"1")
        await world.settle()
        assert [m.body for m in await pop(world)] == [b"1"]

    run(scenario)

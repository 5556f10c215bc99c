"""Messages that a client sends on with all that was noted in them, in a broker whose clock the test moves."""

from __future__ import annotations

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.requests.admin import UpdateAndCreateSubscriptionGroup
from mqframe.core.requests.messages import ConsumerSendMsgBack, SendBatchMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.loose_json import dumps

KEY = "UNIQ_KEY\x01FD00AA\x02"
NOTES = (
    "REAL_TOPIC\x01old\x02REAL_QID\x015\x02TIMER_OUT_MS\x01{out}\x02TIMER_ENQUEUE_MS\x015\x02"
    "TIMER_DEQUEUE_MS\x016\x02TIMER_ROLL_TIMES\x011\x02MSG_REGION\x01elsewhere\x02"
)
RETURNS = "RETRY_TOPIC\x01old\x02ORIGIN_MESSAGE_ID\x01BEEF\x021ST_POP_TIME\x017\x02RECONSUME_TIME\x013\x02"


def lying(world, topic, queue_id=0):
    parts = world.store.reads.get(topic, queue_id, 0, 1000).parts
    return [message for part in parts for message in decode_records(part)]


def bodies(world, topic="t"):
    return [message.stored_body for message in lying(world, topic)]


@pytest.mark.parametrize("notes", [NOTES, "TIMER_OUT_MS\x01{out}\x02", "TIMER_OUT_MS\x01x\x02"])
@pytest.mark.parametrize(
    ("wish", "after"),
    [
        ("TIMER_DELAY_MS\x0190000\x02", 90),
        ("TIMER_DELAY_SEC\x0160\x02TIMER_DELIVER_MS\x01{at}\x02", 90),
        ("DELAY\x011\x02TIMER_DELIVER_MS\x01{at}\x02", 90),
        ("DELAY\x015\x02TIMER_DELIVER_MS\x01{out}\x02", 60),
    ],
)
async def test_no_message_comes_before_its_time_whatever_its_sender_says_of_earlier_waits(notes, wish, after):
    async with ClusterScene(topics={"t": 2}) as world:
        now = world.clock.now_ms()
        text = KEY + (wish + notes).format(at=now + 90_000, out=now - 1000)
        await world.client.ok_send("t", text, body=b"later")
        await world.clock.aadvance(after - 0.5)
        assert bodies(world) == []
        await world.clock.aadvance(1.5)
        assert bodies(world) == [b"later"]


async def test_a_message_whose_time_has_passed_is_sent_on_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        now = world.clock.now_ms()
        await world.client.ok_send("t", f"{KEY}TIMER_DELIVER_MS\x01{now - 5}\x02{NOTES.format(out=now)}")
        (message,) = lying(world, "t")
        assert set(message.properties) == {
            "UNIQ_KEY",
            "TIMER_DELIVER_MS",
            "MSG_REGION",
            "TRACE_ON",
            "CLUSTER",
        }
        assert message.properties["MSG_REGION"] == "DefaultRegion"


async def test_a_half_message_does_not_bring_an_end_of_its_delay_along():
    async with ClusterScene(topics={"t": 2}) as world:
        text = f"{KEY}TRAN_MSG\x01true\x02PGROUP\x01p\x02TIMER_DELAY_SEC\x019\x02TIMER_OUT_MS\x015\x02"
        await world.client.ok_send("t", text)
        (half,) = lying(world, "RMQ_SYS_TRANS_HALF_TOPIC")
        assert "TIMER_OUT_MS" not in half.properties
        assert half.properties["TIMER_DELAY_SEC"] == "9"


async def test_a_retry_copy_of_a_client_waits_at_its_level_whatever_it_waited_for_before():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), dumps({"groupName": "g"}))
        far = world.clock.now_ms() + 3_600_000
        text = f"{KEY}DELAY\x013\x02TIMER_DELIVER_MS\x01{far}\x02{NOTES.format(out=5)}{RETURNS}"
        await world.client.ok_send("%RETRY%g", text, reconsume_times=1)
        await world.clock.aadvance(10)
        (copy,) = lying(world, "%RETRY%g")
        assert (copy.properties["RETRY_TOPIC"], copy.properties["ORIGIN_MESSAGE_ID"]) == ("old", "BEEF")


@pytest.mark.parametrize("text", [RETURNS, "RETRY_TOPIC\x01old\x02", "ORIGIN_MESSAGE_ID\x01BEEF\x02"])
async def test_a_message_that_is_sent_on_is_a_first_copy(text):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), dumps({"groupName": "g"}))
        answer = await world.client.ok_send("t", KEY + text)
        (message,) = lying(world, "t")
        assert set(message.properties) == {"UNIQ_KEY", "MSG_REGION", "TRACE_ON", "CLUSTER"}
        offset = parse_offset_id(answer.ext["msgId"])[1]
        await world.client.ok(ConsumerSendMsgBack(offset, "g", -1))
        (letter,) = lying(world, "%DLQ%g")
        assert letter.properties["RETRY_TOPIC"] == "t"
        assert letter.properties["ORIGIN_MESSAGE_ID"] == message.offset_message_id


def batch(*properties):
    return b"".join(encode_element(b"m", text.encode()) for text in properties)


@pytest.mark.parametrize(
    ("own", "shared"),
    [
        ("DELAY\x012\x02", ""),
        ("TIMER_DELAY_SEC\x015\x02TIMER_OUT_MS\x011\x02", ""),
        ("", "TIMER_DELAY_MS\x0110\x02"),
    ],
)
async def test_a_batch_with_a_message_for_later_is_refused_since_all_come_at_once(own, shared):
    async with ClusterScene(topics={"t": 2}) as world:
        request = SendBatchMessage(
            producer_group="p", topic="t", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
            sys_flag=0, born_timestamp=5, flag=0, batch=True, properties=shared,
        )  # fmt: skip
        for large in (b"", encode_element(b"m" * 1000, b"") * 2):
            answer = await world.client.invoke(request, large + batch("", own))
            assert (answer.code, "asks for a later delivery" in answer.remark) == (13, True)
        assert world.store.queues.max_offset("t", 0) == 0
        passed = f"TIMER_DELIVER_MS\x01{world.clock.now_ms()}\x02"
        request.properties = ""
        await world.client.ok(request, batch("DELAY\x010\x02", passed))
        assert len(lying(world, "t")) == 2

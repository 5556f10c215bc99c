import pytest
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup, UpdateBrokerConfig
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.requests import Request
from mqframe.core.requests.admin import GetTopicConfig
from mqframe.core.requests.consumers import LockBatchMq
from mqframe.core.requests.messages import SendBatchMessage, SendMessage
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.loose_json import decode, dumps

KEY = "UNIQ_KEY\x01FD00AA\x02"


async def stored(world, topic="t", queue_id=0):
    answer = await world.client.pull(topic, queue_id=queue_id)
    return list(decode_records(answer.body))


def dead_letters(world, group="g"):
    """What lies in a dead-letter topic, which nobody may pull."""
    return [
        m for part in world.store.reads.get(f"%DLQ%{group}", 0, 0, 32).parts for m in decode_records(part)
    ]


def fields_of(topic, **more):
    values = {
        "producer_group": "p",
        "topic": topic,
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": 0,
        "sys_flag": 0,
        "born_timestamp": 5,
        "flag": 7,
    }
    return values | more


async def test_an_answer_says_where_the_message_lies():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.send("t", properties=KEY)
        answer = await world.client.send("t", properties=KEY, queue_id=1)
        address, offset = parse_offset_id(answer.ext.pop("msgId"))
        assert address == world.cluster.broker.address
        assert answer.ext == {
            "queueId": "1",
            "queueOffset": "0",
            "transactionId": "FD00AA",
            "MSG_REGION": "DefaultRegion",
            "TRACE_ON": "true",
        }
        assert (answer.code, answer.remark) == (0, None)
        (message,) = await stored(world, queue_id=1)
        assert message.commit_log_offset == offset


async def test_the_broker_adds_its_properties_and_takes_the_pop_handle_away():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.send("t", properties=f"KEYS\x01k\x02{KEY}WAIT\x01true")
        await world.client.send("t", properties=f"POP_CK\x01x\x02{KEY}CLUSTER\x01other\x02")
        first, second = await stored(world)
        own = {"CLUSTER": "DefaultCluster", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
        assert first.properties == {"KEYS": "k", "UNIQ_KEY": "FD00AA", "WAIT": "true"} | own
        assert second.properties == {"UNIQ_KEY": "FD00AA"} | own
        assert second.raw_properties.count("CLUSTER") == 1


@pytest.mark.parametrize("properties", ["", "a\x01b\x02", "MY_UNIQ_KEY\x01x\x02", None])
async def test_a_message_without_unique_key_gets_one(properties):
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.send("t", properties=properties)
        (message,) = await stored(world)
        key = message.properties["UNIQ_KEY"]
        assert len(key) == 32
        assert answer.ext["transactionId"] == key


async def test_the_first_form_of_the_header_is_served_as_well():
    async with ClusterScene(topics={"t": 2}) as world:
        request = SendMessage(**fields_of("t", properties=KEY, reconsume_times=2, sys_flag=1))
        await world.client.ok(request, b"body")
        (message,) = await stored(world)
        assert (message.stored_body, message.flag, message.reconsume_times) == (b"body", 7, 2)
        assert (message.born_timestamp, message.sys_flag & 1) == (5, 1)
        assert message.store_timestamp == world.clock.now_ms()


async def test_a_batch_becomes_messages_in_one_queue():
    async with ClusterScene(topics={"t": 2}) as world:
        elements = [
            encode_element(f"m{n}".encode(), f"TAGS\x01x{n}\x02UNIQ_KEY\x01K{n}\x02".encode())
            for n in range(3)
        ]
        request = SendBatchMessage(**fields_of("t", batch=True, properties="WAIT\x01true"))
        await world.client.send("t", properties=KEY)
        answer = await world.client.ok(request, b"".join(elements))
        messages = (await stored(world))[1:]
        assert [m.stored_body for m in messages] == [b"m0", b"m1", b"m2"]
        assert [m.queue_offset for m in messages] == [1, 2, 3]
        assert [m.properties["UNIQ_KEY"] for m in messages] == ["K0", "K1", "K2"]
        assert all(m.properties["CLUSTER"] == "DefaultCluster" for m in messages)
        ids = answer.ext["msgId"].split(",")
        assert [parse_offset_id(one)[1] for one in ids] == [m.commit_log_offset for m in messages]
        assert answer.ext["queueOffset"] == "1"
        assert "transactionId" not in answer.ext


async def test_the_key_of_a_batch_becomes_the_key_of_its_messages():
    async with ClusterScene(topics={"t": 2}) as world:
        request = SendBatchMessage(**fields_of("t", batch=True, properties=KEY))
        answer = await world.client.ok(request, encode_element(b"m", b"UNIQ_KEY\x01own\x02"))
        assert answer.ext["transactionId"] == "FD00AA"
        (message,) = await stored(world)
        assert message.properties["UNIQ_KEY"] == "FD00AA"


@pytest.mark.parametrize("body", [b"\x00\x00\x00\x10garbage", encode_element(b"m", b"")[:-1]])
async def test_a_malformed_batch_is_refused_and_nothing_is_stored(body):
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.invoke(SendBatchMessage(**fields_of("t", batch=True)), body)
        assert answer.code == 13
        assert world.store.queues.max_offset("t", 0) == 0


@pytest.mark.parametrize(
    ("fields", "body", "code"),
    [
        ({"topic": "t", "queue_id": 2}, b"x", 29),
        ({"topic": "no such/topic"}, b"x", 29),
        ({"topic": "x" * 128}, b"x", 29),
        ({"topic": ""}, b"x", 29),
        ({"topic": "SCHEDULE_TOPIC_XXXX"}, b"x", 16),
        ({"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}, b"x", 16),
        ({"topic": "rmq_sys_wheel_timer"}, b"x", 16),
        ({"topic": "rmq_sys_REVIVE_LOG_DefaultCluster"}, b"x", 16),
        ({"topic": "absent", "default_topic": "nothing"}, b"x", 17),
        ({"topic": "t"}, b"", 13),
        ({"topic": "t"}, bytes(4 * 1024 * 1024 + 1), 13),
        ({"topic": "t", "properties": "a\x01" + "b" * 32767}, b"x", 13),
    ],
)
async def test_bad_sends_are_refused_and_nothing_is_stored(fields, body, code):
    async with ClusterScene(topics={"t": 2}, store={"commit_log_file_bytes": 1 << 24}) as world:
        before = world.store.log.max_offset
        answer = await world.client.send(body=body, **fields)
        assert (answer.code, bool(answer.remark)) == (code, True)
        assert answer.ext == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
        assert world.store.log.max_offset == before


async def test_words_that_only_look_like_a_delay_are_stored():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", f"{KEY}NOTE\x01DELAY, TRAN_MSG and POP_CK\x02DELAY\x010\x02")
        (message,) = await stored(world)
        assert message.properties["NOTE"] == "DELAY, TRAN_MSG and POP_CK"


class Stripped(Request):
    """A send that lacks nearly all its fields."""

    CODE = 310
    b: str


async def test_missing_header_fields_are_named():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.invoke(Stripped(b="t"), b"x")
        assert answer.code == 1
        assert "`a`" in answer.remark


async def test_a_topic_is_made_after_the_default_one_and_registered():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("fresh", KEY, default_topic_queue_nums=3, queue_id=2)
        answer = await world.client.ok(GetTopicConfig(topic="fresh"))
        topic = decode(answer.body, TopicConfig)
        assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (3, 3, 6)
        await world.settle()
        request = GetRouteinfoByTopic(topic="fresh")
        answer = await world.client.client.invoke(world.cluster.nameserver, request)
        assert answer.code == 0


async def test_without_auto_creation_an_unknown_topic_is_refused():
    async with ClusterScene(topics={"t": 2}, broker={"auto_create_topics": False}) as world:
        assert (await world.client.send("fresh", properties=KEY)).code == 17
        assert (await world.client.send("%RETRY%g", properties=KEY)).code == 26


async def test_a_queue_is_chosen_where_none_is_named():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.send("t", properties=KEY, queue_id=-1)
        assert answer.ext["queueId"] in ("0", "1")


async def test_a_broker_that_takes_nothing_new_refuses_with_a_code_on_which_clients_go_elsewhere():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), dumps({"groupName": "g"}))
        assert (await world.client.send("t", properties=KEY)).code == 0
        await world.client.ok(UpdateBrokerConfig(), b"brokerPermission=4")
        for _ in range(2):
            answer = await world.client.send("t", properties=KEY)
            assert (answer.code, answer.remark) == (
                14, "this broker takes no new messages (broker.permission); send to another one",
            )  # fmt: skip
        # What consumers failed to consume comes again.
        assert (await world.client.send("%RETRY%g", properties=KEY)).code == 0
        await world.client.ok(UpdateBrokerConfig(), b"brokerPermission=6")
        assert (await world.client.send("t", properties=KEY)).code == 0
        assert len(await stored(world, "t")) == 2


async def test_write_permission_of_a_topic_is_the_clients_business():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.cluster.create_topic("readonly", 1, perm=4)
        assert (await world.client.send("readonly", properties=KEY)).code == 0


async def test_a_message_that_came_back_too_often_is_a_dead_letter():
    async with ClusterScene(topics={"t": 2}) as world:
        group = dumps({"groupName": "g", "retryMaxTimes": 2})
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), group)
        await world.client.ok_send("%RETRY%g", KEY, reconsume_times=2)
        await world.client.ok_send("%RETRY%g", KEY, reconsume_times=3)
        await world.client.ok_send("%RETRY%g", KEY, reconsume_times=3, max_reconsume_times=5)
        assert len(await stored(world, "%RETRY%g")) == 2
        assert [m.topic for m in dead_letters(world)] == ["%DLQ%g"]


async def test_failures_of_an_ordered_group_are_dead_letters_at_once():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), dumps({"groupName": "g"}))
        queue = {"topic": "t", "brokerName": "broker-a", "queueId": 0}
        body = dumps({"clientId": "c", "consumerGroup": "g", "mqSet": [queue]})
        await world.client.heartbeat("g", client_id="c")
        await world.client.ok(LockBatchMq(), body)
        await world.client.ok_send("%RETRY%g", KEY)
        assert [m.topic for m in dead_letters(world)] == ["%DLQ%g"]


async def test_retry_topics_take_no_batches():
    async with ClusterScene(topics={"t": 2}) as world:
        request = SendBatchMessage(**fields_of("%RETRY%g", batch=True))
        assert (await world.client.invoke(request, encode_element(b"m", b""))).code == 13


async def test_with_synchronous_flush_the_answer_waits_for_the_disk():
    async with ClusterScene(topics={"t": 2}, store={"flush": "SYNC_FLUSH"}) as world:
        answer = await world.client.send("t", properties=KEY)
        assert answer.code == 0
        assert world.store.log.flushed_offset == world.store.log.max_offset
        pulled = await world.client.pull("t")
        assert pulled.remark == "FOUND"
        answer = await world.client.send("t", properties=f"{KEY}WAIT\x01false\x02")
        assert answer.code == 0

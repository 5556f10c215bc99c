"""Pulls that are answered at once."""

import asyncio

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.consuming.processor import PullProcessor
from mqframe.core.codes import PullFlag
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import UpdateAndCreateSubscriptionGroup, UpdateBrokerConfig
from mqframe.core.requests.consumers import QueryConsumerOffset
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.loose_json import dumps

KEY = "UNIQ_KEY\x01FD00AA\x02"


async def send(world, count, body=b"body", **fields):
    for _ in range(count):
        await world.client.ok_send("t", KEY, body=body, **fields)


async def test_messages_come_in_order_from_the_offset_on():
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(5):
            await send(world, 1, b"%d" % number)
        answer = await world.client.pull("t", 2, max_msg_nums=2)
        assert [m.stored_body for m in decode_records(answer.body)] == [b"2", b"3"]
        assert answer.ext == {
            "suggestWhichBrokerId": "0",
            "nextBeginOffset": "4",
            "minOffset": "0",
            "maxOffset": "5",
            "topicSysFlag": "0",
            "groupSysFlag": "0",
        }


async def test_a_pull_gets_no_more_than_the_broker_allows():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 40)
        answer = await world.client.pull("t", max_msg_nums=1000)
        assert len(list(decode_records(answer.body))) == 32
        answer = await world.client.pull("t", max_msg_nums=1000, max_msg_bytes=500)
        assert 1 <= len(list(decode_records(answer.body))) < 5
        await world.client.ok(UpdateBrokerConfig(), b"maxTransferCountOnMessageInMemory=3")
        answer = await world.client.pull("t")
        assert answer.ext["nextBeginOffset"] == "3"


async def test_a_reader_in_bulk_gets_more():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 100)
        bulk = {"max_msg_nums": 1000, "max_msg_bytes": 1 << 20, "mqframe_bulk": True}
        answer = await world.client.pull("t", **bulk)
        assert [m.queue_offset for m in decode_records(answer.body)] == list(range(100))
        answer = await world.client.pull("t", 90, consumer_group="other", **bulk)
        assert [m.queue_offset for m in decode_records(answer.body)] == list(range(90, 100))
        answer = await world.client.pull("t", **{**bulk, "max_msg_nums": 40})
        assert answer.ext["nextBeginOffset"] == "40"
        answer = await world.client.pull("t", **{**bulk, "mqframe_bulk": False})
        assert answer.ext["nextBeginOffset"] == "32"
        await world.client.ok(UpdateBrokerConfig(), b"maxTransferCountOnBulkPull=50")
        answer = await world.client.pull("t", **bulk)
        assert answer.ext["nextBeginOffset"] == "50"
        await world.client.ok(UpdateBrokerConfig(), b"maxTransferBytesOnBulkPull=1000")
        answer = await world.client.pull("t", **bulk)
        assert 1 < len(list(decode_records(answer.body))) < 10
        assert len(answer.body) <= 1000


async def test_a_reader_in_bulk_gets_as_much_far_behind_the_end():
    async with ClusterScene(topics={"t": 2}, store={"hot_bytes": 100, "mapped_read_bytes": 0}) as world:
        await send(world, 100)
        assert (await world.client.pull("t", max_msg_nums=1000)).ext["nextBeginOffset"] == "8"
        answer = await world.client.pull("t", max_msg_nums=1000, max_msg_bytes=1 << 20, mqframe_bulk=True)
        assert [m.queue_offset for m in decode_records(answer.body)] == list(range(100))


@pytest.mark.parametrize("line", [b"maxTransferCountOnBulkPull=0", b"maxTransferBytesOnBulkPull=8388608"])
async def test_bulk_has_limits(line):
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await world.client.invoke(UpdateBrokerConfig(), line)).code == 29


async def test_a_message_larger_than_the_allowance_comes_alone():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 2, bytes(300 * 1024))
        answer = await world.client.pull("t")
        assert len(list(decode_records(answer.body))) == 1


@pytest.mark.parametrize(
    ("offset", "code", "status", "following"),
    [(0, 0, "FOUND", "2"), (2, 19, "OFFSET_OVERFLOW_ONE", "2"), (3, 21, "OFFSET_OVERFLOW_BADLY", "2")],
)
async def test_the_offset_decides(offset, code, status, following):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 2)
        answer = await world.client.pull("t", offset)
        assert (answer.code, answer.remark, answer.ext["nextBeginOffset"]) == (code, status, following)


async def test_an_offset_of_a_queue_without_messages_is_corrected():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.pull("t", 7)
        assert (answer.code, answer.ext["nextBeginOffset"]) == (21, "0")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "absent"}, 17),
        ({"topic": "t", "queue_id": 2}, 29),
        ({"topic": "t", "queue_id": -1}, 29),
        ({"topic": "t", "consumer_group": "bad group"}, 26),
        ({"topic": "t", "consumer_group": "stopped"}, 16),
        ({"topic": "writeonly"}, 16),
        ({"topic": "t", "subscription": "||"}, 23),
        ({"topic": "t", "expression_type": "SQL92", "subscription": "a >"}, 23),
        ({"topic": "t", "expression_type": "SQL92", "subscription": ""}, 23),
        ({"topic": "t", "expression_type": "SQL93", "subscription": "a > 1"}, 1),
        ({"topic": "t", "sys_flag": 0, "subscription": None}, 24),
    ],
)
async def test_pulls_that_cannot_be_served_are_refused(fields, code):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.cluster.create_topic("writeonly", 1, perm=2)
        stopped = dumps({"groupName": "stopped", "consumeEnable": False})
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), stopped)
        answer = await world.client.pull(**fields)
        assert (answer.code, bool(answer.remark), not answer.ext) == (code, True, True)


async def test_a_broker_may_be_closed_to_readers():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateBrokerConfig(), b"brokerPermission=2")
        assert (await world.client.pull("t")).code == 16


async def test_groups_are_made_only_where_that_is_allowed():
    async with ClusterScene(topics={"t": 2}, broker={"auto_create_groups": False}) as world:
        assert (await world.client.pull("t")).code == 26


async def test_the_heartbeats_subscription_counts_when_the_pull_brings_none():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", f"TAGS\x01a\x02{KEY}")
        await world.client.ok_send("t", f"TAGS\x01b\x02{KEY}")

        async def pull(version=5):
            return await world.client.pull("t", sys_flag=0, subscription=None, sub_version=version)

        assert (await pull()).code == 24
        await world.client.heartbeat("g", SubscriptionData(topic="u", sub_version=5))
        assert (await pull()).code == 24
        await world.client.heartbeat("g", SubscriptionData(topic="t", sub_string="b", sub_version=5))
        answer = await pull()
        assert [m.queue_offset for m in decode_records(answer.body)] == [1]
        answer = await pull(6)
        assert (answer.code, not answer.ext) == (25, True)


async def test_a_group_may_be_kept_from_broadcasting():
    async with ClusterScene(topics={"t": 2}) as world:
        group = dumps({"groupName": "g", "consumeBroadcastEnable": False})
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), group)
        await world.client.heartbeat("g", SubscriptionData(topic="t"), message_model="BROADCASTING")
        assert (await world.client.pull("t", sys_flag=0, subscription=None)).code == 16


async def test_far_behind_the_end_pulls_are_small_and_read_elsewhere():
    async with ClusterScene(topics={"t": 2}, store={"hot_bytes": 8000}) as world:
        await send(world, 40, bytes(1000))
        answer = await world.client.pull("t")
        assert len(list(decode_records(answer.body))) == 8
        assert answer.ext["nextBeginOffset"] == "8"
        answer = await world.client.pull("t", 36)
        assert [m.queue_offset for m in decode_records(answer.body)] == [36, 37, 38, 39]


async def test_a_pull_may_commit():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 3)
        await world.client.pull("t", 2, sys_flag=4 | PullFlag.COMMIT_OFFSET, commit_offset=2)
        request = QueryConsumerOffset(consumer_group="g", topic="t", queue_id=0)
        assert (await world.client.ok(request)).ext == {"offset": "2"}


async def test_a_filter_that_fails_for_one_waiting_pull_lets_the_others_wake(monkeypatch):
    has_match = PullProcessor._has_match

    def failing(self, held, max_offset):
        if held.fields.consumer_group == "odd":
            raise KeyError("odd")
        return has_match(self, held, max_offset)

    monkeypatch.setattr(PullProcessor, "_has_match", failing)

    async with ClusterScene(topics={"t": 2}) as world:
        waits = []
        for group in ("odd", "g"):
            talker = world.connect()
            await talker.heartbeat(group)
            fields = {"consumer_group": group, "sys_flag": 6, "suspend_timeout_millis": 3_600_000}
            waits.append(
                asyncio.ensure_future(
                    talker.pull("t", **fields, expression_type="SQL92", subscription="a IS NOT NULL")
                )
            )
            await world.settle()
        await world.client.ok_send("t", f"a\x011\x02{KEY}")
        answers = await asyncio.gather(*waits)
        assert [answer.code for answer in answers] == [0, 0]

"""Revival: messages that nobody acknowledged come again, or become dead letters."""

from mqframe_admin.requests import DeleteSubscriptionGroup, UpdateAndCreateSubscriptionGroup
from mqframe_testing.cluster_scene import ClusterScene
from popping import KEY, committed, pop, send

from mqframe.broker.sending.internal_writer import InternalWriter
from mqframe.core.errors import Refusal
from mqframe.core.messages.batch import encode_element
from mqframe.core.requests.messages import SendBatchMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.loose_json import dumps


async def test_messages_that_are_not_acknowledged_come_again_once_their_time_is_over():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1", b"2", properties=f"TAGS\x01a\x02{KEY}")
        first = await pop(world)
        await world.client.ok(first[0].ack())
        await world.clock.aadvance(59.9)
        assert await pop(world) == []
        await world.clock.aadvance(0.1)
        (again,) = await pop(world)
        assert (again.body, again.message.reconsume_times, again.message.tag) == (b"2", 1, "a")
        assert (again.topic, again.handle.mark) == ("%RETRY%g_t", "1")
        assert again.message.properties["1ST_POP_TIME"] == str(first[1].handle.pop_time)
        assert again.message.message_id == "FD00AA"
        await world.client.ok(again.ack())
        await world.clock.aadvance(3600)
        assert await pop(world) == []
        assert await committed(world) == 2
        assert await committed(world, "%RETRY%g_t") == 1


async def test_beyond_the_group_s_maximum_messages_are_dead_letters():
    async with ClusterScene(topics={"t": 2}) as world:
        group = dumps({"groupName": "g", "retryMaxTimes": 2})
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), group)
        await send(world, b"1")
        tries = []
        for _ in range(5):
            tries += [m.message.reconsume_times for m in await pop(world)]
            await world.clock.aadvance(60)
        assert tries == [0, 1, 2]
        assert await committed(world) == 1
        (letter,) = decode_records(world.store.reads.get("%DLQ%g", 0, 0, 32).parts[0])
        assert (letter.body, letter.message_id, letter.reconsume_times) == (b"1", "FD00AA", 3)
        assert letter.properties["RETRY_TOPIC"] == "t"
        assert letter.properties["ORIGIN_MESSAGE_ID"]


async def test_messages_of_a_group_or_topic_that_is_gone_are_let_go():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"1")
        await pop(world, invisible_time=20_000)
        await world.clock.aadvance(11)
        await world.client.ok(DeleteSubscriptionGroup(group_name="g", clean_offset=True))
        await world.clock.aadvance(10)
        assert world.store.queues.max_offset("%RETRY%g_t", 0) == 0


async def test_an_error_with_one_message_does_not_keep_the_others_hidden(monkeypatch):
    put = InternalWriter.put

    def put_unless_bad(self, topic, queue_id, body, *arguments, **fields):
        if bytes(body) == b"1" and bad:
            raise OSError("no such luck")
        return put(self, topic, queue_id, body, *arguments, **fields)

    bad = [True]
    monkeypatch.setattr(InternalWriter, "put", put_unless_bad)

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"0", b"1", b"2")
        for _ in range(3):
            await pop(world, max_msg_nums=1, invisible_time=5000)
        await world.clock.aadvance(6)
        assert [m.body for m in await pop(world)] == [b"0", b"2"]
        bad.clear()
        await world.clock.aadvance(10)
        assert [m.body for m in await pop(world)] == [b"1"]


async def test_a_message_that_can_never_be_stored_again_is_left_out_and_the_others_come_once(monkeypatch):
    put = InternalWriter.put
    stored = []

    def put_unless_odd(self, topic, queue_id, body, *arguments, **fields):
        if bytes(body) == b"1":
            raise OverflowError("odd")
        stored.append(bytes(body))
        return put(self, topic, queue_id, body, *arguments, **fields)

    monkeypatch.setattr(InternalWriter, "put", put_unless_odd)

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"0", b"1", b"2")
        await pop(world, invisible_time=5000)
        await world.clock.aadvance(3600)
        assert stored == [b"0", b"2"]
        (noted,) = world.cluster.broker._state.left_out.messages.newest
        assert (noted.topic, noted.queue_id, noted.queue_offset) == ("t", 0, 1)
        await world.cluster.restart_broker()
        await world.clock.aadvance(3600)
        assert stored == [b"0", b"2"]


async def test_what_was_stored_before_the_disk_was_full_is_not_stored_twice(monkeypatch):
    put = InternalWriter.put
    stored, full = [], [True]

    def put_unless_full(self, topic, queue_id, body, *arguments, **fields):
        if full and bytes(body) == b"1":
            raise Refusal(14, "the disk is full")
        stored.append(bytes(body))
        return put(self, topic, queue_id, body, *arguments, **fields)

    monkeypatch.setattr(InternalWriter, "put", put_unless_full)

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, b"0", b"1", b"2")
        await pop(world, invisible_time=5000)
        await world.clock.aadvance(6)
        full.clear()
        await world.clock.aadvance(20)
        assert stored == [b"0", b"1", b"2"]
        assert world.cluster.broker._state.left_out.messages.total == 0


async def test_properties_without_room_for_what_the_broker_adds_come_again_or_become_dead_letters():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(
            UpdateAndCreateSubscriptionGroup(), dumps({"groupName": "g", "retryMaxTimes": 2})
        )
        own = len("MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02")
        full = KEY + "a\x01" + "x" * (32767 - own - len(KEY) - 3) + "\x02"
        await send(world, b"big", properties=full)
        await send(world, b"small")
        assert sorted(m.body for m in await pop(world, invisible_time=5000)) == [b"big", b"small"]
        came = []
        for _ in range(4):
            await world.clock.aadvance(6)
            came += [m.body for m in await pop(world, invisible_time=5000)]
        assert came == [b"small", b"small"]
        letters = list(decode_records(world.store.reads.get("%DLQ%g", 0, 0, 32).parts[0]))
        assert sorted(letter.body for letter in letters) == [b"big", b"small"]


async def test_a_number_of_tries_that_no_record_holds_more_of_stays():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(
            UpdateAndCreateSubscriptionGroup(), dumps({"groupName": "g", "retryMaxTimes": 2**31 - 1})
        )
        await world.client.ok_send("t", KEY, body=b"often", reconsume_times=2**31 - 1)
        await pop(world, invisible_time=5000)
        await world.clock.aadvance(6)
        (letter,) = decode_records(world.store.reads.get("%DLQ%g", 0, 0, 32).parts[0])
        assert (letter.body, letter.reconsume_times) == (b"often", 2**31 - 1)


async def test_a_sender_does_not_say_where_a_message_comes_from_that_comes_again():
    async with ClusterScene(topics={"t": 2}) as world:
        brought = encode_element(b"m", f"{KEY}1ST_POP_TIME\x015\x02RETRY_TOPIC\x01old\x02".encode())
        batch = SendBatchMessage(
            producer_group="p", topic="t", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
            sys_flag=0, born_timestamp=5, flag=0, batch=True,
        )  # fmt: skip
        await world.client.ok(batch, brought)
        (first,) = await pop(world)
        await world.clock.aadvance(60)
        (again,) = await pop(world)
        assert again.message.properties["1ST_POP_TIME"] == str(first.handle.pop_time)
        assert "RETRY_TOPIC" not in again.message.properties

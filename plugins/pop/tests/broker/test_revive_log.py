"""What was popped, across restarts and kills."""

import asyncio
import json

import pytest
from mqframe_pop.broker import revive_log
from mqframe_pop.rules.bodies import AckBody, CheckPointBody
from mqframe_pop.settings import PopSettings
from mqframe_testing.cluster_scene import ClusterScene
from popping import pop_request, popped

from mqframe.broker.sending.internal_writer import InternalWriter
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.errors import ConnectionLost, Refusal
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.storage.record import RecordError, decode_records
from mqframe.core.wire.loose_json import decode, dumps, loads
from mqframe.store.reader import StoreReader

KEY = "UNIQ_KEY\x01FD00AA\x02"
REVIVE = "rmq_sys_REVIVE_LOG_DefaultCluster"


async def send(world, count):
    for number in range(count):
        await world.client.ok_send("t", KEY, body=b"%d" % number)


def foreign(world, tag, body, queue_id=0):
    """Store a record of the revive log as another kind of broker would have."""
    world.cluster.broker.service_port.writer.put(
        REVIVE, queue_id, body, {"TAGS": tag}, born_timestamp=world.clock.now_ms(), heed_delay=False
    )
    world.store.dispatch.now()


async def pop(talker, **fields):
    return popped(await talker.invoke(pop_request(**fields)))


def revive_records(world):
    """(tag, body) of every record in the revive log, by queue."""
    found = []
    for queue_id in range(8):
        parts = world.store.reads.get(REVIVE, queue_id, 0, 1000).parts
        found += [(m, loads(m.body)) for part in parts for m in decode_records(part)]
    return found


async def test_what_is_acknowledged_soon_is_never_written():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 40)
        while batch := await pop(world.client, max_msg_nums=3):
            for message in batch:
                await world.client.ok(message.ack())
        await world.clock.aadvance(60)
        assert revive_records(world) == []


async def test_what_comes_again_soon_is_never_written():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 1)
        await pop(world.client, invisible_time=5000)
        await world.clock.aadvance(60)
        assert len(await pop(world.client)) == 1
        assert revive_records(world) == []


async def test_what_stays_out_is_written_as_the_reference_writes_it():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 3)
        messages = await pop(world.client)
        now = messages[0].handle.pop_time
        await world.client.ok(messages[1].ack())
        await world.clock.aadvance(10)
        ((record, body),) = revive_records(world)
        assert body == {
            "t": "t", "c": "g", "q": 0, "so": 0, "pt": now, "it": 60000, "bm": 2, "n": 3, "ro": 0,
            "d": [0, 1, 2], "bn": "broker-a",
        }  # fmt: skip
        assert record.queue_id == messages[0].handle.revive_queue
        assert record.properties == {
            "TIMER_DELIVER_MS": str(now + 59_000),
            "TAGS": "ck",
            "UNIQ_KEY": f"t@0@0@g@{now}@broker-a@ck",
        }
        await world.client.ok(messages[0].ack())
        await world.clock.aadvance(1)
        (_, (record, body)) = revive_records(world)
        assert body == {"t": "t", "c": "g", "q": 0, "so": 0, "pt": now, "ao": 0, "bn": "broker-a"}
        assert record.properties == {
            "TIMER_DELIVER_MS": str(now + 60_000),
            "TAGS": "ack",
            "UNIQ_KEY": f"t@0@0@g@{now}@broker-a@ack",
        }
        await world.clock.aadvance(60)
        assert [m.body for m in await pop(world.client)] == [b"2"]
        assert [record.tag for record, _ in revive_records(world)] == ["ck", "ack", "ack"]


async def test_several_acknowledgements_of_one_pop_are_one_record():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 3)
        messages = await pop(world.client)
        await world.clock.aadvance(10)
        for message in messages:
            await world.client.ok(message.ack())
        await world.clock.aadvance(1)
        (_, (record, body)) = revive_records(world)
        assert (record.tag, body["aol"]) == ("bAck", [0, 1, 2])
        now = messages[0].handle.pop_time
        assert record.properties["UNIQ_KEY"] == f"t@0@[0, 1, 2]@g@{now}@bAck"


@pytest.mark.parametrize("way", ["restart", "kill"])
@pytest.mark.parametrize("after", [0, 9, 30])
async def test_what_is_out_is_out_after_a_restart_or_comes_again_after_a_kill(way, after):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 4)
        messages = await pop(world.client, invisible_time=60_000)
        await world.client.ok(messages[1].ack())
        for _ in range(3):
            await world.clock.aadvance(after / 3)
            await world.settle()  # offsets are saved by a thread, which has its own time
        if way == "kill":
            await world.cluster.kill_broker()
            await world.cluster.start_broker()
        else:
            await world.cluster.restart_broker()
        talker = world.connect()
        # What stays out is written after 10 s, and offsets are saved every 5 s.
        seen = [m.body for m in await pop(talker, invisible_time=600_000)]
        if way == "restart" or after > 15:
            assert seen == []  # the revive log knows that they are out
        await world.clock.aadvance(59 - after)
        seen += [m.body for m in await pop(talker, invisible_time=600_000)]
        if way == "restart" or after > 15:
            assert seen == []
            await talker.ok(messages[2].ack())  # old handles are good
        await world.clock.aadvance(1)
        seen += [m.body for m in await pop(talker, invisible_time=600_000)]
        wanted = {b"0", b"3"} if way == "restart" or after > 15 else {b"0", b"1", b"2", b"3"}
        assert set(seen) == wanted
        assert len(seen) == len(wanted)


async def test_what_was_brought_back_before_a_kill_is_not_brought_back_again():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 2)
        await pop(world.client, invisible_time=20_000)
        await world.clock.aadvance(22)
        path = world.cluster.directory / "broker-a" / "config" / "consumerOffset.json"
        while (saved := StoreReader(path.parents[1]).group_offset("g", "t", 0)) != 2:
            assert saved in (None, 0)  # a save that began before; the disk is waited for in a thread
            await world.clock.aadvance(1)
            await asyncio.sleep(0.001)
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        talker = world.connect()
        await world.clock.aadvance(60)
        assert world.store.queues.max_offset("%RETRY%g_t", 0) == 2
        assert sorted(m.body for m in await pop(talker)) == [b"0", b"1"]


async def test_a_hidden_message_is_not_lost_by_a_kill():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 1)
        (message,) = await pop(world.client)
        await world.clock.aadvance(1)
        await world.client.ok(message.hide(30_000))
        await world.clock.aadvance(6)  # offsets are saved every 5 s
        await world.settle()
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        talker = world.connect()
        assert await pop(talker) == []
        await world.clock.aadvance(24)
        (again,) = await pop(talker)
        assert (again.body, again.message.reconsume_times) == (b"0", 1)


async def test_time_that_passes_while_the_broker_is_down_counts():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 1)
        await pop(world.client, invisible_time=60_000)
        await world.cluster.stop_broker()
        await world.clock.aadvance(3600)
        await world.cluster.start_broker()
        talker = world.connect()
        await world.settle()
        (again,) = await pop(talker)
        assert again.message.reconsume_times == 1


async def test_the_revive_log_s_own_offset_follows_what_is_needed():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 8)
        for _ in range(8):
            await pop(world.client, max_msg_nums=1, invisible_time=20_000)
        await world.clock.aadvance(30)
        await world.cluster.stop_broker()
        path = world.cluster.directory / "broker-a" / "config" / "consumerOffset.json"
        table = decode(path.read_bytes(), ConsumerOffsetTable).offset_table
        # Of each queue two records, a check point and its end; the offset is that of the last.
        assert table[f"{REVIVE}@CID_RMQ_SYS_REVIVE_GROUP"] == dict.fromkeys(range(8), 1)
        await world.cluster.start_broker()


async def test_records_that_are_none_do_not_stop_a_start():
    async with ClusterScene(topics={"t": 2}) as world:
        for tag, body in (("ck", b"nonsense"), ("ck", b"{}"), ("ack", b"{"), ("bAck", b"[]"), ("x", b"y")):
            foreign(world, tag, body)
        await send(world, 1)
        await pop(world.client, invisible_time=60_000)
        await world.cluster.restart_broker()
        talker = world.connect()
        await world.clock.aadvance(60)
        assert len(await pop(talker)) == 1


ODD_POINTS = [
    {"t": "../../up"},
    {"t": "x" * 300},
    {"c": "a/b"},
    {"q": -1},
    {"q": 1 << 31},
    {"so": -1},
    {"so": 1 << 63},
    {"d": [-5]},
    {"d": [1 << 63]},
    {"d": list(range(33))},
    {"pt": 1 << 62},
    {"it": 1 << 62},
    {"it": -1},
    {"n": 33},
    {"d": ["x"]},
    {"pt": 10**400},
]


async def test_no_record_stops_the_reading_of_others_nor_the_next_start():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 1)
        await world.client.heartbeat("g")
        update = UpdateConsumerOffset(consumer_group="g", topic="t", queue_id=0, commit_offset=1)
        await world.client.ok(update)
        now = world.clock.now_ms()
        whole = {"t": "t", "c": "g", "q": 0, "so": 0, "pt": now, "it": 30_000, "n": 1, "d": [0], "bm": 0}
        for odd in ODD_POINTS:
            foreign(world, "ck", json.dumps(whole | odd).encode(), 5)
        foreign(world, "ck", b"[" * 5000, 5)
        foreign(world, "ck", json.dumps(whole).encode(), 5)
        noted = world.cluster.broker._state.left_out.messages
        assert noted.total == len(ODD_POINTS) + 1
        assert {each.queue_offset for each in noted.newest} == set(range(noted.total))
        for _ in range(2):
            await world.cluster.restart_broker()
        noted = world.cluster.broker._state.left_out.messages
        assert noted.total == len(ODD_POINTS) + 1, "told and counted once"
        await world.clock.aadvance(33)
        assert [m.body for m in await pop(world.connect())] == [b"0"]


async def test_bytes_that_are_no_record_take_no_others_with_them(monkeypatch):
    decode_all = revive_log.decode_records

    def failing(part):
        messages = list(decode_all(part))
        if any(b"damaged" in message.stored_body for message in messages):
            raise RecordError("no record")
        return messages

    monkeypatch.setattr(revive_log, "decode_records", failing)

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 1)
        await world.client.heartbeat("g")
        update = UpdateConsumerOffset(consumer_group="g", topic="t", queue_id=0, commit_offset=1)
        await world.client.ok(update)
        now = world.clock.now_ms()
        whole = {"t": "t", "c": "g", "q": 0, "so": 0, "pt": now, "it": 30_000, "n": 1, "d": [0], "bm": 0}
        put = world.cluster.broker.service_port.writer.put
        for body in (b"damaged", json.dumps(whole).encode()):
            put(REVIVE, 5, body, {"TAGS": "ck"}, born_timestamp=now, heed_delay=False)
        world.store.dispatch.now()
        (noted,) = world.cluster.broker._state.left_out.messages.newest
        assert (noted.topic, noted.queue_id, noted.queue_offset) == (REVIVE, 5, 0)
        await world.clock.aadvance(33)
        assert [m.body for m in await pop(world.client)] == [b"0"]


async def test_waiting_pops_are_let_go_when_the_broker_stops():
    async with ClusterScene(topics={"t": 2}) as world:
        born = world.clock.now_ms()
        waiting = asyncio.ensure_future(world.client.invoke(pop_request(poll_time=60_000, born_time=born)))
        await world.settle()
        await world.cluster.stop_broker()
        with pytest.raises(ConnectionLost):
            await waiting
        await world.cluster.start_broker()


async def test_records_that_somebody_else_wrote_are_heeded():
    """A timer of another kind of broker delivers what it holds: check points first, then their ends."""

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 3)
        now = world.clock.now_ms()
        point = CheckPointBody(
            "t", "g", 0, 0, now, 30_000, count=3, distances=[0, 1, 2], broker_name="broker-a"
        )
        update = UpdateConsumerOffset(consumer_group="g", topic="t", queue_id=0, commit_offset=3)
        await world.client.heartbeat("g")
        await world.client.ok(update)
        await world.clock.aadvance(29)
        foreign(world, "ck", dumps(point), 5)
        await world.clock.aadvance(1)
        for ack, tag in (
            (AckBody("t", "g", 0, 0, now, 1), "ack"),
            (AckBody("t", "g", 0, 0, now, -1, "broker-a", [2, 7]), "bAck"),
            (AckBody("t", "g", 0, 0, now - 1, 0), "ack"),
        ):
            foreign(world, tag, dumps(ack), 5)
        assert await pop(world.client) == []
        await world.clock.aadvance(3)
        assert [m.body for m in await pop(world.client)] == [b"0"]


async def test_own_records_among_those_of_others_are_read_once():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 8)
        for number in range(8):
            (message,) = await pop(world.client, max_msg_nums=1, invisible_time=60_000)
            foreign(world, "x", b"foreign", number)
        await world.clock.aadvance(11)
        for number in range(8):
            foreign(world, "x", b"foreign", number)
        await world.clock.aadvance(49)
        assert len(await pop(world.client)) == 8
        assert await pop(world.client) == []
        assert message.body == b"7"


async def test_what_is_out_for_long_does_not_make_starts_long(monkeypatch):
    monkeypatch.setattr("mqframe_pop.broker.revive_log.BEHIND_MAX", 10)

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 1)
        (slow,) = await pop(world.client, invisible_time=3_600_000)
        queue_id = slow.handle.revive_queue
        for _ in range(120):
            await world.client.ok_send("t", KEY, body=b"x")
            await pop(world.client, invisible_time=15_000)
        await world.clock.aadvance(60)
        records = [body for record, body in revive_records(world) if record.queue_id == queue_id]
        assert sum(body.get("it") == 3_600_000 for body in records) > 1
        await world.cluster.restart_broker()
        talker = world.connect()
        await talker.ok(slow.ack())
        await world.clock.aadvance(4000)
        assert b"0" not in {m.body for _ in range(8) for m in await pop(talker)}


async def test_with_a_synchronous_flush_offsets_wait_for_the_disk():
    async with ClusterScene(topics={"t": 2}, store={"flush": "SYNC_FLUSH"}) as world:
        await send(world, 2)
        first, second = await pop(world.client, invisible_time=20_000)
        answer = await world.client.ok(second.hide(30_000))
        assert answer.ext["invisibleTime"] == "30000"
        await world.clock.aadvance(11)
        await world.settle()  # the disk has its own time
        await world.clock.aadvance(9)
        await world.settle()
        assert [m.body for m in await pop(world.client)] == [first.body]
        await world.clock.aadvance(10)
        await world.settle()
        assert [m.body for m in await pop(world.client)] == [second.body]


async def test_a_store_that_takes_nothing_loses_nothing(monkeypatch):
    put, full = InternalWriter.put, []

    def put_unless_full(*arguments, **fields):
        if full:
            raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, "the disk is full")
        return put(*arguments, **fields)

    monkeypatch.setattr(InternalWriter, "put", put_unless_full)

    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 2)
        messages = await pop(world.client, invisible_time=20_000)
        full.append(True)
        await world.clock.aadvance(5)
        answer = await world.client.invoke(messages[1].hide(60_000))
        assert (answer.code, answer.remark) == (14, "the disk is full")
        await world.clock.aadvance(40)
        assert await pop(world.client) == []
        full.clear()
        await world.clock.aadvance(60)
        assert [m.body for m in await pop(world.client)] == [b"0", b"1"]


async def test_what_memory_has_no_room_for_is_kept_by_the_timer():
    async with ClusterScene(topics={"t": 2}, sections=[PopSettings(check_points_max=2)]) as world:
        await send(world, 6)
        messages = [
            message
            for _ in range(6)
            for message in await pop(world.client, max_msg_nums=1, invisible_time=30_000)
        ]
        assert [m.body for m in messages] == [b"%d" % number for number in range(6)]
        assert revive_records(world) == []
        await world.clock.aadvance(1)
        await world.client.ok(messages[0].ack())
        await world.client.ok(messages[3].ack())
        await world.client.ok(messages[4].hide(60_000))
        await world.clock.aadvance(28.9)
        assert await pop(world.client) == []
        await world.clock.aadvance(5)
        assert sorted([m.body for _ in range(3) for m in await pop(world.client)]) == [b"1", b"2", b"5"]
        assert (await world.client.invoke(messages[5].ack())).code == 208
        await world.clock.aadvance(26.2)
        assert [m.body for m in await pop(world.client)] == [b"4"]


async def test_what_the_timer_keeps_survives_a_kill():
    async with ClusterScene(topics={"t": 2}, sections=[PopSettings(check_points_max=1)]) as world:
        await send(world, 3)
        for _ in range(3):
            await pop(world.client, max_msg_nums=1, invisible_time=40_000)
        for _ in range(4):
            await world.clock.aadvance(5)
            await world.settle()
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        talker = world.connect()
        assert await pop(talker) == []
        await world.clock.aadvance(24)
        assert sorted(m.body for m in await pop(talker)) == [b"0", b"1", b"2"]


async def test_the_revive_log_is_read_from_its_end_when_a_crash_took_what_was_done_with():
    async with ClusterScene(topics={"t": 2}) as world:
        offsets = world.cluster.directory / "broker-a/config/consumerOffset.json"
        await send(world, 1)
        await world.cluster.stop_broker()
        group = "CID_RMQ_SYS_REVIVE_GROUP"
        queues = ",".join(f"{queue_id}:50" for queue_id in range(8))
        offsets.write_text(f'{{"offsetTable":{{"{REVIVE}@{group}":{{{queues}}}}}}}')
        await world.cluster.start_broker()
        saved = loads(offsets.read_bytes())["offsetTable"][f"{REVIVE}@{group}"]
        assert set(saved.values()) == {-1}, "nothing is done with, for nothing is there"
        (message,) = await pop(world.client, invisible_time=60_000)
        for _ in range(4):
            await world.clock.aadvance(5)
            await world.settle()  # the offsets are on their way to the disk, in a thread
        ((record, _),) = revive_records(world)
        assert record.queue_offset == 0
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        await world.clock.aadvance(60)
        (again,) = await pop(world.client)
        assert again.body == message.body

"""Delay levels, in a broker whose clock only the test moves."""

from __future__ import annotations

import json

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.errors import Refusal
from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.requests.messages import ViewMessageById
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode
from mqframe.store.incoming import Incoming

LEVELS = [1, 5, 10, 30, *(60 * minutes for minutes in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)), 3600, 7200]


def delivered(world, topic="t", queue_id=0):
    found = world.store.reads.get(topic, queue_id, 0, 10_000, bytes_max=1 << 30)
    return [record for part in found.parts for record in decode_records(part)]


def bodies(world, topic="t"):
    return [record.body.decode() for record in delivered(world, topic)]


async def restart(world, kill=False):
    if kill:
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
    else:
        await world.cluster.restart_broker()
    await world.disconnect(world.client)


@pytest.mark.parametrize("level", [1, 4, 18])
async def test_a_level_is_kept_to_the_millisecond(level):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", f"DELAY\x01{level}\x02")
        await world.clock.aadvance(LEVELS[level - 1] - 0.001)
        assert delivered(world) == []
        await world.clock.aadvance(0.001)
        (message,) = delivered(world)
        assert message.store_timestamp == world.clock.now_ms()


async def test_what_is_delivered_is_the_message_that_was_sent():
    async with ClusterScene(topics={"t": 2}) as world:
        properties = "UNIQ_KEY\x01u1\x02TAGS\x01red\x02KEYS\x01k1 k2\x02DELAY\x012\x02colour\x01blue\x02"
        await world.client.ok_send("t", properties, queue_id=1, flag=7, born_timestamp=123_456)
        await world.clock.aadvance(5)
        (message,) = delivered(world, queue_id=1)
        assert (message.body, message.flag, message.born_timestamp) == (b"body", 7, 123_456)
        assert message.born_host.startswith("127.0.0.1:")
        assert message.properties == decode_properties(properties) | {
            "REAL_TOPIC": "t",
            "REAL_QID": "1",
            "MSG_REGION": "DefaultRegion",
            "TRACE_ON": "true",
            "CLUSTER": "DefaultCluster",
        }
        ((_, _, code),) = world.store.reads.entries("t", 1, 0, 10)
        assert code == 112785  # the Java hash of "red"
        assert world.store.search.query("t", "k2", 10).records


async def test_levels_do_not_wait_for_each_other():
    async with ClusterScene(topics={"t": 2}) as world:
        for level in (3, 1, 2, 1):
            await world.client.send("t", str(level).encode(), f"DELAY\x01{level}\x02")
        assert bodies(world) == []
        await world.clock.aadvance(1)
        assert bodies(world) == ["1", "1"]
        await world.clock.aadvance(4)
        assert bodies(world) == ["1", "1", "2"]
        await world.clock.aadvance(5)
        assert bodies(world) == ["1", "1", "2", "3"]


@pytest.mark.parametrize("kill", [False, True])
async def test_a_restart_in_the_middle_delivers_what_is_left(kill):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.send("t", b"one", "DELAY\x012\x02")
        await world.clock.aadvance(3)
        await world.client.send("t", b"two", "DELAY\x012\x02")
        await world.client.send("t", b"far", "DELAY\x019\x02")
        await world.clock.aadvance(2.5)
        assert bodies(world) == ["one"]
        await restart(world, kill)
        await world.clock.aadvance(2.499)
        assert "two" not in bodies(world)
        await world.clock.aadvance(0.001)
        if kill:  # what was delivered just before may come again
            assert set(bodies(world)) == {"one", "two"}
        else:
            assert bodies(world) == ["one", "two"]
        await world.clock.aadvance(300)
        assert bodies(world)[-1] == "far"
        assert bodies(world).count("far") == 1


async def test_what_fell_due_while_the_broker_was_down_comes_at_its_start():
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(200):
            await world.client.send("t", str(number).encode(), "DELAY\x011\x02")
        await world.cluster.stop_broker()
        await world.clock.aadvance(60)
        await world.cluster.start_broker()
        await world.settle()
        assert bodies(world) == [str(number) for number in range(200)]


async def test_how_far_each_level_is_lies_in_the_file():
    async with ClusterScene(topics={"t": 2}) as world:
        for _ in range(3):
            await world.client.ok_send("t", "DELAY\x011\x02")
        await world.client.ok_send("t", "DELAY\x012\x02")
        await world.clock.aadvance(2)
        await world.cluster.stop_broker()
        path = world.cluster.directory / "broker-a" / "config" / "delayOffset.json"
        text = path.read_text()
        assert "offsetTable:{1:3}" in "".join(text.replace('"', "").split())
        # An offset beyond the queue would hide what comes next.
        path.write_text('{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},"offsetTable":{1:99}}')
        await world.cluster.start_broker()
        await world.disconnect(world.client)
        await world.client.ok_send("t", "DELAY\x011\x02")
        await world.clock.aadvance(1)
        assert len(delivered(world)) == 4
        await world.cluster.stop_broker()
        assert json.loads(path.read_text().replace("1:4", '"1":4').replace("2:", '"2":'))
        await world.cluster.start_broker()


@pytest.mark.parametrize("wish", ["DELAY\x011\x02", "TIMER_DELAY_SEC\x011\x02"])
async def test_what_the_store_refuses_waits_until_it_does_not(wish):
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(5):
            await world.client.send("t", str(number).encode(), wish)
        put, taken = world.store.writes.put, []

        def take_two(incoming):
            if incoming.topic == "t" and len(taken) >= 2:
                raise Refusal(14, "disk full")
            taken.append(incoming.topic)
            return put(incoming)

        world.store.writes.put = take_two
        await world.clock.aadvance(5)
        assert bodies(world) == ["0", "1"]
        world.store.writes.put = put
        await world.clock.aadvance(0.5)
        assert bodies(world) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("wish", ["DELAY\x011\x02", "TIMER_DELAY_SEC\x011\x02"])
async def test_what_the_store_will_never_take_holds_nobody_up(wish):
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(3):
            await world.client.send("t", str(number).encode(), wish)
        put = world.store.writes.put

        def refuse_one(incoming):
            if incoming.topic == "t" and bytes(incoming.body) == b"1":
                raise Refusal(13, "too large")
            return put(incoming)

        world.store.writes.put = refuse_one
        await world.clock.aadvance(2)
        assert bodies(world) == ["0", "2"]


async def test_strangers_in_the_delay_topic_hold_nobody_up():
    async with ClusterScene(topics={"t": 2}) as world:
        for properties in (
            "",
            "REAL_TOPIC\x01t\x02",
            "REAL_TOPIC\x01RMQ_SYS_TRANS_HALF_TOPIC\x02REAL_QID\x010\x02",
        ):
            put_stranger(world, properties)
        await world.client.send("t", b"mine", "DELAY\x011\x02")
        await world.clock.aadvance(1)
        assert bodies(world) == ["mine"]


POISON = [
    f"REAL_TOPIC\x01t\x02REAL_QID\x01{10**12}\x02",
    f"REAL_TOPIC\x01t\x02REAL_QID\x01{'9' * 5000}\x02",
    f"DELAY\x01{'9' * 5000}\x02REAL_TOPIC\x01t\x02REAL_QID\x010\x02REAL_QID\x01x\x02",
    "REAL_TOPIC\x01../../up\x02REAL_QID\x010\x02",
    f"REAL_TOPIC\x01{'x' * 300}\x02REAL_QID\x010\x02",
    "REAL_TOPIC\x01rmq_sys_wheel_timer\x02REAL_QID\x010\x02",
    "",
]


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer"])
async def test_no_stored_message_stops_the_delivery_of_others_nor_after_a_start(topic, kill):
    async with ClusterScene(topics={"t": 2}) as world:
        wish = "DELAY\x011\x02" if topic == "SCHEDULE_TOPIC_XXXX" else "TIMER_DELAY_MS\x01900\x02"
        when = world.clock.now_ms() + 1
        for number, properties in enumerate(POISON):
            await world.client.send("t", str(number).encode(), wish)
            put_stranger(world, f"TIMER_OUT_MS\x01{when}\x02{properties}", topic)
        await world.client.send("t", b"last", wish)
        await advance_and_settle(world, 2)
        expected = [*map(str, range(len(POISON))), "last"]
        assert bodies(world) == expected
        counters = await runtime(world)
        assert counters["leftOutMessages"] == str(len(POISON))
        assert all("log offset" in counters[f"leftOut.{n:02d}"] for n in range(1, len(POISON) + 1))
        lost = counters["leftOut.01"].split()[0]
        found = await world.client.ok(ViewMessageById(offset=int(lost[-16:], 16)))
        assert next(decode_records(found.body)).body == b"stranger"
        await advance_and_settle(world, 10)
        await restart(world, kill)
        await world.client.send("t", b"more", wish)
        await advance_and_settle(world, 2)
        again = bodies(world)
        assert again == [*expected, "more"] or (kill and list(dict.fromkeys(again)) == [*expected, "more"])
        assert (await runtime(world))["leftOutMessages"] == str(len(POISON))


async def advance_and_settle(world, seconds):
    await world.clock.aadvance(seconds)
    await world.settle()


async def runtime(world):
    return decode((await world.client.ok(GetBrokerRuntimeInfo())).body, KVTable).table


def put_stranger(world, properties, topic="SCHEDULE_TOPIC_XXXX"):
    host = bytes(8)
    world.store.writes.put(Incoming(topic, 0, b"stranger", properties, 0, host, host))
    world.store.dispatch.now()


@pytest.mark.parametrize("wish", ["DELAY\x011\x02", "TIMER_DELAY_SEC\x011\x02"])
async def test_a_kill_long_after_a_delivery_does_not_repeat_it(wish):
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(3):
            await world.client.send("t", str(number).encode(), wish)
        for _ in range(40):
            await world.clock.aadvance(0.5)
            await world.settle()
        assert len(bodies(world)) == 3
        await restart(world, kill=True)
        await world.clock.aadvance(10)
        assert bodies(world) == ["0", "1", "2"]


async def test_a_level_that_is_behind_its_queue_goes_on_at_the_end_and_misses_nothing_new():
    async with ClusterScene(topics={"t": 2}) as world:
        saved = world.cluster.directory / "broker-a/config/delayOffset.json"
        await world.client.ok_send("t", "DELAY\x011\x02")
        await world.clock.aadvance(1)
        await world.cluster.stop_broker()
        saved.write_text('{"offsetTable":{1:50}}')
        await world.cluster.start_broker()
        assert json.loads(saved.read_text())["offsetTable"] == {"1": 1}
        for _ in range(2):
            await world.client.ok_send("t", "DELAY\x011\x02")
        await restart(world, kill=True)
        await world.clock.aadvance(1)
        assert len(delivered(world)) == 3

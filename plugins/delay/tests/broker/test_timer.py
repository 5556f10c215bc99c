"""Delivery at a given time, in a broker whose clock only the test moves."""

from __future__ import annotations

import base64

import pytest
from broker.conftest import LocalStore
from mqframe_delay.broker.timer import TimerService
from mqframe_delay.requests import GetTimerCheckPoint
from mqframe_delay.rules.timer_layout import CHECKPOINT
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_delay.rules.timer_rules import NEVER_ENQUEUED
from mqframe_delay.settings import DelaySettings
from mqframe_delay.store.wheel import TimerWheel
from mqframe_testing.cluster_scene import ClusterScene
from timed_messages import DAY, bodies, delivered, send

from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, GetTimerMetrics
from mqframe.core.requests.messages import RecallMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.loose_json import loads
from mqframe.store.incoming import Incoming

NOW = 1_700_000_000_000


async def reconnect(world):
    await world.disconnect(world.client)


async def advance_and_settle(world, seconds):
    await world.clock.aadvance(seconds)
    await world.settle()


@pytest.mark.parametrize(
    ("wanted", "after"),
    [
        ({"TIMER_DELAY_SEC": 3}, 3.0),
        ({"TIMER_DELAY_MS": 2500}, 3.0),
        ({"TIMER_DELIVER_MS": NOW + 4001}, 5.0),
        ({"TIMER_DELAY_SEC": 3, "TIMER_DELAY_MS": 9000, "TIMER_DELIVER_MS": NOW + 20_000}, 3.0),
        ({"TIMER_DELAY_MS": 4000, "TIMER_DELIVER_MS": NOW + 20_000}, 4.0),
    ],
)
async def test_a_message_comes_when_its_second_has_ended(wanted, after):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "one", **wanted)
        await world.clock.aadvance(after - 0.001)
        assert bodies(world) == []
        await world.clock.aadvance(0.001)
        assert bodies(world) == ["one"]


async def test_what_is_delivered_is_the_message_that_was_sent():
    async with ClusterScene(topics={"t": 2}) as world:
        properties = f"UNIQ_KEY\x01u1\x02TAGS\x01red\x02KEYS\x01k1\x02TIMER_DELIVER_MS\x01{NOW + 2000}\x02"
        answer = await world.client.ok_send("t", properties, queue_id=1, flag=7, born_timestamp=123_456)
        assert base64.urlsafe_b64decode(answer.ext["recallHandle"]).decode() == (
            f"v1 t broker-a {NOW + 1001} u1"
        )
        await world.clock.aadvance(2)
        (message,) = delivered(world, queue_id=1)
        assert (message.body, message.flag, message.born_timestamp) == (b"body", 7, 123_456)
        assert message.properties == decode_properties(properties) | {
            "REAL_TOPIC": "t",
            "REAL_QID": "1",
            "TIMER_OUT_MS": str(NOW + 1000),
            "TIMER_ENQUEUE_MS": str(NOW),
            "TIMER_DEQUEUE_MS": str(NOW + 2000),
            "MSG_REGION": "DefaultRegion",
            "TRACE_ON": "true",
            "CLUSTER": "DefaultCluster",
        }
        assert world.store.reads.entries("t", 1, 0, 10)[0][2] == 112785  # the Java hash of "red"


@pytest.mark.parametrize(
    "wanted", [{"TIMER_DELIVER_MS": NOW}, {"TIMER_DELIVER_MS": 1}, {"TIMER_DELAY_SEC": -5}]
)
async def test_a_time_that_has_passed_does_not_wait(wanted):
    async with ClusterScene(topics={"t": 2}) as world:
        assert await send(world, "late", **wanted) is None
        assert bodies(world) == ["late"]
        assert world.store.queues.max_offset("rmq_sys_wheel_timer", 0) == 0


@pytest.mark.parametrize(
    ("properties", "code", "words"),
    [
        ("TIMER_DELAY_SEC\x01259201\x02", 13, "further away than 259200000 ms"),
        (f"TIMER_DELIVER_MS\x01{NOW + 3 * DAY * 1000 + 1}\x02", 13, "further away"),
        ("TIMER_DELAY_MS\x01soon\x02", 13, "TIMER_DELAY_MS is 'soon'"),
        ("TIMER_DELIVER_MS\x011e9\x02", 13, "give a whole number"),
        ("TIMER_DELIVER_MS\x019999999999999999999\x02", 13, "give a whole number"),
        ("TIMER_DEL_UNIQKEY\x01t+u\x02TIMER_DELIVER_MS\x015\x02", 13, "has passed"),
        ("DELAY\x01x\x02", 13, "DELAY is 'x'"),
        ("DELAY\x014294967296\x02", 13, "give a delay level"),
    ],
)
async def test_a_time_that_cannot_be_kept_is_refused(properties, code, words):
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.send("t", properties=properties)
        assert answer.code == code
        assert words in answer.remark
        await world.client.ok_send("t", "TIMER_DELAY_SEC\x01259200\x02")


@pytest.mark.parametrize("level", ["0", "-1", "-3"])
async def test_a_level_of_nothing_is_no_delay(level):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", f"DELAY\x01{level}\x02")
        assert len(delivered(world)) == 1


async def test_a_level_beats_a_time():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", "DELAY\x0199\x02TIMER_DELAY_SEC\x0110\x02TIMER_DELIVER_MS\x011\x02")
        ((offset, _, _),) = world.store.reads.entries("SCHEDULE_TOPIC_XXXX", 17, 0, 10)
        (waiting,) = decode_records(world.store.search.record_at(offset))
        assert waiting.properties["DELAY"] == "18"
        assert not [name for name in waiting.properties if name.startswith("TIMER")]


async def test_the_timer_can_be_switched_off():
    async with ClusterScene(topics={"t": 2}, sections=[DelaySettings(timer_enabled=False)]) as world:
        answer = await world.client.send("t", properties="TIMER_DELAY_SEC\x0110\x02")
        assert (answer.code, "timerWheelEnable" in answer.remark) == (1, True)
        assert not (world.cluster.directory / "broker-a" / "timerwheel").exists()


@pytest.mark.parametrize("kill", [False, True])
async def test_a_restart_in_the_middle_delivers_what_is_left(kill):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "one", TIMER_DELAY_SEC=2)
        await send(world, "two", TIMER_DELAY_SEC=10)
        await send(world, "far", TIMER_DELAY_SEC=300)
        await advance_and_settle(world, 5)
        assert bodies(world) == ["one"]
        if kill:
            await world.cluster.kill_broker()
        else:
            await world.cluster.stop_broker()
        await world.clock.aadvance(1)
        await world.cluster.start_broker()
        await reconnect(world)
        await advance_and_settle(world, 3.999)
        before = bodies(world)
        assert before == ["one"] or (kill and before == ["one", "one"])
        await advance_and_settle(world, 0.001)
        assert bodies(world) == [*before, "two"]
        await send(world, "new", TIMER_DELAY_SEC=2)
        await advance_and_settle(world, 2)
        await advance_and_settle(world, 288)
        assert bodies(world) == [*before, "two", "new", "far"]


async def test_a_kill_right_after_the_answer_loses_nothing():
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(20):
            await send(world, str(number), TIMER_DELAY_SEC=5)
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        await advance_and_settle(world, 5)
        assert bodies(world) == [str(number) for number in range(20)]


@pytest.mark.parametrize("in_the_wheel", [True, False])
async def test_what_fell_due_while_the_broker_was_down_comes_at_its_start(in_the_wheel):
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(200):
            await send(world, str(number), TIMER_DELAY_SEC=1 + number % 3)
        if in_the_wheel:
            await advance_and_settle(world, 0.1)
        await world.cluster.stop_broker()
        await world.clock.aadvance(60)
        await world.cluster.start_broker()
        for _ in range(5):
            await world.settle()
        order = sorted(range(200), key=lambda number: number % 3 if in_the_wheel else 0)
        assert bodies(world) == [str(number) for number in order]


async def test_three_days_ahead_with_a_round_in_between():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, "far", TIMER_DELAY_SEC=3 * DAY)
        await world.settle()
        for part in (1.2, 1.2, 0.5):
            await world.cluster.stop_broker()
            world.clock.advance(part * DAY)
            await world.cluster.start_broker()
            await advance_and_settle(world, 1)
            assert bodies(world) == []
        assert world.store.queues.max_offset("rmq_sys_wheel_timer", 0) == 2
        await world.cluster.stop_broker()
        world.clock.advance(0.1 * DAY - 3.001)
        await world.cluster.start_broker()
        await world.settle()
        assert bodies(world) == []
        await advance_and_settle(world, 0.001)
        (message,) = delivered(world)
        assert message.store_timestamp == NOW + 3 * DAY * 1000
        assert message.properties["TIMER_ROLL_TIMES"] == "1"


async def test_small_wheels_roll_as_often_as_necessary():
    async with ClusterScene(topics={"t": 2}, sections=[DelaySettings(timer_window_slots=20)]) as world:
        handle = await send(world, "gone", TIMER_DELAY_SEC=100)
        await send(world, "stays", TIMER_DELAY_SEC=100)
        await world.clock.aadvance(3)
        request = RecallMessage(topic="t", recall_handle=handle)
        assert (await world.client.ok(request)).ext["msgId"]
        await advance_and_settle(world, 96.999)
        assert bodies(world) == []
        await advance_and_settle(world, 0.001)
        (message,) = delivered(world)
        assert message.body == b"stays"
        assert int(message.properties["TIMER_ROLL_TIMES"]) >= 4


@pytest.mark.parametrize("out_ms", [10**15, (1 << 63) - 1])
@pytest.mark.parametrize("delay", [{}, {"TIMER_DELAY_SEC": 10**12}, {"TIMER_DELIVER_MS": 10**15}])
async def test_what_is_stored_for_a_time_beyond_any_limit_comes_once_and_soon(out_ms, delay):
    async with ClusterScene(topics={"t": 2}, sections=[DelaySettings(timer_window_slots=20)]) as world:
        properties = {"TIMER_OUT_MS": out_ms, "REAL_TOPIC": "t", "REAL_QID": 0, **delay}
        text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
        world.store.writes.put(Incoming("rmq_sys_wheel_timer", 0, b"strange", text, 0, bytes(8), bytes(8)))
        world.store.dispatch.now()
        await advance_and_settle(world, 9)
        assert bodies(world) == []
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        await advance_and_settle(world, 2)
        assert bodies(world) == ["strange"]
        await advance_and_settle(world, 100)
        assert bodies(world) == ["strange"]
        assert world.store.queues.max_offset("rmq_sys_wheel_timer", 0) == 1


async def test_a_finer_precision():
    async with ClusterScene(topics={"t": 2}, sections=[DelaySettings(timer_precision_ms=100)]) as world:
        await send(world, "fine", TIMER_DELAY_MS=1250)
        await world.clock.aadvance(1.299)
        assert bodies(world) == []
        await world.clock.aadvance(0.001)
        assert bodies(world) == ["fine"]


async def test_a_message_that_is_due_before_the_wheel_knows_it():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.clock.aadvance(0.995)
        await send(world, "now", TIMER_DELAY_MS=3)
        await world.clock.aadvance(0.004)
        assert bodies(world) == []
        await world.clock.aadvance(0.1)
        (message,) = delivered(world)
        assert message.properties["TIMER_ENQUEUE_MS"] == str(NEVER_ENQUEUED)


async def test_operators_see_what_waits():
    async with ClusterScene(topics={"t": 2}) as world:
        for _ in range(3):
            await send(world, "x", TIMER_DELAY_SEC=100)
        await world.client.ok_send("t", "DELAY\x013\x02")
        await advance_and_settle(world, 70)
        table = bytes((await world.client.ok(GetBrokerRuntimeInfo())).body).decode()
        for pair in ('"timerCongestNum":"3"', '"timerOffsetBehind":"0"', '"scheduleMessageOffset_3":"1,1"'):
            assert pair in table
        assert '"timerReadBehind":"0"' in table, "what waits for its time is not behind"
        metrics = bytes((await world.client.ok(GetTimerMetrics())).body).decode()
        assert '"t":{"count":3' in metrics
        numbers = CHECKPOINT.unpack((await world.client.ok(GetTimerCheckPoint())).body)
        assert numbers[0] >= NOW + 60_000
        assert numbers[1:4] == (3 * 52, 3, 3)
        await advance_and_settle(world, 31)
        assert '"t":{"count":0' in bytes((await world.client.ok(GetTimerMetrics())).body).decode()


async def test_operators_see_how_fast_messages_come_and_go():
    async def rates(world):
        answer = await world.client.ok(GetBrokerRuntimeInfo())
        table = loads(answer.body)["table"]
        return table["timerEnqueueTps"], table["timerDequeueTps"]

    async with ClusterScene(topics={"t": 2}) as world:
        await world.clock.aadvance(10)
        for _ in range(20):
            await send(world, "x", TIMER_DELAY_SEC=15)
        await advance_and_settle(world, 10)
        assert await rates(world) == ("2.0", "0.0")
        await advance_and_settle(world, 10)
        assert await rates(world) == ("0.0", "2.0")


async def test_properties_without_room_for_what_the_broker_adds():
    async with ClusterScene(topics={"t": 2}) as world:
        for size in range(32_700, 32_000, -20):
            properties = f"UNIQ_KEY\x01u\x02long\x01{'x' * size}\x02TIMER_DELAY_SEC\x012\x02"
            answer = await world.client.send("t", properties=properties)
            if answer.code == 0:
                break
            assert answer.code == 13
        await world.clock.aadvance(2)
        (message,) = delivered(world)
        assert message.properties["long"] == "x" * size
        assert "TIMER_DEQUEUE_MS" not in message.properties


async def test_a_timer_that_is_behind_its_topic_goes_on_at_the_end_and_misses_nothing_new():
    async with ClusterScene(topics={"t": 2}) as world:
        saved = world.cluster.directory / "broker-a/config/timercheck"
        await send(world, "one", TIMER_DELAY_SEC=1)
        await world.clock.aadvance(3)
        assert bodies(world) == ["one"]
        await world.cluster.stop_broker()
        numbers = list(CHECKPOINT.unpack_from(saved.read_bytes()))
        assert numbers[2] == 1
        numbers[2] = numbers[3] = 50
        saved.write_bytes(CHECKPOINT.pack(*numbers).ljust(4096, b"\0"))
        await world.cluster.start_broker()
        assert CHECKPOINT.unpack_from(saved.read_bytes())[2] == 1, "before anything new is stored there"
        await send(world, "two", TIMER_DELAY_SEC=1)
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        await world.clock.aadvance(3)
        assert bodies(world) == ["one", "two"]


async def test_a_timer_whose_files_could_not_be_synced_moves_its_checkpoint_no_more(monkeypatch):
    async with ClusterScene(topics={"t": 2}) as world:
        saved = world.cluster.directory / "broker-a/config/timercheck"

        def fail(wheel):
            raise OSError(5, "Input/output error")

        before = saved.read_bytes() if saved.exists() else b""
        with monkeypatch.context() as broken:
            broken.setattr(TimerWheel, "sync", fail)
            await send(world, "one", TIMER_DELAY_SEC=1)
            for _ in range(60):
                await advance_and_settle(world, 1)
                if world.store.disk.trouble:
                    break
        assert world.store.disk.trouble == "queues or index could not be flushed; restart the broker"
        await send(world, "two", TIMER_DELAY_SEC=1)
        await advance_and_settle(world, 5)
        assert bodies(world) == ["one", "two"]
        await world.cluster.stop_broker()
        assert (saved.read_bytes() if saved.exists() else b"") == before
        assert (world.cluster.directory / "broker-a/abort").exists()
        await world.cluster.start_broker()
        await advance_and_settle(world, 5)
        assert bodies(world) == ["one", "two", "one", "two"], "twice, rather than never"


@pytest.mark.parametrize("jump", [0, 3 * 3600])
async def test_what_is_not_taken_in_yet_may_be_due(jump, tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        timer = TimerService(local, DelaySettings(), TimerMetrics(local.clock))
        await timer.start()
        await local.clock.aadvance(1)
        assert timer.delivered_to() == local.clock.now_ms()
        local.clock.jump(jump)
        local.put("t")
        local.clock.jump(-jump)  # store times do not go back with it
        before = local.clock.now_ms()
        local.put("rmq_sys_wheel_timer", TIMER_OUT_MS=before, REAL_TOPIC="t", REAL_QID=1)
        local.clock.advance(2)
        assert timer.delivered_to() < before
        await timer.stop()

"""Delayed messages over days, kills and restarts: everything comes, nothing early, nothing late."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_testing import ClusterScene, ManualClock

from mqframe import AsyncProducer, AsyncPushConsumer, ConsumeResult, Message
from mqframe.core.requests.messages import EndTransaction, SendMessageV2

LEVELS_MS = [1000, 5000, 10_000, 30_000]
SECONDS = st.integers(0, 40_000)


class DelayScene(ClusterScene):
    """A broker, a producer, and what must come when. `due`: body to its time, ms."""

    def __init__(self) -> None:
        super().__init__(topics={"t": 1}, clock=ManualClock(1_700_000_000_123))
        self.due: dict[bytes, int] = {}
        self.slack: dict[bytes, int] = {}
        self.killed = False

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("g", nameserver=self.nameserver, clock=self.clock))

    async def send(self, kind: str, milliseconds: int) -> None:
        body = b"%d" % len(self.due)
        now = self.clock.now_ms()
        if kind == "level":
            level = milliseconds % len(LEVELS_MS)
            await self.producer.send(Message("t", body), delay_level=level + 1)
            self.due[body], self.slack[body] = now + LEVELS_MS[level], 0
        elif kind == "delay":
            await self.producer.send(Message("t", body), delay=milliseconds / 1000)
            self.due[body], self.slack[body] = now + milliseconds, 1000
        else:
            handle = (await self.producer.send(Message("t", body), deliver_at=now + 60_000)).recall_handle
            await self.producer.recall("t", handle)

    async def advance(self, seconds: float) -> None:
        await self.pass_time(seconds)
        await self.settle()

    async def restart(self, kill: bool, seconds: float) -> None:
        self.killed = self.killed or kill
        await (self.cluster.kill_broker if kill else self.cluster.stop_broker)()
        await self.pass_time(seconds)
        back = self.clock.now_ms()
        for body, time in self.due.items():
            if time + self.slack[body] >= back - seconds * 1000:  # its slot may have ended meanwhile
                self.slack[body] += round(seconds * 1000)
        await self.cluster.start_broker()
        await self.advance(0.1)

    def delivered(self) -> dict[bytes, list[int]]:
        times = defaultdict(list)
        for message in self.stored("t", 0):
            times[message.body].append(message.store_timestamp)
        return times

    def check(self) -> None:
        now, came = self.clock.now_ms(), self.delivered()
        assert set(came) <= set(self.due)
        for body, time in self.due.items():
            times = came.get(body, [])
            assert all(each >= time for each in times), "early"
            if now >= time + self.slack[body] + 200:
                assert times, f"{body!r} is lost"
                assert times[0] <= time + self.slack[body] + 200, "late"
            assert len(times) <= 1 or self.killed, "twice"


ACTIONS = st.one_of(
    st.tuples(st.just("send"), st.sampled_from(["level", "delay", "recall"]), SECONDS),
    st.tuples(st.just("advance"), st.integers(1, 15_000)),
    st.tuples(st.just("restart"), st.booleans(), st.sampled_from([0, 0, 3000, 20_000])),
)


@settings(max_examples=12, deadline=None)
@given(st.lists(ACTIONS, min_size=4, max_size=12))
async def test_a_simple_model_agrees(actions):
    async with DelayScene() as scene:
        for action, *values in actions:
            if action == "send":
                await scene.send(*values)
            elif action == "advance":
                await scene.advance(values[0] / 1000)
            else:
                await scene.restart(values[0], values[1] / 1000)
            scene.check()
        await scene.advance(42)
        scene.check()
        assert set(scene.delivered()) == set(scene.due)


async def test_consumers_get_what_is_due_two_hours_and_a_kill_later():
    got: Counter[bytes] = Counter()

    async def take(messages, context):
        got.update(message.body for message in messages)
        return ConsumeResult.SUCCESS

    async with ClusterScene(topics={"t": 2}) as scene:
        # The scene does not close it, as time would pass meanwhile, of which two hours are counted.
        async with AsyncProducer("g", nameserver=scene.nameserver, clock=scene.clock) as producer:
            await producer.send(Message("t", b"level"), delay_level=18)
            await producer.send(Message("t", b"time"), delay=7200)
        await scene.pass_time(1)
        await scene.cluster.kill_broker()
        await scene.pass_time(7000)
        await scene.cluster.start_broker()
        options = {"nameserver": scene.nameserver, "clock": scene.clock, "consume_from": "first"}
        consumer = AsyncPushConsumer("c", **options)
        consumer.subscribe("t", "*", take)
        await scene.open(consumer)
        await scene.pass_time(198)
        assert not got
        for _ in range(40):
            await scene.pass_time(0.1)
            await scene.settle()
        assert got == {b"level": 1, b"time": 1}


@pytest.mark.parametrize("wish", ["DELAY\x011\x02", "TIMER_DELAY_SEC\x011\x02"])
async def test_a_transaction_waits_for_its_commit_and_then_for_its_delay(wish):
    async with ClusterScene(topics={"t": 1}) as scene:
        half = f"UNIQ_KEY\x01u\x02TRAN_MSG\x01true\x02PGROUP\x01g\x02{wish}"
        request = SendMessageV2("g", "t", "TBW102", 4, 0, 4, scene.clock.now_ms(), 0, half)
        sent = await scene.client.ok(request, b"x")
        assert "recallHandle" not in sent.ext
        await scene.pass_time(5)
        for topic, queue_id in (("t", 0), ("SCHEDULE_TOPIC_XXXX", 0), ("rmq_sys_wheel_timer", 0)):
            assert scene.store.queues.max_offset(topic, queue_id) == 0
        end = EndTransaction(
            topic="t",
            producer_group="g",
            tran_state_table_offset=int(sent.ext["queueOffset"]),
            commit_log_offset=int(sent.ext["msgId"][-16:], 16),
            commit_or_rollback=8,
            msg_id="u",
            transaction_id="u",
        )
        await scene.client.ok(end)
        await scene.pass_time(0.9)
        assert scene.store.queues.max_offset("t", 0) == 0
        await scene.pass_time(0.2)
        assert scene.store.queues.max_offset("t", 0) == 1

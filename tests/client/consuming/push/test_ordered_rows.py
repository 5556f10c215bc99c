"""Rows of messages that quick plain listeners of one get in order: what is kept between two of a row.

Listeners are called by threads, which take real time; the clock stands but where a test moves it.
"""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mqframe_testing.consuming import AllQueues, ClientScene

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.consume_call import BUNDLE_MAX, ListenerCaller
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import CallTimeout, ConnectionLost
from mqframe.core.requests.consumers import LockBatchMq
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.hooks.interfaces import ConsumeHook

GROUP = "billing"
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER
SUSPEND = ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT
WAIT = 60.0
ASKED = {"CLUSTER": "C", "REPLY_TO_CLIENT": "shop@1", "CORRELATION_ID": "r1", "TTL": "3000"}


class Listener:
    """A plain listener of one message.

    `answers`: what it answers, one after the other, at some offsets, before it is done with them. At offset
    `stuck` it waits until it is let go.
    """

    def __init__(self, answers: dict[int, list[Any]] | None = None, stuck: int = -1) -> None:
        self.began: list[int] = []
        self.ended: list[int] = []
        self.tries: list[tuple[int, int]] = []
        self.answers = answers or {}
        self.stuck = stuck
        self.let_go = threading.Event()
        self.most = self.at_work = 0

    def __call__(self, messages: Any, context: Any) -> Any:
        (message,) = messages
        offset = message.queue_offset
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        self.began.append(offset)
        self.tries.append((offset, message.reconsume_times))
        if offset == self.stuck:
            assert self.let_go.wait(WAIT)
        self.at_work -= 1
        left = self.answers.get(offset)
        if left:
            answer = left.pop(0)
            if isinstance(answer, BaseException):
                raise answer
            return answer(context) if callable(answer) else answer
        self.ended.append(offset)
        return OK


class Scene(ClientScene):
    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__({"orders": 2, f"%RETRY%{GROUP}": 1})
        options = {"allocate": AllQueues(), "consume_from": "first", "ordered": True, **options}
        self.consumer = AsyncPushConsumer(GROUP, instance=self.instance, clock=self.clock, **options)

    async def warm_up(self, listener: Listener) -> None:
        """Workers know from message 0 that `listener` is quick."""
        self.consumer.subscribe("orders", "*", listener, batch_max=1)
        self.broker.put("orders", 0, b"first")
        await self.consumer.start()
        await self.until(lambda: listener.began == [0])
        await self.until(lambda: self.held() == 0)

    def held(self) -> int:
        """Messages that were pulled, and do not count as consumed yet."""
        return sum(each.held.message_count for each in self.assigned())

    def assigned(self) -> Any:
        return [each for each in self.consumer._runtime.queues.assigned if each.queue.topic == "orders"]

    async def until(self, holds: Any, seconds: float = 0.0) -> None:
        """Threads have got so far; `seconds` pass each time that they have not."""
        async with asyncio.timeout(WAIT):
            while not holds():
                await self.pass_time(seconds)
                await asyncio.sleep(0)

    def stored(self, queue_id: int = 0) -> int | None:
        return super().stored(GROUP, queue_id)


@asynccontextmanager
async def staged(**options: Any) -> Any:
    async with Scene(options) as scene:
        try:
            yield scene
        finally:
            await scene.finish(scene.consumer.stop())


async def stuck_in_a_row(scene: Scene) -> Listener:
    """A listener that hangs with message 40 of 100 and has had those before it."""
    listener = Listener(stuck=40)
    await scene.warm_up(listener)
    scene.broker.put("orders", 0, *[b"x"] * 100)
    await scene.until(lambda: 40 in listener.began)
    return listener


@pytest.fixture
def rows(monkeypatch) -> list[int]:
    """How many messages each row had that was carried out, those that were left included."""
    sizes: list[int] = []
    carry_out = ListenerCaller.call_each

    def note(caller: ListenerCaller, row: Any, *limits: Any) -> None:
        sizes.append(len(row.waiting))
        carry_out(caller, row, *limits)

    monkeypatch.setattr(ListenerCaller, "call_each", note)
    return sizes


async def test_messages_come_once_and_in_order_many_in_a_row(rows) -> None:
    async with staged() as scene:
        listener = Listener()
        await scene.warm_up(listener)
        scene.broker.put("orders", 0, *[b"x"] * 300)
        await scene.until(lambda: len(listener.ended) == 301)
        assert listener.began == list(range(301))
        assert listener.most == 1
        assert rows
        assert max(rows) <= BUNDLE_MAX
        assert sum(rows) == 300, "none was left, or was offered twice"
        await scene.until(lambda: scene.stored() == 301, 0.1)


async def test_what_fails_comes_again_with_all_that_follows_it(rows) -> None:
    async with staged() as scene:
        failing = {5: [SUSPEND], 17: [LATER, ValueError("no")], 70: [None], 71: ["yes"]}
        listener = Listener({offset: list(answers) for offset, answers in failing.items()})
        await scene.warm_up(listener)
        scene.broker.put("orders", 0, *[b"x"] * 100)
        await scene.until(lambda: len(listener.began) == 6)
        await scene.pass_time(0.9)
        assert listener.began == [0, 1, 2, 3, 4, 5], "its queue waits for a second"
        await scene.until(lambda: len(listener.ended) == 101, 0.1)
        expected = [offset for n in range(101) for offset in [n] * (1 + len(failing.get(n, [])))]
        assert listener.began == expected
        assert listener.ended == list(range(101))
        assert [tries for offset, tries in listener.tries if offset == 17] == [0, 1, 2]
        assert max(rows) > 1
        await scene.until(lambda: scene.stored() == 101, 0.1)


async def test_what_was_done_before_a_message_that_hangs_is_committed_and_no_other_begun(rows) -> None:
    async with staged() as scene:
        listener = await stuck_in_a_row(scene)
        scene.broker.put("orders", 1, *[b"x"] * 30)  # workers are busy with others meanwhile
        await scene.until(lambda: len(listener.ended) == 70 and scene.held() == 61)
        await scene.pass_time(10.0)
        assert (scene.stored(0), scene.stored(1)) == (40, 30)
        assert max(listener.began) == 40
        listener.let_go.set()
        await scene.until(lambda: len(listener.ended) == 131)
        await scene.until(lambda: (scene.stored(0), scene.stored(1)) == (101, 30), 0.1)
        assert sorted(listener.began) == sorted([*range(101), *range(30)])
        assert rows[:2] == [64, 30]


async def test_nothing_is_begun_behind_the_end() -> None:
    async with staged() as scene:
        listener = await stuck_in_a_row(scene)
        stopping = asyncio.ensure_future(scene.consumer.stop())
        await scene.pass_time()
        listener.let_go.set()
        await scene.finish(stopping, 0.01)
        assert listener.ended == listener.began == list(range(41))
        assert scene.stored() == 41


async def test_an_end_that_does_not_wait_any_longer_commits_what_was_done() -> None:
    async with staged(settings=ConsumerSettings(stop_seconds=1.0)) as scene:
        listener = await stuck_in_a_row(scene)
        await scene.finish(scene.consumer.stop())
        assert (listener.began, scene.stored()) == (list(range(41)), 40)
        listener.let_go.set()


async def test_a_queue_that_another_member_has_is_left_in_the_middle_of_a_row() -> None:
    async with staged() as scene:
        listener = await stuck_in_a_row(scene)
        await scene.until(lambda: scene.held() == 61)
        for queue_id in (0, 1):
            scene.broker.locks[GROUP, scene.broker.queue("orders", queue_id)] = "somebody"
        await scene.pass_time(20.0)
        await scene.until(lambda: scene.assigned() == [])
        before = scene.stored()
        listener.let_go.set()
        await scene.until(lambda: listener.at_work == 0)
        await scene.pass_time(30.0)
        assert listener.began == list(range(41))
        assert (before, scene.stored()) == (40, 40)


async def test_nothing_is_begun_after_the_lease_until_it_is_renewed() -> None:
    async with staged() as scene:
        listener = await stuck_in_a_row(scene)
        scene.broker.script(LockBatchMq, *[CallTimeout("late")] * 2)
        await scene.pass_time(31.0)
        listener.let_go.set()
        await scene.until(lambda: scene.held() == 60)
        assert listener.began == list(range(41))
        await scene.until(lambda: len(listener.ended) == 101, 0.1)
        assert listener.began == list(range(101))


async def test_nothing_is_begun_once_the_lock_is_doubted() -> None:
    """A connection that broke in the middle of a row: no time passes."""
    async with staged() as scene:
        listener = await stuck_in_a_row(scene)
        scene.broker.script(PullMessage, ConnectionLost("gone"))
        scene.broker.script(LockBatchMq, *[ConnectionLost("gone")] * 2)
        scene.broker.put("orders", 0, b"x")
        await scene.pass_time()
        before = scene.held()
        listener.let_go.set()
        await scene.until(lambda: scene.held() == before - 1)
        assert listener.began == list(range(41))
        await scene.until(lambda: len(listener.ended) == 102, 0.1)
        assert listener.began == list(range(102))


async def test_a_listener_that_was_replaced_gets_nothing_more() -> None:
    async with staged() as scene:
        first, second = Listener(stuck=40), Listener()
        await scene.warm_up(first)
        scene.broker.put("orders", 0, *[b"x"] * 100)
        await scene.until(lambda: 40 in first.began)
        scene.consumer.subscribe("orders", "*", second, batch_max=1)
        first.let_go.set()
        await scene.until(lambda: len(second.ended) == 60)
        assert (first.ended, second.ended) == (list(range(41)), list(range(41, 101)))


async def test_requests_that_are_over_are_left_out_and_others_handed_over() -> None:
    async with staged() as scene:
        listener = Listener()
        await scene.warm_up(listener)
        scene.consumer.suspend()
        await scene.pass_time(1.0)
        for number in range(1, 9):
            scene.broker.put("orders", 0, b"x", properties=ASKED if number in (3, 4) else None)
        scene.clock.advance(4.0)
        for number in range(9, 20):
            scene.broker.put("orders", 0, b"x", properties=ASKED if number in (9, 14, 19) else None)
        scene.consumer.resume()
        await scene.until(lambda: len(listener.ended) == 18)
        await scene.until(lambda: scene.stored() == 20, 0.1)
        assert listener.ended == [n for n in range(20) if n not in (3, 4)]


async def test_hooks_see_each_message(rows) -> None:
    seen = []

    class Watch(ConsumeHook):
        name = "watch"

        def after(self, context: Any) -> None:
            seen.append([message.queue_offset for message in context.messages])

    async with staged(consume_hooks=[Watch()]) as scene:
        listener = Listener()
        await scene.warm_up(listener)
        scene.broker.put("orders", 0, *[b"x"] * 100)
        await scene.until(lambda: len(seen) == 101)
        assert seen == [[n] for n in range(101)]
        assert rows == []


async def test_slow_listeners_get_their_messages_by_themselves(rows) -> None:
    async with staged() as scene:
        slow = Listener({n: [lambda context: scene.clock.advance(0.01) or OK] for n in range(1, 50)})
        await scene.warm_up(slow)
        scene.broker.put("orders", 0, *[b"x"] * 49)
        await scene.until(lambda: len(slow.began) == 50)
        assert slow.began == list(range(50))
        assert len(rows) == 1, "from the first on it was known"


class Nothing(ConsumeHook):
    """Has each message handed over by itself."""

    name = "nothing"


@pytest.mark.parametrize("seed", range(12))
async def test_all_is_as_with_each_message_by_itself(seed: int, rows) -> None:
    """Offsets and tries in their order, dead letters, and what is committed in the end."""
    chance = random.Random(seed)

    def dead(context: Any) -> ConsumeResult:
        context.delay_level_when_next_consume = -1
        return LATER

    def patient(context: Any) -> ConsumeResult:
        context.suspend_current_queue_time_millis = 3000
        return SUSPEND

    def refusing(context: Any) -> ConsumeResult:
        context.ack_index = -1  # not heeded in order
        return OK

    kinds = [SUSPEND, LATER, None, "yes", ValueError("no"), dead, patient, refusing]
    script = {
        offset: [chance.choice(kinds) for _ in range(chance.randrange(1, 4))]
        for offset in chance.sample(range(1, 150), 12)
    }
    parts = [chance.randrange(1, 80) for _ in range(3)]
    limit = ConsumerSettings(max_reconsume_times=chance.choice([1, 2]))
    found = []
    for hooks in ([], [Nothing()]):
        async with staged(consume_hooks=hooks, settings=limit) as scene:
            listener = Listener({offset: list(answers) for offset, answers in script.items()})
            await scene.warm_up(listener)
            for count in parts:
                scene.broker.put("orders", 0, *[b"x"] * count)
                await scene.pass_time(0.05)
            await scene.until(lambda scene=scene: scene.stored() == 1 + sum(parts), 0.1)
            dead_letters = [(each.topic, each.reconsume_times) for each in scene.broker.sent(SendMessageV2)]
            found.append((listener.tries, listener.ended, dead_letters))
    assert found[0] == found[1]
    assert max(rows) > 1

"""The pulls of assigned queues over a scripted broker: one each, flow control, errors, moved offsets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mqframe_testing.consuming import ClientScene

from mqframe.client.configuration.fetch_options import FetchOptions
from mqframe.client.consuming.group.queue_fetcher import QueueFetcher
from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.flow_control import FetchLimits, FlowLimits
from mqframe.core.errors import CallTimeout, ConnectionLost, MqframeError, answer_error
from mqframe.core.filtering.filter_expression import filter_of
from mqframe.core.requests.messages import LitePullMessage, PullMessage
from mqframe.core.storage.record import encode_record
from mqframe.core.wire.frame import Frame

WIDE = FlowLimits(1000, 1 << 20, 1000)


class Scene(ClientScene):
    """A fetcher whose strategy and sink note what they hear."""

    def __init__(self, queues: int = 1, limits: FetchLimits | None = None, **options) -> None:
        super().__init__({"orders": queues})
        self.subscription = TopicSubscription("orders", filter_of("*"), 7)
        self.first: int | MqframeError = 0
        self.commits: dict = {}
        self.heard: list[tuple] = []
        self.fetcher = QueueFetcher(
            self.instance,
            FetchOptions(
                group="g",
                clock=self.clock,
                limits=limits or FetchLimits(queue=WIDE),
                **{
                    "messages_max": 4,
                    "bytes_max": 1000,
                    "wait_seconds": 10.0,
                    "timeout_seconds": 30.0,
                    **options,
                },
            ),
            self,
            self,
        )

    def queue(self, number: int = 0):
        return self.broker.queue("orders", number)

    def pulls(self, kind=PullMessage) -> list[tuple[int, int]]:
        return [(pull.queue_id, pull.queue_offset) for pull in self.broker.sent(kind)]

    def consume(self, number: int = 0) -> list[bytes]:
        held = self.fetcher.get(self.queue(number)).held
        taken = held.take(held.waiting_count)
        held.remove(taken)
        return [message.body for message in taken]

    async def own(self, *numbers: int, offset: int | None = 0) -> None:
        for number in numbers or (0,):
            self.fetcher.own(self.queue(number), offset)
        await self.pass_time()

    # strategy and sink

    def find(self, topic):
        return self.subscription

    async def first_offset(self, queue):
        if isinstance(self.first, MqframeError):
            raise self.first
        return self.first

    async def committable(self, queue):
        return self.commits.get(queue)

    def skipped(self, queue, offset):
        self.heard.append(("skipped", queue.queue_id, offset))

    async def corrected(self, queue, offset, owned):
        self.heard.append(("corrected", queue.queue_id, offset, owned))

    def failed(self, queue, problem):
        self.heard.append(("failed", queue.queue_id, type(problem)))

    def given_up(self, assigned):
        self.heard.append(("given up", assigned.queue.queue_id, assigned.held.message_count))

    def arrived(self, assigned):
        self.heard.append(("arrived", assigned.queue.queue_id, assigned.held.message_count))


@asynccontextmanager
async def staged(*args, **options) -> AsyncIterator[Any]:
    async with Scene(*args, **options) as scene:
        try:
            yield scene
        finally:
            await scene.finish(scene.fetcher.stop())


async def test_one_pull_is_under_way_for_each_queue_and_goes_on_where_the_last_ended() -> None:
    async with staged(2) as scene:
        await scene.own(0, 1)
        assert scene.pulls() == [(0, 0), (1, 0)]
        scene.broker.put("orders", 1, b"a", b"b")
        await scene.pass_time()
        assert scene.pulls() == [(0, 0), (1, 0), (1, 2)]
        assert scene.consume(1) == [b"a", b"b"]
        assert scene.heard == [("arrived", 1, 2)]
        assert len(scene.broker.held_back) == 2


async def test_what_may_be_committed_rides_on_the_pull() -> None:
    async with staged() as scene:
        scene.commits[scene.queue()] = 5
        scene.broker.first[scene.queue()] = 6
        await scene.own(offset=6)
        (pull,) = scene.broker.sent(PullMessage)
        assert (pull.commit_offset, pull.sys_flag & 1, pull.subscription, pull.sub_version) == (5, 1, None, 7)


async def test_lite_pulls_bring_their_filter() -> None:
    async with staged(lite=True) as scene:
        await scene.own()
        (pull,) = scene.broker.sent(LitePullMessage)
        assert (pull.subscription, pull.sub_version, pull.sys_flag) == ("*", 0, 2 | 4 | 16)


async def test_a_first_offset_that_is_not_found_is_asked_for_again_after_three_seconds() -> None:
    async with staged() as scene:
        scene.first = CallTimeout("late")
        await scene.own(offset=None)
        scene.first = 9
        scene.broker.first[scene.queue()] = 9
        await scene.pass_time(2.9)
        assert scene.pulls() == []
        await scene.pass_time(0.2)
        assert scene.pulls() == [(0, 9)]


@pytest.mark.parametrize(("problem", "pause"), [(CallTimeout("late"), 3.0), (ConnectionLost("gone"), 0.1)])
async def test_a_failed_pull_is_noted_and_made_again_after_its_pause_whatever_is_consumed(
    problem, pause
) -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a", b"b", b"c", b"d", b"e")
        scene.broker.script(PullMessage, problem)
        await scene.own()
        assert scene.heard == [("failed", 0, type(problem))]
        await scene.pass_time(pause * 0.79)
        assert scene.pulls() == [(0, 0)]
        await scene.pass_time(pause * 0.42)
        assert scene.pulls() == [(0, 0), (0, 0), (0, 4), (0, 5)]
        scene.broker.script(PullMessage, problem)
        scene.broker.put("orders", 0, b"f")
        await scene.pass_time()
        assert scene.consume() == [b"a", b"b", b"c", b"d", b"e", b"f"]
        await scene.pass_time(pause / 3)
        assert scene.pulls()[4:] == [(0, 6)]


async def test_a_full_queue_waits_and_goes_on_as_soon_as_there_is_room() -> None:
    async with staged(limits=FetchLimits(queue=FlowLimits(8, 1 << 20, 1000))) as scene:
        scene.broker.put("orders", 0, *[b"%d" % n for n in range(20)])
        await scene.own()
        await scene.pass_time(1.0)
        assert scene.pulls() == [(0, 0), (0, 4), (0, 8)]
        assert len(scene.consume()) == 12
        await scene.pass_time()
        assert scene.pulls()[3:] == [(0, 12), (0, 16), (0, 20)]


async def test_all_queues_wait_for_the_total_and_all_go_on_after_it() -> None:
    async with staged(2, limits=FetchLimits(queue=WIDE, held_messages_max=6)) as scene:
        for number in (0, 1):
            scene.broker.put("orders", number, *[b"%d" % n for n in range(10)])
        await scene.own(0, 1)
        await scene.pass_time(1.0)
        before = len(scene.pulls())
        assert before < 4
        scene.consume(0)
        scene.consume(1)
        await scene.pass_time()
        assert {number for number, _ in scene.pulls()[before:]} == {0, 1}


async def test_an_offset_that_does_not_exist_moves_the_queue_and_drops_what_was_read_before() -> None:
    async with staged(2) as scene:
        scene.broker.put("orders", 0, b"a")
        await scene.own(1)
        await scene.own()
        before = scene.fetcher.get(scene.queue()).held
        scene.broker.cut("orders", 0, 50)
        scene.fetcher.seek(scene.queue(), 1)
        await scene.pass_time()
        assert before.dropped
        owned = [scene.queue(0), scene.queue(1)]
        assert ("corrected", 0, 50, owned) in scene.heard
        assert scene.pulls()[-1] == (0, 50)


@pytest.mark.parametrize("again", [3, 12])
async def test_a_topic_that_was_deleted_is_read_from_its_beginning_when_it_is_made_anew(again) -> None:
    async with staged(2) as scene:
        scene.broker.put("orders", 0, *[b"old"] * 10)
        await scene.own(1)
        await scene.own()
        scene.consume()
        gone = answer_error(ResponseCode.TOPIC_NOT_EXIST, "topic orders was deleted", "10.0.0.1:10911")
        scene.broker.script(PullMessage, gone, gone)
        scene.fetcher.seek(scene.queue(), 10)
        await scene.pass_time()
        assert ("corrected", 0, 0, [scene.queue(0), scene.queue(1)]) in scene.heard
        scene.broker.cut("orders", 0, 10)
        scene.broker.cut("orders", 0, 0)
        new = [b"new %d" % number for number in range(again)]
        scene.broker.put("orders", 0, *new)
        came = []
        for _ in range(10):
            await scene.pass_time(3.0)
            came += scene.consume()
        assert came == new
        moved = [each for each in scene.heard if each[0] == "corrected"]
        assert moved == [("corrected", 0, 0, [scene.queue(0), scene.queue(1)])], "once is enough"


async def test_messages_that_the_filter_drops_move_the_offset() -> None:
    async with staged(lite=True) as scene:
        scene.subscription = TopicSubscription("orders", filter_of("paid"), 8)
        scene.broker.put("orders", 0, b"a", b"b", tag="open")
        await scene.own()
        assert scene.heard == [("skipped", 0, 2)]


async def test_an_answer_by_an_older_filter_is_not_used() -> None:
    async with staged() as scene:
        await scene.own()
        scene.subscription = TopicSubscription("orders", filter_of("a || b"), 8)
        scene.broker.put("orders", 0, b"a", tag="a")
        await scene.pass_time()
        assert scene.pulls()[:2] == [(0, 0), (0, 0)]
        assert scene.consume() == [b"a"]


async def test_a_seek_voids_the_pull_under_way() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a", b"b", b"c")
        late: asyncio.Future = asyncio.get_running_loop().create_future()
        scene.broker.script(PullMessage, lambda request: late)
        await scene.own()
        assert scene.fetcher.seek(scene.queue(), 2)
        await scene.pass_time()
        assert scene.consume() == [b"c"]
        assert not scene.fetcher.seek(scene.queue(9), 2)


async def test_paused_and_suspended_queues_are_kept_but_not_pulled() -> None:
    async with staged(2) as scene:
        await scene.own(0, 1)
        scene.fetcher.pause(scene.queue(0))
        scene.broker.put("orders", 0, b"a")
        scene.broker.put("orders", 1, b"b")
        await scene.pass_time(5.0)
        assert [scene.consume(0), scene.consume(1)] == [[b"a"], [b"b"]]
        assert scene.pulls() == [(0, 0), (1, 0), (1, 1)]
        scene.fetcher.resume(scene.queue(0))
        await scene.pass_time()
        assert scene.pulls()[3:] == [(0, 1)]
        scene.fetcher.suspend_all()
        scene.broker.put("orders", 0, b"c")
        await scene.pass_time(5.0)
        assert scene.pulls()[4:] == []
        scene.fetcher.resume_all()
        await scene.pass_time()
        assert (0, 2) in scene.pulls()
        assert scene.fetcher.queues == [scene.queue(0), scene.queue(1)]


async def test_topics_stand_still_for_as_long_as_nobody_wants_them() -> None:
    async with staged(2) as scene:
        unwanted: set[str] = {"orders"}
        scene.fetcher.stands = unwanted.__contains__
        await scene.own(0, 1)
        await scene.pass_time(30.0)
        assert scene.pulls() == []
        assert [scene.fetcher.stands_still(each) for each in scene.fetcher.assigned] == [True, True]
        unwanted.clear()
        scene.fetcher.pause(scene.queue(1))
        assert [scene.fetcher.stands_still(each) for each in scene.fetcher.assigned] == [False, True]
        scene.fetcher.look_again()
        await scene.pass_time()
        assert scene.pulls() == [(0, 0)]


async def test_what_is_given_up_is_dropped_and_leaves_room_for_others() -> None:
    async with staged() as scene:
        scene.broker.put("orders", 0, b"a", b"b")
        await scene.own()
        held = scene.fetcher.get(scene.queue()).held
        scene.fetcher.give_up(scene.queue())
        assert (held.dropped, scene.fetcher.queues) == (True, [])
        assert scene.heard[-1] == ("given up", 0, 2)
        scene.broker.put("orders", 0, b"c")
        await scene.pass_time(1.0)
        assert scene.pulls() == [(0, 0), (0, 2)]
        held.remove(held.take(2))  # a listener that was late; it wakes nobody
        await scene.own(offset=2)
        assert scene.consume() == [b"c"]


async def test_limits_of_a_topic_divide_over_its_queues() -> None:
    async with staged(2, limits=FetchLimits(queue=WIDE, topic_messages_max=14)) as scene:
        for number in (0, 1):
            scene.broker.put("orders", number, *[b"%d" % n for n in range(20)])
        scene.fetcher.own(scene.queue(0), 0)
        scene.fetcher.own(scene.queue(1), 0)
        scene.fetcher.share_limits()
        await scene.pass_time(1.0)
        assert sorted(scene.pulls()) == [(0, 0), (0, 4), (1, 0), (1, 4)]


async def test_a_queue_that_nobody_tries_to_pull_is_stuck_after_two_minutes() -> None:
    async with staged() as scene:
        late: asyncio.Future = asyncio.get_running_loop().create_future()
        scene.broker.script(PullMessage, lambda request: late)
        await scene.own()
        await scene.pass_time(120.0)
        assert scene.fetcher.stuck() == []
        await scene.pass_time(0.1)
        assert scene.fetcher.stuck() == [scene.queue()]


@pytest.mark.parametrize("code", [19, 20, 21])
async def test_a_broker_that_says_nothing_at_once_and_always_is_not_asked_without_a_pause(code):
    async with Scene() as scene:
        ext = {"suggestWhichBrokerId": "0", "nextBeginOffset": "0", "minOffset": "0", "maxOffset": "0"}
        scene.broker.script(PullMessage, *[lambda request: Frame(code, flag=1, ext=ext)] * 1000)
        await scene.own()
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(scene.pulls()) == 3
        await scene.clock.aadvance(0.1)
        assert len(scene.pulls()) == 4
        await scene.clock.aadvance(1.0)
        assert len(scene.pulls()) == 14


async def test_a_pull_that_brought_what_was_not_asked_for_is_made_again():
    async with Scene() as scene:
        ext = {"suggestWhichBrokerId": "0", "nextBeginOffset": "1", "minOffset": "0", "maxOffset": "1"}
        scene.broker.put("orders", 0, b"right")
        wrong = encode_record(
            topic="payments", queue_id=0, queue_offset=0, physical_offset=0, body=b"wrong", properties=b"",
            born_timestamp=1, born_host=bytes(8), store_timestamp=1, store_host=bytes(8),
        )  # fmt: skip
        scene.broker.script(PullMessage, lambda request: Frame(0, flag=1, ext=ext, body=wrong))
        await scene.own()
        assert scene.fetcher.get(scene.queue()).held.message_count == 0
        await scene.clock.aadvance(5)
        assert scene.consume() == [b"right"]
        assert scene.pulls()[:2] == [(0, 0), (0, 0)]

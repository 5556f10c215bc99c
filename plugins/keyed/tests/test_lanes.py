"""Lanes of a queue: order within each key, whatever comes when."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mqframe_keyed.lanes import KeyedQueue, Lane
from mqframe_testing.consuming import received

from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.ordered_queue import OrderedCall
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.ordered_turn import Why
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.queue_locks import LockLease
from mqframe.core.messages.message import MessageQueue

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER
PLAIN = subscription("orders", "*", lambda messages, context: OK, 1, 1)


def keyed(*, together: bool = False, lease: LockLease | None = None) -> KeyedQueue:
    held = ProcessQueue(MessageQueue("orders", "broker-a", 0), 0.0)
    return KeyedQueue(held, lease, lambda message: message.properties.get("k"), together=together)


def offered(queue: KeyedQueue, keys: str, first: int = 0) -> list[Lane]:
    """Offers one message for each letter; "." has no key."""
    messages = [
        received(at, **({} if key == "." else {"k": key})) for at, key in enumerate(keys, start=first)
    ]
    return queue.offer(messages, 0.0)


def begun(lane: Lane) -> OrderedCall:
    call = OrderedCall(lane, PLAIN, 0.0)
    call.begin(0.0)
    return call


def offsets(call: OrderedCall) -> list[int]:
    return [message.queue_offset for message in call.messages]


def test_each_key_has_a_lane_with_its_messages_in_order() -> None:
    queue = keyed()
    lanes = offered(queue, "abab")
    assert [list(lane.unfinished) for lane in lanes] == [[0, 2], [1, 3]]
    assert [offsets(begun(lane)) for lane in lanes] == [[0], [1]]
    assert offered(queue, "ab", 4) == [], "workers are there"
    assert [list(lane.unfinished) for lane in lanes] == [[0, 2, 4], [1, 3, 5]]


def test_messages_without_a_key_are_apart_or_together() -> None:
    assert [list(lane.unfinished) for lane in offered(keyed(), "..")] == [[0], [1]]
    assert [list(lane.unfinished) for lane in offered(keyed(together=True), "..")] == [[0, 1]]


def test_the_same_key_of_two_topics_is_two_keys() -> None:
    queue = keyed()
    lanes = queue.offer([received(0, k="a"), received(1, topic="bills", k="a")], 0.0)
    assert [(lane.topic, list(lane.unfinished)) for lane in lanes] == [("orders", [0]), ("bills", [1])]


@pytest.mark.parametrize("key", [lambda message: 1 // 0, lambda message: []])
def test_a_message_whose_key_cannot_be_told_is_alone_with_the_problem(key) -> None:
    queue = KeyedQueue(keyed().held, None, key, together=True)
    one, two = queue.offer([received(0), received(1)], 0.0)
    assert [type(lane.problem) for lane in (one, two)] in ([ZeroDivisionError] * 2, [TypeError] * 2)


def test_a_lane_goes_on_with_what_came_meanwhile_and_is_left_when_nothing_is_there() -> None:
    queue = keyed()
    [lane] = offered(queue, "a")
    call = begun(lane)
    offered(queue, "a", 1)
    call.result = OK
    second = call.next(PLAIN, 0.0)
    lane.finish(call.messages)
    assert offsets(second) == [1]
    queue.leave(lane)
    assert len(queue) == 1, "something is unfinished"
    second.result = OK
    assert second.next(PLAIN, 0.0).why is Why.EMPTY
    lane.finish(second.messages)
    queue.leave(lane)
    assert len(queue) == 0
    assert offered(queue, "a", 2) != [lane]


def test_a_suspended_lane_begins_again_at_its_first_message() -> None:
    queue = keyed()
    [lane] = offered(queue, "aa")
    call = begun(lane)
    call.result = LATER
    end = call.next(PLAIN, 0.0)
    assert (end.why, end.failed) == (Why.FAILED, call)
    assert offered(queue, "a", 2) == [], "it waits"
    assert lane.resume(1.0)
    assert not lane.resume(1.0), "only once"
    again = begun(lane)
    assert offsets(again) == [0]
    again.result = OK
    assert offsets(again.next(PLAIN, 1.0)) == [1]


def test_a_suspended_lane_of_which_nothing_is_left_rests() -> None:
    queue = keyed()
    [lane] = offered(queue, "a")
    call = begun(lane)
    call.result = LATER
    call.next(PLAIN, 0.0)
    lane.finish(call.messages)
    assert not lane.resume(1.0)
    assert lane.offer([received(1, k="a")], 1.0)


@pytest.mark.parametrize(
    ("keys", "result", "why", "queued"),
    [("aa", OK, Why.LONG, True), ("a", OK, Why.EMPTY, False), ("aa", LATER, Why.FAILED, False)],
)
def test_a_worker_gives_way(keys: str, result, why: Why, queued: bool) -> None:
    [lane] = offered(keyed(), keys)
    call = begun(lane)
    call.result = result
    end = lane.give_way(call, 0.0)
    assert (end.why, lane.turn.queued) == (why, queued)
    assert end.failed is (call if result is LATER else None)


def test_a_lease_that_ended_is_met_when_a_worker_gives_way() -> None:
    lease = LockLease()
    lease.granted(0.0)
    [lane] = offered(keyed(lease=lease), "a")
    call = begun(lane)
    call.result = OK
    assert lane.give_way(call, 1000.0).why is Why.UNLOCKED


def test_a_closed_queue_is_left_once_all_listeners_have_ended() -> None:
    queue = keyed()
    one, two, _ = offered(queue, "abc")
    calls = [begun(one), begun(two)]
    told: list[Lane] = []
    assert not queue.close(told.append)
    assert len(told) == 3
    for call in calls:
        call.result = OK
    assert calls[0].next(PLAIN, 0.0).why is Why.CLOSED
    assert not queue.close()
    calls[1].abandon()
    assert queue.close()
    assert offered(queue, "ab", 3) == []


class LaneMachine(RuleBasedStateMachine):
    """Workers, failures and arrivals in any order: each key's messages are done in the order of offsets."""

    @initialize(together=st.booleans())
    def begin(self, together: bool) -> None:
        self.queue = keyed(together=together)
        self.together = together
        self.sent = 0
        self.sent_of: dict[str, list[int]] = defaultdict(list)
        self.done_of: dict[str, list[int]] = defaultdict(list)
        self.called: list[OrderedCall] = []
        self.suspended: list[Lane] = []

    def _key(self, lane: Lane) -> str:
        [_, key] = lane.key  # type: ignore[misc]
        return key if isinstance(key, str) else "." if key is None else f"alone {id(key)}"

    def _call(self, lane: Lane) -> None:
        call = begun(lane)
        assert call.why is None
        self.called.append(call)

    @rule(keys=st.text("ab.", min_size=1, max_size=6))
    def arrive(self, keys: str) -> None:
        for at, key in enumerate(keys, start=self.sent):
            if key != "." or self.together:
                self.sent_of[key].append(at)
        self.sent += len(keys)
        for lane in offered(self.queue, keys, self.sent - len(keys)):
            self._call(lane)

    @precondition(lambda self: self.called)
    @rule(which=st.integers(0, 99), good=st.booleans(), way=st.booleans())
    def answer(self, which: int, good: bool, way: bool) -> None:
        call = self.called.pop(which % len(self.called))
        lane = call.queue
        assert isinstance(lane, Lane)
        call.result = OK if good else LATER
        after = lane.give_way(call, 0.0) if way else call.next(PLAIN, 0.0)
        if good:
            lane.finish(call.messages)
            self.done_of[self._key(lane)] += offsets(call)
        if after.why is None:
            self.called.append(after)
        elif after.why is Why.LONG:
            self._call(lane)
        elif after.why is Why.FAILED:
            self.suspended.append(lane)
        else:
            self.queue.leave(lane)

    @precondition(lambda self: self.suspended)
    @rule(which=st.integers(0, 99))
    def resume(self, which: int) -> None:
        lane = self.suspended.pop(which % len(self.suspended))
        assert lane.resume(0.0)
        self._call(lane)

    @invariant()
    def order_holds_and_nobody_shares_a_key(self) -> None:
        if not hasattr(self, "queue"):
            return
        for key, done in self.done_of.items():
            if not key.startswith("alone"):
                assert done == self.sent_of[key][: len(done)]
        lanes = [call.queue for call in self.called]
        assert len(set(map(id, lanes))) == len(lanes)

    def teardown(self) -> None:
        if not hasattr(self, "queue"):
            return
        while self.called or self.suspended:
            if self.suspended:
                self.resume(0)
            self.answer(0, good=True, way=False)
        assert sum(map(len, self.done_of.values())) == self.sent
        assert len(self.queue) == 0


TestLaneMachine = LaneMachine.TestCase


@given(keys=st.text("abc.", max_size=30))
def test_all_that_is_offered_is_somewhere(keys: str) -> None:
    queue = keyed()
    lanes = offered(queue, keys)
    assert sorted(at for lane in lanes for at in lane.unfinished) == list(range(len(keys)))

"""Batches of a queue that is consumed in order: what a worker gets next, and when it lets go of the queue."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_testing.consuming import received

from mqframe.client.consuming.push.consume_call import BUNDLE_MAX
from mqframe.client.consuming.push.listener import subscription
from mqframe.client.consuming.push.ordered_queue import OrderedCall, OrderedQueue
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.ordered_turn import Turn, Why
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.queue_locks import LockLease
from mqframe.core.messages.message import MessageQueue

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER
TWO_AT_ONCE = subscription("orders", "*", lambda messages, context: OK, 2, 1)


def queue_with(*offsets: int, lease: LockLease | None = None) -> OrderedQueue:
    queue = OrderedQueue(ProcessQueue(MessageQueue("orders", "broker-a", 0), 0.0), lease)
    assert queue.turn.offer([received(offset) for offset in offsets], 0.0) == bool(offsets)
    return queue


def first_call(queue: OrderedQueue, now: float = 0.0) -> OrderedCall:
    call = OrderedCall(queue, TWO_AT_ONCE, now)
    call.begin(now)
    return call


def offsets(call: OrderedCall) -> list[int]:
    return [message.queue_offset for message in call.messages]


@pytest.mark.parametrize(
    ("result", "error", "good"),
    [(OK, None, True), (LATER, None, False), (None, None, False), (OK, ValueError("no stock"), False)],
)
def test_only_success_without_an_error_is_good(result: Any, error: Any, good: bool) -> None:
    call = first_call(queue_with(0))
    call.result, call.error = result, error
    assert call.good is good


def test_a_worker_keeps_the_queue_while_batches_are_good_and_messages_wait() -> None:
    queue = queue_with(0, 1, 2)
    call = first_call(queue)
    assert (offsets(call), call.why, queue.turn.state) == ([0, 1], None, Turn.LISTENING)
    assert not queue.turn.offer([received(3), received(4)], 1.0), "the worker that is there takes them"
    call.result = OK
    second = call.next(TWO_AT_ONCE, 2.0)
    assert (offsets(second), second.why, second.failed) == ([2, 3], None, None)
    assert (second.queue, second.held, second.since) == (queue, queue.held, 2.0)
    second.result = OK
    third = second.next(TWO_AT_ONCE, 3.0)
    assert offsets(third) == [4]
    third.result = OK
    end = third.next(TWO_AT_ONCE, 4.0)
    assert (end.messages, end.why, end.failed) == ([], Why.EMPTY, None)
    assert queue.turn.state is Turn.RESTING


def test_the_next_batch_is_as_large_as_its_subscription_says_then() -> None:
    call = first_call(queue_with(0, 1, 2, 3, 4, 5))
    call.result = OK
    changed = subscription("orders", "*", lambda messages, context: OK, 3, 2)
    second = call.next(changed, 1.0)
    assert (offsets(second), second.subscription) == ([2, 3, 4], changed)


def test_a_failed_batch_ends_the_turn_and_is_named() -> None:
    queue = queue_with(0, 1, 2)
    call = first_call(queue)
    call.result = LATER
    end = call.next(TWO_AT_ONCE, 1.0)
    assert (end.messages, end.why, end.failed) == ([], Why.FAILED, call)
    assert queue.turn.state is Turn.PAUSED
    assert queue.turn.waiting_count == 1


def test_nothing_is_begun_without_a_valid_lease() -> None:
    lease = LockLease()
    queue = queue_with(0, 1, 2, lease=lease)
    call = first_call(queue)
    assert (call.messages, call.why) == ([], Why.UNLOCKED)
    lease.granted(0.0)
    queue.turn.resume(1.0)
    call = first_call(queue, 1.0)
    assert (offsets(call), call.why) == ([0, 1], None)
    call.result = OK
    end = call.next(TWO_AT_ONCE, 31.0)
    assert (end.messages, end.why, end.failed) == ([], Why.UNLOCKED, None)


def test_a_queue_that_closes_under_a_listener_ends_after_it() -> None:
    queue = queue_with(0, 1, 2)
    call = first_call(queue)
    assert not queue.turn.close()
    call.result = OK
    end = call.next(TWO_AT_ONCE, 1.0)
    assert (end.messages, end.why, queue.turn.state) == ([], Why.CLOSED, Turn.CLOSED)


def test_a_listener_that_was_broken_off_counts_as_one_that_failed() -> None:
    queue = queue_with(0, 1, 2)
    call = first_call(queue)
    call.result = OK
    call.abandon()
    assert (queue.turn.state, queue.turn.why) == (Turn.PAUSED, Why.FAILED)


ONE = subscription("orders", "*", lambda messages, context: OK, 1, 1)


def first_row(queue: OrderedQueue) -> OrderedCall:
    row = OrderedCall(queue, ONE, 0.0)
    row.begin(0.0, rows=True)
    return row


def carry_out(row: OrderedCall, count: int) -> None:
    """The listener was called for `count` messages, which went well."""
    row.result = OK
    row.messages += [row.waiting.popleft() for _ in range(count)]


def test_a_row_is_many_messages_that_wait_for_their_call() -> None:
    queue = queue_with(*range(BUNDLE_MAX + 2))
    row = first_row(queue)
    assert (row.messages, row.why, row.settled) == ([], None, 0)
    assert [message.queue_offset for message in row.waiting] == list(range(BUNDLE_MAX))
    carry_out(row, BUNDLE_MAX)
    second = row.next(ONE, 1.0, rows=True)
    assert [message.queue_offset for message in second.waiting] == [BUNDLE_MAX, BUNDLE_MAX + 1]


def test_what_a_row_left_comes_first_in_the_next_one_or_by_itself() -> None:
    queue = queue_with(0, 1, 2, 3)
    row = first_row(queue)
    queue.turn.offer([received(4)], 0.0)
    carry_out(row, 2)
    second = row.next(ONE, 1.0, rows=True)
    assert [message.queue_offset for message in second.waiting] == [2, 3, 4]
    carry_out(second, 1)
    third = second.next(ONE, 2.0)
    assert (offsets(third), list(third.waiting)) == ([3], [])


@pytest.mark.parametrize("good", [True, False])
def test_the_last_of_a_row_decides_what_comes_after_it(good: bool) -> None:
    queue = queue_with(0, 1, 2, 3)
    row = first_row(queue)
    carry_out(row, 1)
    odd = row.odd = row.single(row.waiting.popleft())
    assert (odd.queue, odd.subscription, odd.since, offsets(odd)) == (queue, ONE, row.since, [1])
    odd.result = OK if good else LATER
    after = row.next(ONE, 1.0)
    if good:
        assert (offsets(after), after.why, after.failed) == ([2], None, None)
    else:
        assert (offsets(after), after.why, after.failed) == ([], Why.FAILED, odd)
        assert queue.turn.waiting_count == 2


def test_a_row_of_a_queue_that_closes_ends_the_turn() -> None:
    queue = queue_with(0, 1, 2)
    row = first_row(queue)
    carry_out(row, 1)
    queue.turn.close()
    end = row.next(ONE, 1.0, rows=True)
    assert (end.messages, list(end.waiting), end.why) == ([], [], Why.CLOSED)


def test_no_row_without_a_valid_lease() -> None:
    row = first_row(queue_with(0, 1, lease=LockLease()))
    assert (row.messages, list(row.waiting), row.why) == ([], [], Why.UNLOCKED)

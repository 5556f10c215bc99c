"""What the end of a log says of progress that counts on it."""

from __future__ import annotations

from mqframe.core.codes import SysFlag
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqframe.core.storage.cut_tail import CutTail
from mqframe.core.storage.log_scan import LogRecord


def record(topic: str, queue_id: int = 0, offset: int = 0, properties: str = "", flag: int = 0) -> LogRecord:
    return LogRecord(0, 100, topic, queue_id, offset, flag, 0, properties)


def taken(*records: LogRecord) -> CutTail:
    tail = CutTail()
    for each in records:
        tail.take(each)
    return tail


def test_queues_are_known_by_their_first_and_last_record_even_where_a_topic_was_made_anew() -> None:
    tail = taken(record("t", 1, 7), record("t", 1, 8), record("u", 0, 4), record("u", 0, 0))
    assert (tail.records, tail.queues) == (4, {("t", 1): (7, 9), ("u", 0): (0, 5)})
    assert (tail.first("t", 1), tail.first("t", 0)) == (7, None)


def test_what_no_queue_lists_is_counted_only() -> None:
    tail = taken(record("t", flag=SysFlag.TRANSACTION_ROLLBACK))
    assert (tail.records, tail.queues) == (1, {})


def test_deliveries_are_counted_by_level_and_not_where_they_wait() -> None:
    tail = taken(
        record("t", properties="DELAY\x013\x02"),
        record("t", properties="DELAY\x013\x02"),
        record("t", properties="DELAY\x010\x02"),
        record("t", properties="DELAY\x01no\x02"),
        record(SCHEDULE_TOPIC, properties="DELAY\x012\x02"),
        record(HALF_TOPIC, properties="DELAY\x012\x02"),
    )
    assert tail.delivered == {3: 2}


def test_the_earliest_time_counts_for_which_the_timer_delivered() -> None:
    tail = taken(
        record("t", properties="TIMER_OUT_MS\x015000\x02TIMER_DEQUEUE_MS\x016000\x02"),
        record("t", properties="TIMER_OUT_MS\x013000\x02TIMER_DEQUEUE_MS\x016000\x02"),
        record("t", properties="TIMER_OUT_MS\x011000\x02"),
        record(TIMER_TOPIC, properties="TIMER_OUT_MS\x012000\x02TIMER_DEQUEUE_MS\x016000\x02"),
    )
    assert tail.timer_due == 3000
    assert taken(record("t")).timer_due is None


def test_ends_of_transactions_tell_the_first_half_that_is_open_again() -> None:
    tail = taken(record(OP_HALF_TOPIC))
    assert tail.halves is None
    tail.ended([9, 4])
    tail.ended([])
    tail.ended([6])
    assert tail.halves == 4


def test_check_points_tell_where_their_groups_were() -> None:
    tail = CutTail()
    for queue_id, offset in ((0, 9), (0, 4), (1, 7), (0, 6)):
        tail.popped("t", "g", queue_id, offset)
    assert tail.pops == {("t@g", 0): 4, ("t@g", 1): 7}


def test_the_earliest_pop_counts_of_which_a_message_was_given_back() -> None:
    tail = CutTail()
    tail.gave_back("%RETRY%g_t", 5000, "u1", 1000)
    tail.gave_back("%RETRY%g_t", 4000, "u2", 2000)
    tail.gave_back("%RETRY%h_t", 6000, None, 3000)
    assert tail.popped_ms == 4000
    assert tail.given_back == {"%RETRY%g_t": {"u1": 1000, "u2": 2000}}

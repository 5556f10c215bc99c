"""What the end of a log says of progress that counts on it."""

from __future__ import annotations

from mqframe_replication.store.cut_tail import CutTail

from mqframe.core.codes import SysFlag
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

"""Topics that were deleted while the log still holds records of theirs."""

from __future__ import annotations

from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.queues.deleted_topics import DeletedTopics


def record(topic: str, offset: int) -> LogRecord:
    return LogRecord(offset, 100, topic, 0, 0, 0, 1, "")


def test_records_before_the_deletion_count_not(tmp_path) -> None:
    topics = DeletedTopics(tmp_path / "deleted")
    assert not topics
    topics.add("t", 0, 500)
    again = DeletedTopics(tmp_path / "deleted")
    assert again
    assert (again.offset("t"), again.offset("u")) == (500, 0)
    assert [again.owns(record("t", at)) for at in (0, 499, 500)] == [True, True, False]
    assert not again.owns(record("u", 0))


def test_those_go_that_the_log_knows_no_more(tmp_path) -> None:
    topics = DeletedTopics(tmp_path / "deleted")
    topics.add("t", 0, 500)
    topics.add("u", 400, 700)
    assert DeletedTopics(tmp_path / "deleted").offset("t") == 500
    topics.add("v", 500, 900)
    again = DeletedTopics(tmp_path / "deleted")
    assert [again.offset(topic) for topic in "tuv"] == [0, 700, 900]

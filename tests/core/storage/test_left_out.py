from __future__ import annotations

from mqframe.core.storage.left_out import KEPT_MAX, LeftOutList, LeftOutTable, MessagePlace
from mqframe.core.wire.loose_json import decode, dumps


def test_each_message_is_noted_once_with_its_place():
    noted = LeftOutList()
    assert noted.add("timer", MessagePlace("t", 2, 5, 700), "it cannot be read", 11)
    assert not noted.add("timer", MessagePlace("t", 2, 5, 700), "again", 12)
    assert noted.add("revival", MessagePlace("t", 2, 5, 700), "by another task", 13)
    assert (noted.total, noted.changes) == (2, 2)
    newest, oldest = noted.newest
    assert (newest.task, newest.problem, newest.time) == ("revival", "by another task", 13)
    assert (oldest.topic, oldest.queue_id, oldest.queue_offset, oldest.log_offset) == ("t", 2, 5, 700)
    assert (oldest.task, oldest.problem, oldest.time) == ("timer", "it cannot be read", 11)


def test_the_newest_are_listed_and_all_counted():
    noted = LeftOutList()
    for number in range(KEPT_MAX + 3):
        noted.add("timer", MessagePlace("t", 0, number, number), "x" * 10_000, number)
    assert noted.total == KEPT_MAX + 3
    assert [each.queue_offset for each in noted.newest] == list(range(KEPT_MAX + 2, 2, -1))
    assert len(noted.newest[0].problem) == 300


def test_a_start_takes_over_what_was_saved():
    noted = LeftOutList()
    for number in range(3):
        noted.add("timer", MessagePlace("t", 0, number, number), "x", number)
    again = LeftOutList()
    again.load(decode(dumps(noted.dump()), LeftOutTable))
    assert (again.newest, again.total) == (noted.newest, 3)
    assert not again.add("timer", MessagePlace("t", 0, 1, 1), "x", 9)
    again.load(LeftOutTable(total=0, messages=list(noted.newest)))
    assert again.total == 3

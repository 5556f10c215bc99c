"""What is saved comes back, and is saved again only where something changed."""

from __future__ import annotations

from mqframe_schedules.bodies import Schedule, ScheduleTable, SentTable
from mqframe_schedules.tables import Definitions, Messages
from mqframe_schedules.timetable import Timetable

from mqframe.core.wire import loose_json


class Hours:
    def next_after(self, after_ms: int) -> int:
        return after_ms + 3_600_000


def timetable() -> Timetable:
    made = Timetable(0)
    made.create(Schedule("a", "* * * * *", "orders", "x"), Hours(), 5, 70)
    return made


def test_definitions_come_back_and_are_not_lost_when_they_are_saved_before_they_are_taken_up() -> None:
    saved = loose_json.dumps(Definitions(timetable()).dump())
    again = Definitions(Timetable(0))
    again.load(loose_json.decode(saved, ScheduleTable))
    assert loose_json.dumps(again.dump()) == saved
    taken = again.take()
    (schedule,) = taken.schedules
    assert (schedule.name, schedule.number, schedule.since_ms, schedule.since_offset) == ("a", 1, 5, 70)
    assert taken.last_number == 1
    assert again.dump().schedules == []
    assert again.take().schedules == []


def test_messages_come_back_with_the_end_of_the_log() -> None:
    made = timetable()
    made.sent(1, 9_000, 170)
    saved = loose_json.dumps(Messages(made, lambda: 400).dump())
    again = Messages(Timetable(0), lambda: 0)
    again.load(loose_json.decode(saved, SentTable))
    assert loose_json.dumps(again.dump()) == saved
    taken = again.take()
    assert taken.scan_from == 400
    assert [[(m.planned_ms, m.end_offset) for m in each] for each in taken.sent.values()] == [[(9_000, 170)]]
    assert again.dump().sent == {}


def test_the_end_of_the_log_is_saved_only_for_schedules() -> None:
    table = Messages(Timetable(0), lambda: 400)
    table.note_log_end()
    assert table.changes == 0
    table = Messages(timetable(), lambda: 400)
    table.note_log_end()
    assert table.changes == 1

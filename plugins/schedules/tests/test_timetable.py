"""What is due, sent, paused, saved and taken up again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_schedules.bodies import Schedule, ScheduleTable, SentTable
from mqframe_schedules.timetable import Timetable

from mqframe.core.wire import loose_json


class Steps:
    """A time every `step_ms`."""

    def __init__(self, step_ms: int) -> None:
        self.step_ms = step_ms

    def next_after(self, after_ms: int) -> int:
        return after_ms // self.step_ms * self.step_ms + self.step_ms


def schedule(name: str = "a", missed: str = "all") -> Schedule:
    return Schedule(name=name, expression="", topic="orders", body="x", missed=missed)


def send_due(table: Timetable, now: int, end: int = 0) -> list[tuple[str, int]]:
    sent = []
    while (firing := table.next(now)) is not None and firing.planned_ms <= now:
        end += 10
        table.sent(firing.entry.definition.number, firing.planned_ms, end)
        sent.append((firing.entry.definition.name, firing.planned_ms))
    return sent


def test_messages_come_in_the_order_of_their_times() -> None:
    table = Timetable(1_000)
    table.create(schedule("slow"), Steps(300), 0, 0)
    table.create(schedule("fast"), Steps(200), 0, 0)
    assert send_due(table, 600) == [
        ("fast", 200), ("slow", 300), ("fast", 400), ("slow", 600), ("fast", 600),
    ]  # fmt: skip
    assert send_due(table, 600) == []
    following = table.next(600)
    assert following is not None
    assert following.planned_ms == 800


def test_nothing_that_was_planned_before_a_schedule_was_made_is_sent() -> None:
    table = Timetable(1_000)
    entry = table.create(schedule(), Steps(100), 1_000, 70)
    assert (entry.definition.number, entry.definition.since_ms, entry.definition.since_offset) == (
        1,
        1_000,
        70,
    )
    assert send_due(table, 1_050) == []
    assert send_due(table, 1_100) == [("a", 1_100)]


def test_a_clock_that_is_set_back_sends_nothing_twice() -> None:
    table = Timetable(1_000)
    table.create(schedule(), Steps(100), 0, 0)
    assert send_due(table, 300) == [("a", 100), ("a", 200), ("a", 300)]
    assert send_due(table, 150) == []
    assert send_due(table, 400) == [("a", 400)]


def test_what_is_planned_during_a_pause_is_not_sent() -> None:
    table = Timetable(1_000)
    entry = table.create(schedule(), Steps(100), 0, 0)
    table.pause(entry)
    assert table.next(500) is None
    table.resume(entry, 450)
    assert send_due(table, 500) == [("a", 500)]
    table.resume(entry, 600)
    assert send_due(table, 600) == [("a", 600)], "it was not paused"


def test_a_schedule_that_fails_does_not_hold_up_the_others() -> None:
    table = Timetable(1_000)
    table.create(schedule("a"), Steps(100), 0, 0)
    table.create(schedule("b"), Steps(100), 0, 0)
    firing = table.next(100, {"a"})
    assert firing is not None
    assert firing.entry.definition.name == "b"
    assert table.next(100, {"a", "b"}) is None


def test_numbers_are_never_given_twice() -> None:
    table = Timetable(1_000)
    table.remove(table.create(schedule(), Steps(100), 0, 0))
    assert table.create(schedule(), Steps(100), 0, 0).definition.number == 2
    saved = table.definitions()
    again = Timetable(1_000)
    again.load(saved.last_number, [(each, Steps(100)) for each in saved.schedules])
    assert again.create(schedule("b"), Steps(100), 0, 0).definition.number == 3


@given(
    st.lists(st.integers(1, 250), min_size=1, max_size=20),
    st.integers(0, 20),
    st.integers(0, 300),
    st.sampled_from(["skip", "one", "all"]),
)
def test_killed_anywhere_each_time_is_sent_once(
    waits: list[int], saved_after: int, lost_bytes: int, missed: str
) -> None:
    """The tables were saved some time before the kill; the log ends where it ends, perhaps earlier."""
    table = Timetable(0)
    table.create(schedule(missed=missed), Steps(50), 0, 0)
    definitions = loose_json.dumps(table.definitions())
    log: list[tuple[int, int, int]] = []
    saved, now = SentTable(), 0
    for number, wait in enumerate(waits):
        now += wait
        while (firing := table.next(now)) is not None and firing.planned_ms <= now:
            log.append((1, firing.planned_ms, len(log) * 10 + 10))
            table.sent(*log[-1])
        if number == saved_after:
            saved = loose_json.decode(loose_json.dumps(table.messages(len(log) * 10)), SentTable)
    end = max(0, len(log) * 10 - lost_bytes) // 10 * 10 if lost_bytes < 50 else len(log) * 10
    log = [each for each in log if each[2] <= end]

    again = Timetable(0)
    read = loose_json.decode(definitions, ScheduleTable)
    again.load(read.last_number, [(each, Steps(50)) for each in read.schedules])
    start = again.load_messages(saved, end)
    assert start <= end
    for each in log:
        if each[2] > start:
            again.sent(*each)
    before = [planned for _, planned, _ in log]
    after = [planned for _, planned in send_due(again, now + 400, end)]
    assert before + after == sorted(set(before + after))
    if missed == "all":
        assert before + after == list(range(50, now + 401, 50))


def test_without_schedules_no_log_has_to_be_read() -> None:
    assert Timetable(0).load_messages(SentTable(scan_from=10), 5_000) == 5_000
    table = Timetable(0)
    table.create(schedule(), Steps(50), 0, 700)
    assert table.load_messages(SentTable(), 5_000) == 700
    assert table.load_messages(SentTable(scan_from=900), 5_000) == 900
    assert table.load_messages(SentTable(scan_from=9_000), 5_000) == 5_000

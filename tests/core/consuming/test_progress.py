"""Progress of groups by queue, from a store and offsets that the test sets."""

from __future__ import annotations

from mqframe_testing.manual_clock import ManualClock

from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.consuming.progress import Progress


class Reads:
    """Queues of topic t that end at 10 and 20; the message at offset n was stored at 1000 + n."""

    def max_offset(self, topic: str, queue_id: int) -> int:
        return {("t", 0): 10, ("t", 1): 20}.get((topic, queue_id), 0)

    def store_time_at(self, topic: str, queue_id: int, offset: int) -> int | None:
        return 1000 + offset if offset < self.max_offset(topic, queue_id) else None


def scene() -> tuple[OffsetTable, Progress]:
    offsets = OffsetTable(ManualClock())
    return offsets, Progress(Reads(), offsets)


def test_the_time_is_that_of_the_last_consumed_message():
    offsets, progress = scene()
    offsets.commit("g", "t", 0, 4)
    found = progress.of_queue("g", "t", 0)
    assert (found.broker_offset, found.consumer_offset, found.last_timestamp) == (10, 4, 1003)


def test_a_group_that_never_committed_has_consumed_nothing():
    _, progress = scene()
    found = progress.of_queue("g", "t", 0)
    assert (found.broker_offset, found.consumer_offset, found.last_timestamp, found.pull_offset) == (
        10, 0, 0, 0,
    )  # fmt: skip


def test_what_was_pulled_is_never_behind_what_was_consumed():
    offsets, progress = scene()
    offsets.commit("g", "t", 0, 4)
    offsets.pulled("g", "t", 0, 7)
    assert progress.of_queue("g", "t", 0).pull_offset == 7
    offsets.commit("g", "t", 0, 9)
    assert progress.of_queue("g", "t", 0).pull_offset == 9


def test_a_message_that_is_cleaned_away_has_no_time():
    offsets, progress = scene()
    offsets.commit("g", "t", 0, 40)
    found = progress.of_queue("g", "t", 0)
    assert (found.consumer_offset, found.last_timestamp) == (40, 0)

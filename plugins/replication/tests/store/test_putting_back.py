"""What was taken out of a slave's log, and what is written there again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mqframe_replication.store.replica_log import ReplicaLog
from mqframe_testing.manual_clock import ManualClock
from stores import bodies, put

from mqframe.core.errors import StoreError
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.quarantine import Quarantine

COUNT = 12


class Copy:
    """A master's store and a copy of it, whose files are spoiled between two lives."""

    def __init__(self, settings: StoreSettings, clock: ManualClock, master: MessageStore) -> None:
        self.settings, self.clock, self.master = settings, clock, master
        self.path = settings.directory / "commitlog" / f"{0:020d}"
        self.open()
        self.store.replica.append_copy(0, self.master_bytes(0, master.log.max_offset))
        self.store.dispatch.now()
        self.places = [place for place, _, _ in master.reads.entries("t", 0, 0, COUNT)]

    def open(self) -> None:
        self.store = MessageStore.open(self.settings, self.clock, is_copy=True, copy=ReplicaLog.of)

    def master_bytes(self, start: int, end: int) -> bytes:
        data = self.master.log.log_bytes(start, end - start)
        assert data is not None
        return bytes(data)

    def spoil(self, *numbers: int) -> None:
        """Let go of the store, turn bits in the bodies of these messages, and open it again."""
        self.store.abandon()
        with open(self.path, "r+b") as file:
            for number in numbers:
                file.seek(self.places[number] + 100)
                file.write(b"\xff\x00\xff")
        self.open()

    def read(self) -> list[bytes]:
        found: list[bytes] = []
        at = 0
        while at < self.store.queues.max_offset("t", 0):
            result = self.store.reads.get("t", 0, at, 100, bytes_max=1 << 30)
            found += bodies(result)
            at = max(at + 1, result.next_offset)
        return found


@pytest.fixture
def copy(
    small: Callable[..., StoreSettings],
    clock: ManualClock,
    opened: Callable[..., MessageStore],
    message: Callable[..., Incoming],
    tmp_path: Path,
) -> Any:
    master = opened()
    put(master, *(message(body=b"%02d" % number * 99) for number in range(COUNT)))
    made = Copy(small(tmp_path / "copy"), clock, master)
    yield made
    made.store.abandon()


def test_what_is_put_back_is_in_log_and_queue_and_stays_there(copy: Copy) -> None:
    copy.spoil(3, 4, 8)
    missing = copy.store.replica.missing.reports()
    places = [*copy.places, copy.store.log.max_offset]
    assert [(each.start, each.end) for each in missing] == [(places[3], places[5]), (places[8], places[9])]
    assert not copy.store.replica.is_whole
    for report in missing:
        copy.store.replica.missing.put_back(report, copy.master_bytes(report.start, report.end))
    assert copy.store.replica.is_whole
    assert copy.read() == [b"%02d" % number * 99 for number in range(COUNT)]
    copy.store.abandon()
    copy.open()
    assert (copy.store.replica.missing.reports(), copy.store.replica.is_whole) == ([], True)
    assert copy.read() == [b"%02d" % number * 99 for number in range(COUNT)]
    end = copy.master.log.max_offset
    assert copy.path.read_bytes()[:end] == copy.master_bytes(0, end)
    reports = Quarantine(copy.settings.directory / "quarantine").reports()
    assert [each.fetched_ms for each in reports] == [copy.clock.now_ms()] * 2


def test_what_is_damaged_at_the_end_of_a_copy_is_cut_off(copy: Copy) -> None:
    copy.spoil(10, 11)
    assert copy.store.log.max_offset == copy.places[10]
    assert copy.store.replica.missing.reports() == []
    copy.store.replica.append_copy(
        copy.places[10], copy.master_bytes(copy.places[10], copy.master.log.max_offset)
    )
    copy.store.dispatch.now()
    assert copy.read() == [b"%02d" % number * 99 for number in range(COUNT)]


def test_the_last_record_to_compare_is_one_that_is_there(copy: Copy) -> None:
    last = copy.store.replica.missing.last_record()
    assert last == (copy.places[11], copy.master_bytes(copy.places[11], copy.master.log.max_offset))
    copy.spoil(9)
    assert copy.store.replica.missing.last_record() == last


def test_what_the_master_does_not_keep_is_not_needed(copy: Copy) -> None:
    copy.spoil(3)
    copy.store.replica.missing.kept_from = copy.places[4]
    assert (
        len(copy.store.replica.missing.reports()),
        copy.store.replica.missing.needed(),
        copy.store.replica.is_whole,
    ) == (1, [], True)


def test_what_is_no_whole_record_is_refused_and_nothing_is_changed(copy: Copy) -> None:
    copy.spoil(3)
    before = copy.path.read_bytes()
    (report,) = copy.store.replica.missing.reports()
    right = copy.master_bytes(report.start, report.end)
    for wrong in (bytes(len(right)), right[:-8] + bytes(8), right[:100] + b"\xff\x00\xff" + right[103:]):
        with pytest.raises(StoreError, match="no sound record"):
            copy.store.replica.missing.put_back(report, wrong)
    with pytest.raises(StoreError, match="are not"):
        copy.store.replica.missing.put_back(report, right[:-1])
    assert copy.path.read_bytes() == before
    assert copy.store.replica.missing.reports() == [report]

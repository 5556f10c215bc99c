"""Conformance suite of following dispatchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import pytest

from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.record import decode_records, encode_record
from mqframe.hooks.interfaces import Dispatcher

FILE_BYTES = 1 << 16
HOST = encode_host("127.0.0.1:10911")
TIME_MS = 1_700_000_000_000


@attrs.frozen
class WrittenRange:
    """A stretch of the one commit-log file that the suite writes; implements `LogRange`."""

    start: int
    end: int
    commit_log_directory: Path
    commit_log_file_bytes: int = FILE_BYTES

    def records(self) -> Iterator[ReceivedMessage]:
        """The messages between `start` and `end`."""
        log = (self.commit_log_directory / f"{0:020d}").read_bytes()
        return decode_records(log[self.start : self.end], "broker-a")


class DispatcherConformance:
    """At least once, in order, and the cursor never runs ahead of what is durable.

    Override `delivered` to have the suite check that nothing is lost over a restart.
    """

    data_directory: Path
    _ends: list[int]

    def make(self) -> Dispatcher:
        """A fresh dispatcher, configured as the one before it."""
        raise NotImplementedError

    def delivered(self) -> Sequence[int] | None:
        """Commit-log offsets of the messages that are durable outside; `None` when that is not known."""
        return None

    @pytest.fixture(autouse=True)
    def _log(self, tmp_path: Path) -> None:
        self.data_directory = tmp_path
        self._ends = [0]
        log = bytearray()
        for i in range(40):
            log += _record(i, len(log))
            self._ends.append(len(log))
        (tmp_path / "commitlog").mkdir()
        (tmp_path / "commitlog" / f"{0:020d}").write_bytes(log.ljust(FILE_BYTES, b"\0"))

    def stretch(self, first: int, last: int) -> WrittenRange:
        """Messages `first` to `last` (not included) of the forty in the log."""
        return WrittenRange(self._ends[first], self._ends[last], self.data_directory / "commitlog")

    def test_has_a_name_that_can_be_a_file_name(self) -> None:
        """The broker keeps the cursor under it."""
        name = self.make().name
        assert name
        assert "/" not in name

    def test_start_gives_no_cursor_before_anything_was_dispatched(self) -> None:
        """`None`, or the start of the log."""
        dispatcher = self.make()
        assert dispatcher.start(self.data_directory, "broker-a") in (None, 0)
        dispatcher.stop()

    def test_the_cursor_grows_and_stays_within_what_was_handed_over(self) -> None:
        """Whether ranges are small or large, with idle calls between."""
        dispatcher = self.make()
        cursor = dispatcher.start(self.data_directory, "broker-a") or 0
        for first, last in ((0, 1), (1, 5), (5, 30), (30, 40)):
            stretch = self.stretch(first, last)
            for got in (dispatcher.dispatch(stretch), dispatcher.idle()):
                if got is not None:
                    assert cursor <= got <= stretch.end
                    cursor = got
        dispatcher.stop()

    def test_a_range_may_come_again_cut_elsewhere(self) -> None:
        """As after a crash of the broker: whole, or overlapping, with what only this range brings."""
        dispatcher = self.make()
        dispatcher.start(self.data_directory, "broker-a")
        for first, last in ((0, 10), (0, 10), (3, 25), (20, 40)):
            dispatcher.dispatch(self.stretch(first, last))
        dispatcher.stop()
        self._check_delivered(0, 40)

    def test_nothing_is_lost_over_a_restart(self) -> None:
        """The next dispatcher is handed everything from the last cursor on."""
        first = self.make()
        cursor = first.start(self.data_directory, "broker-a") or 0
        cursor = max(cursor, first.dispatch(self.stretch(0, 17)))
        first.stop()
        self._check_delivered(0, self._ends.index(cursor))
        second = self.make()
        own = second.start(self.data_directory, "broker-a")
        again = self._ends.index(cursor if own is None else own)
        if again < 40:
            second.dispatch(self.stretch(again, 40))
        second.stop()
        self._check_delivered(0, 40)

    def _check_delivered(self, first: int, last: int) -> None:
        got = self.delivered()
        if got is not None:
            assert set(self._ends[first:last]) <= set(got)


def _record(index: int, physical_offset: int) -> bytes:
    return encode_record(
        topic=("orders", "refunds")[index % 2],
        queue_id=index % 4,
        queue_offset=index // 4,
        physical_offset=physical_offset,
        body=b"message %d" % index,
        properties=f"TAGS\x01paid\x02KEYS\x01o-{index}\x02".encode(),
        born_timestamp=TIME_MS + index,
        born_host=HOST,
        store_timestamp=TIME_MS + index,
        store_host=HOST,
    )

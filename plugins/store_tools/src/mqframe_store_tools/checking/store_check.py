"""A check of all files of a store that nobody uses: nothing is locked, written or repaired."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from mqframe_index.settings import IndexSettings

from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.errors import StoreError
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.storage.damage import Stretch
from mqframe.core.storage.log_reading import LogReading
from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.layout import Layout, file_name, sized_files
from mqframe.store.log.log_view import LogView, neighbours
from mqframe.store.queues.consume_queue import ENTRY, FILLER, FILLER_SIZE
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.log_check import KnownEnds, LogCheck
from mqframe.store.upkeep.redispatch import Redispatch
from mqframe_store_tools.checking.compared_index import ComparedIndex, index_paths
from mqframe_store_tools.checking.compared_queues import ComparedQueue, ComparedQueues, Difference, entry_text
from mqframe_store_tools.checking.findings import Finding, Findings
from mqframe_store_tools.checking.rebuild import SET_ASIDE, UNFINISHED
from mqframe_store_tools.checking.small_files import check_checkpoint, check_note, check_tables, known_topics
from mqframe_store_tools.checking.timer_check import TimerCheck

_NOT_LOOKED_AT: Final = ("compaction", "consumequeue_ext", "tieredstore")


class Checked(msgspec.Struct, frozen=True):
    """What a check says. `records`: how many are sound; `log_start`, `log_end`: log offsets; `total`: how
    many findings there are, of which `findings` are listed; `notes`: what is no damage."""

    records: int
    log_start: int
    log_end: int
    total: int
    findings: list[Finding]
    notes: list[str]


class _LogEnds(NamedTuple):
    start: int
    end: int
    newest: int
    records: int


class StoreCheck:
    """One check of the store at `layout`. `settings`, `index`: with the sizes of its files, see `with_sizes`.

    `delays`: of the delay levels, ms; `timer_precision_ms`: length of a slot of the timer.
    """

    def __init__(
        self,
        layout: Layout,
        settings: StoreSettings,
        index: IndexSettings,
        delays: tuple[int, ...] = USUAL_DELAYS,
        timer_precision_ms: int = 1000,
    ) -> None:
        self._layout = layout
        self._settings, self._index = settings, index
        self._delays, self._timer_precision_ms = delays, timer_precision_ms
        self._findings = Findings(layout.root, killed=layout.abort.exists())
        self._views: list[LogView] = []

    def run(self, reading: type[LogReading] = LogReading) -> Checked:
        """Look at everything once; `reading`: how the log is read. Raises OSError."""
        layout, settings, findings = self._layout, self._settings, self._findings
        if findings.killed:
            findings.note("the broker did not stop in good order; its next start recovers the store")
        for name in _NOT_LOOKED_AT:
            if (layout.root / name).is_dir():
                findings.note(f"the folder {name} is not looked at")
        self._tell_set_aside()
        queues = ComparedQueues(layout, settings.queue_file_bytes, self._deleted())
        try:
            self._check_queue_files(queues)
            ends = self._compare(queues, reading)
            check_checkpoint(layout, ends.newest, findings)
            check_note(layout, ends.end, findings)
            queue_ends = {queue.key: queue.end for queue in queues}
            check_tables(layout, queue_ends, findings)
            timer_end = queue_ends.get((TIMER_TOPIC, 0), 0)
            precision = self._timer_precision_ms
            TimerCheck(layout, precision, self._record_at, ends.start, timer_end).run(findings)
        finally:
            queues.close()
            for view in self._views:
                view.close()
        return Checked(
            ends.records, ends.start, ends.end, findings.total, findings.in_order(), findings.notes
        )  # fmt: skip

    def _tell_set_aside(self) -> None:
        for path in sorted(self._layout.root.glob(f"{SET_ASIDE}*")):
            if path.name.endswith(UNFINISHED):
                more = "did not end: the next mqframe store rebuild takes it over"
            else:
                more = "ended: delete it when you need it no more"
            self._findings.note(f"the folder {path.name} holds what there was before a rebuild, which {more}")

    def _deleted(self) -> DeletedTopics:
        try:
            return DeletedTopics(self._layout.deleted_topics)
        except StoreError:
            return DeletedTopics(self._layout.root / "none")  # the check of the tables tells of it

    def _check_queue_files(self, queues: ComparedQueues) -> None:
        file_bytes = self._settings.queue_file_bytes
        for queue in queues.find(self._layout.queues):
            files = sized_files(Path(queue.directory))
            for number, (base, path, size) in enumerate(files):
                expected = files[0][0] + number * file_bytes
                if size != file_bytes:
                    self._findings.add(path, min(size, file_bytes), f"{size} bytes", f"{file_bytes} bytes")
                if base != expected and files[number - 1][0] != base - file_bytes:
                    self._findings.add(
                        path, 0, "no file before it", f"the file {file_name(base - file_bytes)}"
                    )

    # The log, and what is made from it

    def _compare(self, queues: ComparedQueues, reading: type[LogReading]) -> _LogEnds:
        layout, settings = self._layout, self._index
        file_bytes, groups = neighbours(layout.commit_log)
        self._tell_empty_files()
        start = groups[0][0][0] if groups else 0
        paths = index_paths(layout.index)
        index = None
        if settings.enabled:
            sizes = settings.slots, settings.entries
            index = ComparedIndex(paths, sizes, start, self._findings)
        redispatch = Redispatch(queues, index, self._delays, reading)
        try:
            ends = self._walk(redispatch, file_bytes, groups)
            redispatch.finish(start, whole=True)
            for queue in queues.compared():
                self._tell_differences(queue, start)
            if index is not None:
                index.finish(layout.index)
        finally:
            if index is not None:
                index.close()
        return ends

    def _walk(
        self, redispatch: Redispatch, file_bytes: int, groups: list[list[tuple[int, Path, int]]]
    ) -> _LogEnds:
        newest = records = end = 0
        for number, files in enumerate(groups):
            self._check_log_files(files, file_bytes)
            view = LogView(self._layout.commit_log, files, file_bytes)
            self._views.append(view)
            check = LogCheck(
                view, Checkpoint(self._layout.checkpoint),
                check_crc=True, known=KnownEnds(None, None), accept_loss=True,
            )  # fmt: skip
            for neighbouring, said in check.walk(view.start, redispatch.ahead):
                redispatch.take(neighbouring, said)
            for stretch in check.stretches:
                self._tell_stretch(view, stretch)
            newest, records, end = max(newest, check.newest), records + check.records, check.end
            last = view.files[-1]
            if number < len(groups) - 1:
                if end < last.base + last.size:
                    self._tell_log(view, end, "no record", "a record: the log goes on in later files")
                behind, following = files[-1][0] + file_bytes, groups[number + 1][0]
                found = f"no file for offsets {behind} to {following[0]}"
                self._findings.add(following[1], 0, found, f"the file {file_name(behind)} before it")
            elif (
                self._findings.killed
                and end < last.base + last.size
                and any(last.view[end - last.base : end - last.base + 8])
            ):
                self._findings.note(f"an unfinished record lies at the log's end, offset {end}")
        return _LogEnds(groups[0][0][0] if groups else 0, end, newest, records)

    def _tell_empty_files(self) -> None:
        files = sized_files(self._layout.commit_log)
        for base, path, size in files:
            if not size and self._findings.killed and base == files[-1][0]:
                self._findings.note(f"the log file {path.name} was being made")
            elif not size:
                self._findings.add(path, 0, "an empty file", "a file of the log")

    def _check_log_files(self, files: list[tuple[int, Path, int]], file_bytes: int) -> None:
        for base, path, size in files:
            if size != file_bytes:
                self._findings.add(path, min(size, file_bytes), f"{size} bytes", f"{file_bytes} bytes")
            if base % file_bytes and base != files[0][0]:
                self._findings.add(path, 0, f"a file for offset {base}", f"multiples of {file_bytes}")

    def _tell_stretch(self, view: LogView, stretch: Stretch) -> None:
        looks = "unfinished, as after a loss of power" if stretch.unfinished else "damaged"
        self._tell_log(
            view, stretch.start, f"{stretch.end - stretch.start} bytes that are no sound record ({looks})",
            "a record with its lengths, CRC and log offset",
        )  # fmt: skip

    def _tell_log(self, view: LogView, offset: int, found: str, expected: str) -> None:
        file = view.file_at(offset) or view.files[-1]
        self._findings.add(file.path, offset - file.base, found, expected)

    def _record_at(self, offset: int, *, crc: bool = False) -> LogRecord | None:
        for view in self._views:
            file = view.file_at(offset)
            if file is not None:
                return read_record(file.view, offset - file.base, offset, crc=crc)
        return None

    # Queues

    def _tell_differences(self, queue: ComparedQueue, log_start: int) -> None:
        topics = known_topics(self._layout)
        if not queue.bases and topics is not None and queue.topic not in topics:
            self._findings.note(f"topic {queue.topic} was deleted; the log still has messages of it")
            return
        for each in queue.differences:
            if not any(each.found) and each.end == queue.taken_end and self._findings.killed:
                text = f"queue {queue.queue_id} of {queue.topic} ends at {each.first}"
                lag = each.end - each.first
                self._findings.note(f"{text}, {lag} before the log; the next start enters them")
            else:
                self._tell_difference(queue, each)
        for each in queue.ahead(log_start):
            path, at = queue.place(each.first)
            self._findings.add(
                path, at, f"offset {each.first}: {entry_text(each.found)}",
                "nothing: the log has no such record", each.end - each.first,
            )  # fmt: skip
        if queue.more:
            path, _ = queue.place(queue.differences[-1].end)
            self._findings.add(path, 0, "further entries that differ", "what the log says", queue.more)

    def _tell_difference(self, queue: ComparedQueue, each: Difference) -> None:
        path, at = queue.place(each.first)
        physical, size, _ = ENTRY.unpack(each.found)
        expected = entry_text(each.expected)
        if each.expected == FILLER and 0 < size != FILLER_SIZE:
            record = self._record_at(physical, crc=True)
            if record is not None and record.size == size:
                # The queue names a sound record: that one is wrong about its place.
                base = self._record_file(physical)
                said = f"{record.topic}, queue {record.queue_id}, offset {record.queue_offset}"
                self._findings.add(
                    base[0], base[1], f"a record of {said}",
                    f"one of {queue.topic}, queue {queue.queue_id}, offset {each.first}, which lists it",
                )  # fmt: skip
                return
            expected = "a filler: the log has no sound record there"
        self._findings.add(
            path, at, f"offset {each.first}: {entry_text(each.found)}", expected, each.end - each.first
        )

    def _record_file(self, offset: int) -> tuple[Path, int]:
        file = next(file for view in self._views if (file := view.file_at(offset)) is not None)
        return file.path, offset - file.base

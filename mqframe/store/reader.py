"""Reading a store directory from outside: of a running or stopped broker, mqframe's or Apache's.

Read-only, without the broker's knowledge; nothing is locked, written or repaired. What a running broker has
not dispatched to its queues yet is not seen.

    reader = StoreReader("~/store")
    low, high = reader.queue_range("orders", 0)
    for message in reader.records("orders", 0, low, high): ...
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.consuming.group_config import SubscriptionGroupTable
from mqframe.core.errors import StoreError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.agreement import LIGHT_PREFIX, place_of
from mqframe.core.storage.log_scan import first_unsound
from mqframe.core.storage.record import RecordError, decode_record
from mqframe.core.wire.loose_json import decode
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.files.log_files import LogFiles
from mqframe.store.incoming import ENTRY_BYTES
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE, behind, entries_in

_ENTRIES_AT_ONCE: Final = 4000


class StoreReader:
    """The store in `directory`. Holds no open files: may be pickled and used from several threads.

    `broker_name` is put into the messages. File sizes are taken from the files. Raises `StoreError` when
    there is no store.
    """

    def __init__(self, directory: str | Path, broker_name: str = "") -> None:
        self._layout = Layout(Path(directory).expanduser())
        self._broker_name = broker_name
        if not self._layout.commit_log.is_dir():
            raise StoreError(f"{directory} holds no store: there is no folder commitlog in it")

    def topics(self) -> list[str]:
        """All topics with a queue, sorted, system topics included."""
        folder = self._layout.queues
        return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []

    def queue_ids(self, topic: str) -> list[int]:
        """The queues of `topic`, sorted; empty when there is no such topic."""
        folder = self._layout.queues / topic
        if not folder.is_dir():
            return []
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())

    def queue_files(self, topic: str, queue_id: int) -> list[tuple[int, Path, int]]:
        """(queue offset of the first entry, path, entries that fit) of a queue's files, in order."""
        files = _files(self._layout.queues / topic / str(queue_id))
        return [(base // ENTRY_BYTES, path, size // ENTRY_BYTES) for base, path, size in files]

    def queue_bytes(self, topic: str, queue_id: int, start: int, end: int) -> int:
        """Bytes that the records from queue offset `start` to before `end` take."""
        files = _files(self._layout.queues / topic / str(queue_id))
        return sum(size for _, size, _ in self._entries(files, start, end) if 0 < size < FILLER_SIZE)

    def group_offset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Where a consumer group is in a queue, as it was last saved; `None` where nothing is known.

        Raises `StoreError` for a file that cannot be read.
        """
        return self._progress().get(f"{topic}@{group}", {}).get(queue_id)

    def groups_of(self, topic: str) -> list[str]:
        """The consumer groups of which an offset in `topic` was saved, sorted. Raises as `group_offset`."""
        names = [key.partition("@") for key in self._progress()]
        return sorted(group for name, _, group in names if name == topic)

    def groups(self) -> list[str]:
        """The consumer groups that the broker has a configuration of, sorted. Raises as `group_offset`."""
        path = self._layout.config / "subscriptionGroup.json"
        saved = ConfigFile(path).load(lambda raw: decode(raw, SubscriptionGroupTable))
        return [] if saved is None else sorted(saved.subscription_group_table)

    def _progress(self) -> dict[str, dict[int, int]]:
        path = self._layout.config / "consumerOffset.json"
        saved = ConfigFile(path).load(lambda raw: decode(raw, ConsumerOffsetTable))
        return {} if saved is None else saved.offset_table

    def log_files(self) -> list[tuple[int, Path, int]]:
        """(commit-log offset of the first byte, path, size in bytes) of the log's files, in order."""
        return _files(self._layout.commit_log)

    def queue_range(self, topic: str, queue_id: int) -> tuple[int, int]:
        """First offset whose record is still there, and the offset behind the last; (0, 0) when empty."""
        files = _files(self._layout.queues / topic / str(queue_id))
        if not files:
            return 0, 0
        end = self._queue_end(files[-1])
        log_files = _files(self._layout.commit_log)
        log_start = log_files[0][0] if log_files else 0

        def is_kept(offset: int) -> bool:
            entry = self._entry(files, offset)
            return entry is not None and entry[1] != FILLER_SIZE and entry[0] >= log_start

        return bisect_left(range(end), True, files[0][0] // ENTRY_BYTES, end, key=is_kept), end

    def _queue_end(self, last: tuple[int, Path, int]) -> int:
        base, path, size = last
        with open(path, "rb", buffering=0) as file:
            return base // ENTRY_BYTES + entries_in(file.fileno(), size // ENTRY_BYTES)

    def _entry(self, files: list[tuple[int, Path, int]], offset: int) -> tuple[int, int, int] | None:
        for physical in self._entries(files, offset, offset + 1):
            return physical
        return None

    def _entries(
        self, files: list[tuple[int, Path, int]], start: int, end: int
    ) -> Iterator[tuple[int, int, int]]:
        for base, path, size in files:
            at, stop = max(start * ENTRY_BYTES, base), min(end * ENTRY_BYTES, base + size)
            if at >= stop:
                continue
            with open(path, "rb", buffering=0) as file:
                while at < stop:
                    count = min(stop - at, _ENTRIES_AT_ONCE * ENTRY_BYTES)
                    chunk = os.pread(file.fileno(), count, at - base)
                    yield from ENTRY.iter_unpack(chunk)
                    at += count

    def records(self, topic: str, queue_id: int, start: int, end: int) -> Iterator[ReceivedMessage]:
        """The messages of a queue from offset `start` to before `end`, in order.

        Offsets outside what `queue_range` says are passed over. Raises `RecordError` for a damaged record,
        and for an entry of the queue that does not name its record.
        """
        low, high = self.queue_range(topic, queue_id)
        files = _files(self._layout.queues / topic / str(queue_id))
        log_files = self.log_files() or [(0, self._layout.commit_log, 1)]
        first, light = max(start, low), topic.startswith(LIGHT_PREFIX)
        with LogFiles(self._layout.commit_log, log_files[0][0], log_files[0][2]) as log:
            for offset, (physical, size, _) in enumerate(self._entries(files, first, min(end, high)), first):
                if size == FILLER_SIZE and not physical:
                    continue
                raw = log.fetch(physical, size) if 0 < size <= log_files[0][2] else None
                if raw is None and 0 <= physical < (self.log_files() or log_files)[0][0]:
                    continue  # it was cleaned up meanwhile
                if raw is None or not (light or place_of(raw, 0) == (size, queue_id, offset, physical)):
                    raise RecordError(
                        f"offset {offset} of queue {queue_id} of {topic}: the entry does not name its record;"
                        " a broker that starts on this store puts it right"
                    )
                yield self._decoded(raw, physical)

    def _decoded(self, raw: bytes, physical: int) -> ReceivedMessage:
        if first_unsound(raw, physical) is not None:
            raise RecordError(
                f"the record at commit-log offset {physical} is damaged;"
                f" mqframe store recover {self._layout.root} sets such records aside"
            )
        return decode_record(raw, 0, self._broker_name)

    def log_range(self) -> tuple[int, int]:
        """Start of the commit log, and its end as far as it was dispatched; bytes."""
        files = _files(self._layout.commit_log)
        if not files:
            return 0, 0
        end = files[0][0]
        for topic in self.topics():
            for queue_id in self.queue_ids(topic):
                end = max(end, self._covered(topic, queue_id))
        return files[0][0], end

    def _covered(self, topic: str, queue_id: int) -> int:
        files = _files(self._layout.queues / topic / str(queue_id))
        if not files:
            return 0
        return behind(self._entry(files, self._queue_end(files[-1]) - 1))


def _files(directory: Path) -> list[tuple[int, Path, int]]:
    """(start, path, size) of the numbered files that hold anything, in order."""
    return [each for each in sized_files(directory) if each[2]]

"""All consume queues of a store, and how their ends are found at start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from mqframe.core.errors import StoreError
from mqframe.log import get_logger
from mqframe.store.files.descriptors import Descriptors
from mqframe.store.files.modes import make_folder
from mqframe.store.incoming import ENTRY_BYTES
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE, ConsumeQueue, behind, entries_in

log: Final = get_logger("store")
_CHUNK_BYTES: Final = 200 * ENTRY_BYTES
_PAGE_BYTES: Final = 4096
_FILES_CHECKED_AFTER_CRASH: Final = 3


class QueueEnds(msgspec.Struct):
    """What an orderly stop leaves for the next start, so that it need not look at every queue.

    `log_files`, `log_end` (bytes) and `checkpoint` say for which state of the store it holds; `queues`: topic
    → list of (queue id, first bytes of its files, floor, log start that the floor is for, end, covered).
    """

    log_files: list[int]
    log_end: int
    checkpoint: bytes
    queues: dict[str, list[tuple[int, list[int], int, int, int, int]]]


class QueueTable:
    """The queues below `root`, by (topic, queue id)."""

    def __init__(self, root: Path, file_bytes: int, descriptors_max: int) -> None:
        make_folder(root)
        self._root = str(root)
        self._file_bytes = file_bytes
        self.entries_per_file = file_bytes // ENTRY_BYTES
        self.descriptors = Descriptors(descriptors_max)
        self._queues: dict[tuple[str, int], ConsumeQueue] = {}
        self.get = self._queues.get
        self.dirty: set[ConsumeQueue] = set()

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter(tuple(self._queues.values()))

    def __len__(self) -> int:
        return len(self._queues)

    def queue(self, topic: str, queue_id: int) -> ConsumeQueue:
        """The queue, made if there is none (its files come with its first entry)."""
        key = (topic, queue_id)
        queue = self._queues.get(key)
        if queue is None:
            queue = ConsumeQueue(self._root, topic, queue_id, self._file_bytes, self.descriptors)
            self._queues[key] = queue
        return queue

    def load(self, after_crash: bool) -> None:
        """Find all queues and their ends by looking at their files. Raises `StoreError` for a wrong size."""
        for topic in _directories(self._root):
            for name in _directories(topic.path):
                if name.name.isdecimal():
                    self._load_queue(topic.name, int(name.name), name.path, after_crash)

    def _load_queue(self, topic: str, queue_id: int, path: str, after_crash: bool) -> None:
        with os.scandir(path) as entries:
            sizes = sorted(
                (int(entry.name), entry.stat().st_size)
                for entry in entries
                if len(entry.name) == 20 and entry.name.isdecimal()
            )
        if sizes and sizes[-1][1] == 0:
            os.unlink(f"{path}/{sizes.pop()[0]:020d}")
        for base, size in sizes:
            if size != self._file_bytes:
                raise StoreError(
                    f"{path}/{base:020d} has {size} bytes, the setting says {self._file_bytes}: set the file"
                    " size that the store was written with, or delete the damaged queue (it is built again)"
                )
        queue = self.queue(topic, queue_id)
        queue.bases = [base for base, _ in sizes]
        if sizes:
            end, covered = self._checked_end(queue) if after_crash else self._searched_end(queue)
            queue.restore(queue.bases, 0, -1, end, covered)
            if after_crash and self._has_more(queue):
                queue.cut(end, covered)

    def _has_more(self, queue: ConsumeQueue) -> bool:
        """Whether something lies behind the queue's end."""
        at = queue.end * ENTRY_BYTES
        if at <= queue.bases[-1]:
            return True
        at -= queue.bases[-1]
        descriptor = self.descriptors.get(queue.path(queue.bases[-1]))
        page_end = at + -at % _PAGE_BYTES
        if any(os.pread(descriptor, page_end - at, at)):
            return True
        try:
            # The files are sparse: where nothing was written there is no data to seek to.
            os.lseek(descriptor, page_end, os.SEEK_DATA)
        except OSError:
            return False
        return page_end < self._file_bytes

    def _searched_end(self, queue: ConsumeQueue) -> tuple[int, int]:
        # Stopped in good order: entries fill the last file without a gap, so halving finds its end.
        descriptor = self.descriptors.get(queue.path(queue.bases[-1]))
        end = queue.bases[-1] // ENTRY_BYTES + entries_in(descriptor, self.entries_per_file)
        queue.end = end
        return end, behind(queue.entry(end - 1) if end else None)

    def _checked_end(self, queue: ConsumeQueue) -> tuple[int, int]:
        covered, previous = 0, -1
        bases = queue.bases[-_FILES_CHECKED_AFTER_CRASH:]
        end = bases[0] // ENTRY_BYTES
        for base in bases:
            descriptor = self.descriptors.get(queue.path(base))
            for at in range(0, self._file_bytes, _CHUNK_BYTES):
                chunk = os.pread(descriptor, min(_CHUNK_BYTES, self._file_bytes - at), at)
                for physical, size, _ in ENTRY.iter_unpack(chunk):
                    filler = size == FILLER_SIZE and physical == 0
                    # Entries ascend; one that does not is a stale one behind an earlier end.
                    if size <= 0 or physical < 0 or (physical <= previous and not filler):
                        return end, covered
                    end += 1
                    if not filler:
                        previous, covered = physical, physical + size
        return end, covered

    def restore_ends(self, ends: QueueEnds) -> None:
        """Take the queues over from what an orderly stop left."""
        for topic, rows in ends.queues.items():
            for queue_id, bases, floor, floor_for, end, covered in rows:
                self.queue(topic, queue_id).restore(bases, floor, floor_for, end, covered)

    def ends(self, log_files: list[int], log_end: int, checkpoint: bytes) -> QueueEnds:
        """The ends of all queues, for the next start."""
        queues: dict[str, list[tuple[int, list[int], int, int, int, int]]] = {}
        for queue in self._queues.values():
            row = (queue.queue_id, queue.bases, *queue.floor, queue.end, queue.covered)
            queues.setdefault(queue.topic, []).append(row)
        return QueueEnds(log_files, log_end, checkpoint, queues)

    def cut_after(self, log_end: int) -> None:
        """Cut entries of records at or past `log_end` off all queues."""
        for queue in self:
            if queue.covered > log_end:
                end, last = queue.end, None
                while end:
                    last = queue.entry(end - 1)
                    if last is not None and behind(last) <= log_end:
                        break
                    end, last = end - 1, None
                queue.cut(end, behind(last))

    def follow_log(self, log_start: int) -> int:
        """Delete queue files that lie before `log_start` whole; how many went."""
        return sum(
            queue.drop_files_before(log_start) for queue in self._queues.values() if len(queue.bases) > 1
        )

    def remove_topic(self, topic: str) -> None:
        """Delete the queues of `topic`."""
        for key in [key for key in self._queues if key[0] == topic]:
            queue = self._queues.pop(key)
            self.dirty.discard(queue)
            queue.remove()
        folder = Path(self._root, topic)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def clear(self) -> None:
        """Delete all queues: there is no log."""
        for topic in {queue.topic for queue in self._queues.values()}:
            self.remove_topic(topic)

    def close(self) -> None:
        """Close all files."""
        self.descriptors.close()


def _directories(path: str) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return [entry for entry in entries if entry.is_dir()]

"""All consume queues of a store, and how their ends are found at start."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.messages.names import check_path_part, is_path_part, is_queue_place
from mqframe.core.storage.zeros import PIECE_BYTES, is_empty
from mqframe.store.files.descriptors import Descriptors
from mqframe.store.files.threads import Threads
from mqframe.store.incoming import ENTRY_BYTES
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE, ConsumeQueue, behind, entries_in
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_ends import QueueEnds, QueueRow
from mqframe.store.queues.queue_files import look, mended

_CHUNK_BYTES: Final = 200 * ENTRY_BYTES
_PAGE_BYTES: Final = 4096
_DELETIONS_TRIED: Final = 3
"""How often a topic is marked as deleted while messages come that the mark does not cover."""
_FILES_CHECKED_AFTER_CRASH: Final = 3


class QueueTable:
    """The queues below `root`, by (topic, queue id).

    `delays`: of levels 1, 2, … in ms; entries of queues in which messages wait for a level hold when each is
    due.
    """

    kind: type[ConsumeQueue] = ConsumeQueue
    """What it makes."""

    def __init__(
        self,
        root: Path,
        file_bytes: int,
        descriptors_max: int,
        deleted: DeletedTopics,
        delays: tuple[int, ...] = USUAL_DELAYS,
    ) -> None:
        self._root = str(root)
        self.delays = delays
        self._file_bytes = file_bytes
        self.entries_per_file = file_bytes // ENTRY_BYTES
        self.descriptors = Descriptors(descriptors_max)
        self._queues: dict[tuple[str, int], ConsumeQueue] = {}
        self.get = self._queues.get
        self.dirty: set[ConsumeQueue] = set()
        self.deleted = deleted
        self.doubts: dict[ConsumeQueue, int] = {}
        """Queues found damaged, with the first offset that has to be entered from the log again."""

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter(tuple(self._queues.values()))

    def __len__(self) -> int:
        return len(self._queues)

    def queue(self, topic: str, queue_id: int) -> ConsumeQueue:
        """The queue, made if there is none (its files come with its first entry).

        Raises `MessageError` for a topic or an id that no path can be made of.
        """
        key = (topic, queue_id)
        queue = self._queues.get(key)
        if queue is None:
            queue = self.kind(self._root, topic, queue_id, self._file_bytes, self.descriptors)
            self._queues[key] = queue
        return queue

    def load(self, after_crash: bool) -> None:
        """Find all queues and their ends in their files; damage goes to `doubts`. Raises OSError."""
        for topic in _directories(self._root):
            if not is_path_part(topic.name):
                continue  # no text, so no topic
            for name in _directories(topic.path):
                if name.name.isdecimal() and is_queue_place(topic.name, int(name.name)):
                    self._load_queue(self.queue(topic.name, int(name.name)), after_crash)

    def _load_queue(self, queue: ConsumeQueue, after_crash: bool) -> None:
        bases, doubtful_from = mended(queue.directory, self._file_bytes)
        queue.bases = bases
        if doubtful_from is not None:
            self.doubt(queue, doubtful_from // ENTRY_BYTES)
        if not bases:
            return
        end, covered = self._checked_end(queue) if after_crash else self._searched_end(queue)
        queue.restore(bases, 0, -1, end, covered)
        if self._has_more(queue):
            self.doubt(queue, end)
            if after_crash:
                queue.cut(end, covered)

    def doubt(self, queue: ConsumeQueue, offset: int) -> None:
        """What `queue` says from `offset` on has to be entered from the log again."""
        self.doubts[queue] = min(offset, self.doubts.get(queue, offset))

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
            at = os.lseek(descriptor, page_end, os.SEEK_DATA)
        except OSError:
            return False
        # In a copy there may be zeros where the holes were.
        return any(
            not is_empty(os.pread(descriptor, min(PIECE_BYTES, self._file_bytes - start), start))
            for start in range(at, self._file_bytes, PIECE_BYTES)
        )

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
        """Take the queues over from what an orderly stop left; those whose files differ go to `doubts`."""
        for topic, rows in ends.queues.items():
            for queue_id, bases, floor, floor_for, end, covered in rows:
                if not is_queue_place(topic, queue_id):
                    continue
                queue = self.queue(topic, queue_id)
                if look(queue.directory) == [(base, self._file_bytes) for base in bases]:
                    queue.restore(bases, floor, floor_for, end, covered)
                else:
                    self._load_queue(queue, after_crash=True)
        self.expect(ends, first_files=True)

    def expect(self, ends: QueueEnds, *, first_files: bool) -> None:
        """Doubt the queues that hold less than `ends` says.

        `first_files`: no clean-up may have removed files since it was noted.
        """
        for topic, rows in ends.queues.items():
            for queue_id, bases, floor, _, end, covered in rows:
                if covered <= self.deleted.offset(topic) or not is_queue_place(topic, queue_id):
                    continue
                queue = self.queue(topic, queue_id)
                if queue.end < end:
                    self.doubt(queue, queue.end if queue.bases else floor)
                if first_files and bases and queue.bases and bases[0] < queue.bases[0]:
                    self.doubt(queue, floor)

    def forget_doubts_behind(self, ends: QueueEnds) -> None:
        """What was entered after `ends` was noted is entered again anyway."""
        noted = {(topic, row[0]): row[4] for topic, rows in ends.queues.items() for row in rows}
        for queue, offset in list(self.doubts.items()):
            if offset >= noted.get(queue.key, 0):
                del self.doubts[queue]

    def rows(self) -> dict[str, list[QueueRow]]:
        """What a note says of all queues."""
        queues: dict[str, list[QueueRow]] = {}
        for queue in self._queues.values():
            row = (queue.queue_id, list(queue.bases), *queue.floor, queue.end, queue.covered)
            queues.setdefault(queue.topic, []).append(row)
        return queues

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

    async def delete_topic(
        self, topic: str, threads: Threads, dispatched: Callable[[], tuple[int, int]]
    ) -> None:
        """Delete the queues of `topic`, and what is stored there meanwhile; a thread waits for the disk.

        `dispatched`: returns start and end of the log, all of which queues list then. Raises OSError, and
        `MessageError` for a name that leads elsewhere.
        """
        check_path_part("topic", topic)
        for _ in range(_DELETIONS_TRIED):
            start, end = dispatched()
            await threads.run_and_wait(partial(self.deleted.add, topic, start, end))
            dispatched()
            if all(queue.covered <= end for queue in self if queue.topic == topic):
                break
        else:  # whoever sends there does not give it a rest
            self.deleted.add(topic, *dispatched())
        self.remove_topic(topic)

    def remove_topic(self, topic: str) -> None:
        """Delete the queues of `topic`. Raises `MessageError` for a name that leads elsewhere."""
        check_path_part("topic", topic)
        for queue in self:
            if queue.topic == topic:
                self._remove(queue)
        self._remove_folder(topic)

    def _remove_folder(self, topic: str) -> None:
        folder = Path(self._root, topic)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def forget(self, queue: ConsumeQueue) -> None:
        """Delete `queue`, which nothing was ever sent to."""
        self._remove(queue)
        self._remove_folder(queue.topic)

    def _remove(self, queue: ConsumeQueue) -> None:
        del self._queues[queue.key]
        self.dirty.discard(queue)
        self.doubts.pop(queue, None)
        queue.remove()

    def remove_deleted(self) -> None:
        """Delete what a deletion that was cut off has left."""
        if self.deleted:
            for queue in self:
                if queue.covered < self.deleted.offset(queue.topic):
                    self._remove(queue)
                    self._remove_folder(queue.topic)

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

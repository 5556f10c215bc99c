"""Records whose heads name a place in a queue where an entry of another place lists them (store.md §3).

No CRC guards the head, unless the whole record has one. Where a sound record lies that an entry lists, and no
entry lists it where its head says, the entry is right, as long as those beside it are: a wrong one would have
to name start and size of a record by chance. Whole pages of a queue that belong elsewhere do so, too; there
many entries in a row are wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from mqframe.core.codes import SysFlag
from mqframe.core.storage.agreement import LIGHT_PREFIX, Entry
from mqframe.core.storage.damage import SET_ASIDE_TOPIC
from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.core.storage.record import topic_part
from mqframe.log import get_logger
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE, ConsumeQueue

log: Final = get_logger("store")
Place = tuple[str, int, int]
"""Topic, queue id, queue offset."""
_QUEUE_ID_AT: Final = 12
_QUEUE_OFFSET_AT: Final = 20
_FLAG_AT: Final = 36
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_UNLISTED: Final = SysFlag.TRANSACTION_PREPARED
"""The bit that both types have which queues do not list."""


class HeadMending:
    """Puts right the heads of records by what queues list, in any thread.

    `queue_of`: returns the queue of a topic and a queue id, if there is one. `listed`: returns the entry that
    stands for what a place has; by default what it has now. `mended`: how many heads were put right.
    """

    def __init__(
        self,
        commit_log: CommitLog,
        queue_of: Callable[[tuple[str, int]], ConsumeQueue | None],
        listed: Callable[[Place], Entry | None] | None = None,
    ) -> None:
        self._log = commit_log
        self._queue_of = queue_of
        self._listed = listed or self._listed_now
        self.mended = 0

    def mend(self, place: Place, entry: Entry) -> bool:
        """Have the record that `entry`, at `place`, lists name this place.

        False, with nothing changed, where it is no sound record, or is listed where it says, or where entries
        beside it are wrong, too. Raises `StoreUnavailable` or OSError where it cannot be written.
        """
        topic, queue_id, offset = place
        physical, size, _ = entry
        file, named = self._log.file_at(physical), self.record(physical)
        if file is None or named is None or size == FILLER_SIZE or topic.startswith(LIGHT_PREFIX):
            return False
        if named.size != size or named.end > self._log.end or named.topic == SET_ASIDE_TOPIC:
            return False
        if self._is_listed(named) or not self._is_alone(place, named):
            return False
        at = physical - file.base
        record = bytearray(file.view[at : at + size])
        _INT.pack_into(record, _QUEUE_ID_AT, queue_id)
        _LONG.pack_into(record, _QUEUE_OFFSET_AT, offset)
        _INT.pack_into(record, _FLAG_AT, named.sys_flag & ~_UNLISTED)
        if not _rename(record, named, topic):
            return False
        right = read_record(record, 0, physical)
        if right is None or not right.has_queue_entry:
            return False
        file.write(at, record)
        file.sync()
        self.mended += 1
        log.error(
            "the head of a record is damaged; it is put right by the queue that lists the record",
            log_offset=physical, topic=topic, queue=queue_id, offset=offset,
            named=f"{named.topic}:{named.queue_id}:{named.queue_offset}", flag=named.sys_flag,
        )  # fmt: skip
        return True

    def record(self, physical: int) -> LogRecord | None:
        """The sound record at log offset `physical`; `None` where there is none."""
        file = self._log.file_at(physical)
        return None if file is None else read_record(file.view, physical - file.base, physical)

    def _is_listed(self, record: LogRecord) -> bool:
        """Whether the queue that `record` names lists it where it says."""
        entry = self._listed(place_of(record)) if record.has_queue_entry else None
        return entry is not None and entry[:2] == (record.physical_offset, record.size)

    def _is_alone(self, place: Place, named: LogRecord) -> bool:
        """Whether the entries beside `place` are right; without any, whether `named` has no other place."""
        topic, queue_id, offset = place
        beside = []
        for number in (offset - 1, offset + 1):
            entry = self._listed((topic, queue_id, number)) if number >= 0 else None
            if entry is not None and 0 < entry[1] != FILLER_SIZE and entry[0] >= self._log.start:
                record = self.record(entry[0])
                beside.append(record is not None and place_of(record) == (topic, queue_id, number))
        if not beside:
            return not named.has_queue_entry or self._queue_of((named.topic, named.queue_id)) is None
        return all(beside)

    def _listed_now(self, place: Place) -> Entry | None:
        queue = self._queue_of(place[:2])
        raw = b"" if queue is None else queue.read_elsewhere(place[2], 1)
        return ENTRY.unpack(raw) if len(raw) == ENTRY.size else None


def place_of(record: LogRecord) -> Place:
    """Where in a queue `record` says that it is."""
    return record.topic, record.queue_id, record.queue_offset


def _rename(record: bytearray, named: LogRecord, topic: str) -> bool:
    """Have `record` be one of `topic`; False where it names one that more than a byte makes another one."""
    _, wanted = topic_part(topic)
    end = len(record) - 2 - len(named.properties.encode())
    found = record[end - len(wanted) : end]
    if sum(a != b for a, b in zip(found, wanted, strict=True)) > 1:
        return False
    record[end - len(wanted) : end] = wanted
    return True

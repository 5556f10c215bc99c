"""Records and queue entries that contradict each other at a start: mended, or told (store.md §4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.storage.agreement import Entry
from mqframe.log import get_logger
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE, ConsumeQueue, behind
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.reading.head_mending import HeadMending, Place, place_of
from mqframe.store.upkeep.quarantine import QuarantineReport

log: Final = get_logger("store")
_TOLD_MAX: Final = 20
_QUEUES_ASKED_MAX: Final = 1 << 17
"""So often a queue is asked whether it lists a record."""
NOTED_MAX: Final = 1 << 16
"""So many of each kind are looked at."""


class Misplaced(NamedTuple):
    """A record that was left out, for it names a place that it cannot have: where it lies, what it names."""

    physical: int
    topic: str
    queue_id: int
    offset: int


class Notes:
    """What entering the log again has noted, bounded.

    `ends`: where each queue that records were entered into had ended before. `originals`: entries that stood
    where others were entered, or none. `gaps`: places of which the log had no record, and that had no filler.
    """

    def __init__(self) -> None:
        self.ends: dict[tuple[str, int], int] = {}
        self.originals: dict[Place, Entry] = {}
        self.gaps: list[Place] = []
        self.misplaced: list[Misplaced] = []
        self.misplaced_more = 0

    def misplace(self, record: Misplaced) -> None:
        """`record` was left out."""
        if len(self.misplaced) < NOTED_MAX:
            self.misplaced.append(record)
        else:
            self.misplaced_more += 1

    def keep(self, queue: ConsumeQueue, start: int, end: int, entries: bytes = b"") -> None:
        """Note what `queue` has from offset `start` to before `end`, where it is not `entries`."""
        end = min(end, self.ends.get(queue.key, queue.end))
        while start < end and len(self.originals) < NOTED_MAX:
            raw = queue.read(start, end - start)
            found = list(ENTRY.iter_unpack(raw[: len(raw) - len(raw) % ENTRY.size]))
            if entries[: len(raw)] != raw:
                for offset, entry in enumerate(found, start):
                    if 0 < entry[1] != FILLER_SIZE:
                        self.originals.setdefault((*queue.key, offset), entry)
            entries = entries[len(raw) :]
            start += len(found)
            if not found:
                return

    def gap(self, queue: ConsumeQueue, start: int, end: int) -> None:
        """The log has no record for offsets of `queue`, `start` to before `end`; fillers will stand there."""
        self.keep(queue, start, end)
        for offset in range(start, min(end, start + NOTED_MAX - len(self.gaps))):
            if not _is_filler(queue.entry(offset)):
                self.gaps.append((*queue.key, offset))


class Contradictions:
    """Settles what `notes` hold, once queues list what they do and the log has its end.

    `found`: how many heads of records were damaged; `lost`: those of them whose place no entry knew;
    `without_record`: queue offsets that the log has no record for, and that no report has told of before;
    `tags`: entries whose tags code was not that of their record's tag.
    """

    def __init__(self, commit_log: CommitLog, queues: QueueTable, notes: Notes) -> None:
        self._log = commit_log
        self._queues = queues
        self._notes = notes
        self._heads = HeadMending(commit_log, queues.get, self._listed_before)
        self._vacated: set[Place] = set()
        self._asks_left = _QUEUES_ASKED_MAX
        self.found = self.lost = self.without_record = self.tags = 0

    def _listed_before(self, place: Place) -> Entry | None:
        original = self._notes.originals.get(place)
        key = place[:2]
        if original is not None or place[2] >= self._notes.ends.get(key, place[2] + 1):
            return original
        queue = self._queues.get(key)
        return None if queue is None else queue.entry(place[2])

    def settle(self, known: Sequence[QuarantineReport]) -> None:
        """Mend what entries know better, and tell of the rest. Raises `StoreError`, OSError.

        `known`: what was set aside.
        """
        notes = self._notes
        moved = {place for place, entry in notes.originals.items() if self._is_moved_back(place, entry)}
        for place in self._vacated & notes.originals.keys():
            entry = notes.originals[place]
            if self._names(entry[0]) == place:
                self._enter(place, entry)  # the record that another one had pushed out
        left = [each for each in notes.misplaced if not self._is_mended(each)]
        self.lost = len(left) + notes.misplaced_more
        self.found = self._heads.mended + self.lost
        for record in left[:_TOLD_MAX]:
            log.error(
                "the head of a record is damaged, and no queue lists the record; only the log has it",
                log_offset=record.physical, topic=record.topic, queue=record.queue_id, offset=record.offset,
            )  # fmt: skip
        if self.lost > _TOLD_MAX:
            log.error("the heads of more records are damaged", records=self.lost - _TOLD_MAX)
        reported = [each for report in known for each in report.queues]
        news = {
            place
            for place in (*notes.gaps, *self._contradicted(moved))
            if _is_filler(self._entry(place), none=True)
            and not any(
                place[:2] == (each.topic, each.queue_id) and each.start <= place[2] < each.end
                for each in reported
            )
        }
        self.without_record = len(news)
        _tell(sorted(news))
        self._tell_of_tags()

    def _tell_of_tags(self) -> None:
        odd = []
        for place, entry in self._notes.originals.items():
            now = self._entry(place)
            # In the delay topic the code is a time, by settings.
            if now is not None and now[:2] == entry[:2] and now != entry and place[0] != SCHEDULE_TOPIC:
                odd.append((place, entry[0]))
        self.tags = len(odd)
        for (topic, queue_id, offset), physical in sorted(odd)[:_TOLD_MAX]:
            log.error(
                "the tag of a record is not what its queue had of it; by tag it is found as the record says",
                topic=topic, queue=queue_id, offset=offset, log_offset=physical,
            )  # fmt: skip

    def _is_moved_back(self, place: Place, entry: Entry) -> bool:
        """Whether the record of `entry` named another place, and names this one, which lists it, by now."""
        named = self._heads.record(entry[0])
        if named is None or self._names(entry[0]) == place or not self._heads.mend(place, entry):
            return False
        if named.has_queue_entry:
            self._forget(place_of(named), entry)
        self._enter(place, entry)
        return True

    def _enter(self, place: Place, entry: Entry) -> None:
        queue = self._queues.queue(*place[:2])
        queue.enter(place[2], ENTRY.pack(*entry), behind(entry))
        self._queues.dirty.add(queue)

    def _forget(self, place: Place, entry: Entry) -> None:
        """Take back that this start has listed the record of `entry` at `place`, if it has."""
        queue, offset = self._queues.get(place[:2]), place[2]
        listed = None if queue is None else queue.entry(offset)
        if queue is None or listed is None or listed[:2] != entry[:2]:
            return
        self._vacated.add(place)
        if self._notes.ends.get(queue.key) == 0 and queue.first_from(0, 0) == offset == queue.end - 1:
            self._queues.forget(queue)  # damage has made it
            return
        if offset == queue.end - 1:
            queue.cut(offset, behind(queue.entry(offset - 1)) if offset else 0)
        else:
            queue.blot(offset, offset + 1)
        self._queues.dirty.add(queue)

    def _is_mended(self, record: Misplaced) -> bool:
        """Whether a queue lists the record, whose head says so by now."""
        for queue in self._queues:
            if self._asks_left <= 0:
                return False
            if queue.covered > record.physical:
                self._asks_left -= 1
                offset = queue.first_from(record.physical, queue.min_offset(self._log.start))
                entry = queue.entry(offset)
                if entry is not None and entry[0] == record.physical:
                    place = (*queue.key, offset)
                    return self._names(record.physical) == place or self._heads.mend(place, entry)
        return False

    def _names(self, physical: int) -> Place | None:
        record = self._heads.record(physical)
        return None if record is None or not record.has_queue_entry else place_of(record)

    def _entry(self, place: Place) -> Entry | None:
        queue = self._queues.get(place[:2])
        return None if queue is None else queue.entry(place[2])

    def _contradicted(self, moved: set[Place]) -> Iterator[Place]:
        """Places whose entries listed something in the log that is no record of theirs."""
        for place, (physical, _, _) in self._notes.originals.items():
            within = self._log.start <= physical < self._log.end
            if place not in moved and within and self._names(physical) != place:
                yield place


def _is_filler(entry: Entry | None, *, none: bool = False) -> bool:
    return none if entry is None else entry[1] == FILLER_SIZE and not entry[0]


def _tell(news: Sequence[Place]) -> None:
    stretches: list[tuple[str, int, int, int]] = []
    for topic, queue_id, offset in news:
        if stretches and stretches[-1][:2] == (topic, queue_id) and stretches[-1][3] == offset:
            stretches[-1] = (*stretches[-1][:3], offset + 1)
        else:
            stretches.append((topic, queue_id, offset, offset + 1))
    for topic, queue_id, start, end in stretches[:_TOLD_MAX]:
        log.error(
            "the log has no record for offsets of a queue; fillers stand for them",
            topic=topic, queue=queue_id, first=start, last=end - 1,
        )  # fmt: skip
    if len(stretches) > _TOLD_MAX:
        log.error("the log has no records for more offsets", stretches=len(stretches) - _TOLD_MAX)

"""Dispatch of records that were copied: many at once, a run of entries for each queue (store.md §3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from typing import Final, cast

from mqframe.core.codes import SysFlag
from mqframe.core.storage.log_reading import LogRuns
from mqframe.core.storage.log_scan import scan_parts
from mqframe.store.appending.appender import Appended, Copied, Placed
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.consume_queue import ENTRY, ConsumeQueue
from mqframe_replication.store.dispatch_facts import DispatchFacts

_KIND: Final = SysFlag.TRANSACTION_MASK
_ROLLBACK: Final = SysFlag.TRANSACTION_ROLLBACK


class _Run:
    __slots__ = ("codes", "entries", "first", "queue", "topic")

    def __init__(self, queue: ConsumeQueue, first: int, topic: str) -> None:
        self.queue = queue
        self.first = first
        self.topic = topic
        self.entries: list[bytes] = []
        self.codes: list[int] = []


class CopiedRuns(Copied):
    """Copied records of which is known what `said` says; as records they are read where that is needed.

    `listing`: their queues by topic and id; `log`: where they lie.
    """

    said: LogRuns
    listing: dict[tuple[str, int], ConsumeQueue]
    log: CommitLog

    @classmethod
    def of(cls, said: LogRuns, listing: dict[tuple[str, int], ConsumeQueue], log: CommitLog) -> CopiedRuns:
        """Those that `said` is about."""
        made = cls(said.end, (), ())
        made.said, made.listing, made.log = said, listing, log
        return made

    def described(self) -> list[Appended]:
        """What dispatch needs to know, the keys of all with the first queue."""
        said, keys, described = self.said, self.said.keys, []
        for key, first, entries, _ in said.runs:
            codes = [code for _, _, code in ENTRY.iter_unpack(entries)]
            queue = self.listing[key]
            described.append(Appended(said.end, queue, first, entries, codes, key[0], keys, said.stored))
            keys = []
        return described

    def parted(self, end: int) -> tuple[Copied, Copied] | None:
        """As `Copied.parted`."""
        start, size = self._first
        return self._read().parted(end) if start + size <= end else None

    def singly(self) -> list[Placed]:
        """As `Copied.singly`."""
        return self._read().singly()

    @property
    def _first(self) -> tuple[int, int]:
        """Log offset and size of the first record: the queue of that comes first."""
        start, size, _ = ENTRY.unpack_from(self.said.runs[0][2])
        return start, size

    def _read(self) -> Copied:
        start, _ = self._first
        raw, records = self.log.slice(start, self.end - start), []
        for some in () if raw is None else scan_parts(raw, start):
            records += some
        return Copied(self.end, records, [self.listing[record.topic, record.queue_id] for record in records])


class CopiedDispatch:
    """Describes copied records for dispatch. `levels`: the broker's delay levels, ms."""

    def __init__(self, levels: tuple[int, ...]) -> None:
        self._facts = DispatchFacts(levels)

    def describe(self, many: Sequence[Copied]) -> list[Appended]:
        """What dispatch needs to know of `many`, which lie one behind the other.

        Queues and index get the same as from the records one by one. Raises whatever a single record makes
        it raise.
        """
        described: list[Appended] = []
        for are_runs, some in groupby(many, lambda each: isinstance(each, CopiedRuns)):
            if are_runs:
                described += [one for each in some for one in cast("CopiedRuns", each).described()]
            else:
                described += self._described(list(some))
        return described

    def _described(self, many: list[Copied]) -> list[Appended]:
        """First of the index, in the order of the log, then of each queue."""
        end = many[-1].end
        records = chain.from_iterable(each.records for each in many)
        queues = chain.from_iterable(each.queues for each in many)
        runs: dict[ConsumeQueue, _Run] = {}
        described: list[Appended] = []
        indexed: list[tuple[int, tuple[str, ...]]] = []
        last_topic, last_stored = "", -1
        facts_of, pack = self._facts.of, ENTRY.pack
        for record, queue in zip(records, queues, strict=True):
            physical, size, topic, _, offset, flag, stored, text = record
            code, keys = facts_of(topic, text, stored)
            if keys and flag & _KIND != _ROLLBACK:
                if stored != last_stored or topic != last_topic:
                    # The index dates its entries by the time of their record.
                    last_topic, last_stored, indexed = topic, stored, []
                    described.append(Appended(record.end, None, 0, b"", [], topic, indexed, stored))
                indexed.append((physical, keys))
            if queue is not None:
                run = runs.get(queue)
                if run is None:
                    run = runs[queue] = _Run(queue, offset, topic)
                run.entries.append(pack(physical, size, code))
                run.codes.append(code)
        last = many[-1].records[-1].store_timestamp
        described += [
            Appended(end, run.queue, run.first, b"".join(run.entries), run.codes, run.topic, [], last)
            for run in runs.values()
        ]
        if not described or described[-1].end != end:
            described.append(Appended(end, None, 0, b"", [], "", [], last))
        return described

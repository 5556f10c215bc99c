"""Dispatch of records that were copied: many at once, a run of entries for each queue (store.md §3)."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import SysFlag
from mqframe.store.appending.appender import Appended, Copied
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


class CopiedDispatch:
    """Describes copied records for dispatch. `levels`: the broker's delay levels, ms."""

    def __init__(self, levels: tuple[int, ...]) -> None:
        self._facts = DispatchFacts(levels)

    def describe(self, copied: Copied) -> list[Appended]:
        """What dispatch needs to know: first of the index, in the order of the log, then of each queue.

        Queues and index get the same as from the records one by one. Raises whatever a single record makes
        it raise.
        """
        runs: dict[ConsumeQueue, _Run] = {}
        described: list[Appended] = []
        indexed: list[tuple[int, tuple[str, ...]]] = []
        last_topic, last_stored = "", -1
        facts_of, pack = self._facts.of, ENTRY.pack
        for record, queue in zip(copied.records, copied.queues, strict=True):
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
        last = copied.records[-1].store_timestamp
        described += [
            Appended(copied.end, run.queue, run.first, b"".join(run.entries), run.codes, run.topic, [], last)
            for run in runs.values()
        ]
        if not described or described[-1].end != copied.end:
            described.append(Appended(copied.end, None, 0, b"", [], "", [], last))
        return described

"""Inline dispatch: queues and index are built of new records, once a turn of the loop (store.md §3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from mqframe.core.errors import StoreUnavailable
from mqframe.core.os_errors import told
from mqframe.log import get_logger
from mqframe.store.appending.appender import Appended, Placed
from mqframe.store.index.key_index import KeyIndex
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.queues.queue_table import QueueTable

log: Final = get_logger("store")
OnArrival = Callable[[str, int, int, list[int]], None]
"""Called with new messages of a queue: topic, queue id, the queue's end after them, their tags codes."""


class InlineDispatch:
    """Takes appends from `waiting` up to the confirmed offset into the queues and the index.

    `done`: log offset up to which all is dispatched; `failure`: what refuses writes while queue or index
    files cannot be written, `None` normally. What could not be written is kept and written again.
    """

    def __init__(
        self,
        waiting: deque[Appended | Placed],
        describe: Callable[[Placed], Appended],
        queues: QueueTable,
        index: KeyIndex | None,
        on_arrival: OnArrival | None,
    ) -> None:
        self._waiting = waiting
        self._describe = describe
        self._queues = queues
        self._index = index
        self._on_arrival = on_arrival
        self.done = 0
        self.done_timestamp = 0
        self.failure: StoreUnavailable | None = None

    def run(self, confirmed: int) -> None:
        """Dispatch everything that ends at or before `confirmed` (bytes)."""
        waiting = self._waiting
        if not waiting or waiting[0].end > confirmed:
            return
        taken: list[Appended] = []
        while waiting and waiting[0].end <= confirmed:
            each = waiting.popleft()
            taken.append(each if isinstance(each, Appended) else self._describe(each))
        try:
            arrivals = self._write(taken)
        except OSError as problem:
            waiting.extendleft(reversed(taken))
            if self.failure is None:
                log.error(
                    "queues or index cannot be written; writes are refused until they can",
                    problem=told(problem),
                )
            self.failure = StoreUnavailable(
                f"queue or index files cannot be written: {told(problem)}",
            )
            return
        self.failure = None
        self.done = taken[-1].end
        self.done_timestamp = taken[-1].timestamp
        if self._on_arrival is not None:
            tell = self._on_arrival
            for queue, codes in arrivals:
                tell(queue.topic, queue.queue_id, queue.end, codes)

    def _write(self, taken: list[Appended]) -> list[tuple[ConsumeQueue, list[int]]]:
        runs: dict[ConsumeQueue, list[Appended]] = {}
        for appended in taken:
            queue = appended.queue
            if queue is not None:
                run = runs.get(queue)
                if run is None:
                    runs[queue] = [appended]
                else:
                    run.append(appended)
        arrivals = []
        for queue, run in runs.items():
            first = run[0]
            if len(run) == 1:
                queue.write(first.queue_offset, first.entries, first.end)
                arrivals.append((queue, first.codes))
            else:
                queue.write(first.queue_offset, b"".join([each.entries for each in run]), run[-1].end)
                arrivals.append((queue, [code for each in run for code in each.codes]))
            self._queues.dirty.add(queue)
        index = self._index
        if index is not None:
            for appended in taken:
                topic, timestamp = appended.topic, appended.timestamp
                if appended.end <= index.noted:
                    continue
                if appended.indexed:
                    index.add(topic, appended.indexed, timestamp)
                index.noted = appended.end
            index.write()
        return arrivals

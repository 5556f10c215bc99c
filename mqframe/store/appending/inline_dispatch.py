"""Inline dispatch: queues and index are built of new records, once a turn of the loop (store.md §3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.errors import StoreUnavailable
from mqframe.core.os_errors import told
from mqframe.core.storage.left_out import MessagePlace
from mqframe.hooks.interfaces.key_index import KeyIndex
from mqframe.log import get_logger
from mqframe.store.appending.appender import Appended, Copied, Placed
from mqframe.store.queues.consume_queue import ENTRY, ConsumeQueue
from mqframe.store.queues.queue_table import QueueTable

log: Final = get_logger("store")
_OFFSET_BYTES: Final = 8
"""An entry begins with the log offset of its record."""
OnArrival = Callable[[str, int, int, list[int]], None]
"""Called with new messages of a queue: topic, queue id, the queue's end after them, their tags codes."""
OnFailure = Callable[[MessagePlace, Exception], object]
"""Called with a message that could not be dispatched whole, and the error."""


def log_failure(place: MessagePlace, problem: Exception) -> None:
    """Tell the log of a message that could not be dispatched whole."""
    log.error(
        "a message was not dispatched whole",
        topic=place.topic, queue=place.queue_id, offset=place.queue_offset, log_offset=place.log_offset,
        exc_info=problem,
    )  # fmt: skip


class InlineDispatch:
    """Takes appends from `waiting` up to the confirmed offset into the queues and the index.

    `done`: log offset up to which all is dispatched; `failure`: what refuses writes while queue or index
    files cannot be written, `None` normally. What could not be written is kept and written again.

    Only errors of the disk and of memory are everybody's. Any other belongs to one message: it is readable
    nevertheless, if perhaps not by its tag or its keys, `on_failure` is told, and the others go on.
    """

    def __init__(
        self,
        waiting: deque[Appended | Placed | Copied],
        describe: Callable[[Placed], Appended],
        queues: QueueTable,
        index: KeyIndex | None,
        on_arrival: OnArrival | None,
    ) -> None:
        self._waiting = waiting
        self._describe = describe
        self._queues = queues
        self._index = index
        # Up to which log offset keys were handed over: what comes once more after an error is passed over.
        self._indexed = 0
        self._on_arrival = on_arrival
        self.describe_copied: Callable[[Sequence[Copied]], list[Appended]] = lambda many: [
            describe(each) for copied in many for each in copied.singly()
        ]
        self.on_failure: OnFailure = log_failure
        self.done = 0
        self.done_timestamp = 0
        self.failure: StoreUnavailable | None = None

    def run(self, confirmed: int) -> None:
        """Dispatch everything that ends at or before `confirmed` (bytes)."""
        waiting = self._waiting
        taken: list[Appended] = []
        while waiting and (waiting[0].end <= confirmed or self._part(confirmed)):
            each = waiting.popleft()
            if isinstance(each, Appended):
                taken.append(each)
            elif isinstance(each, Placed):
                taken.append(self._described(each))
            else:
                taken += self._copied(each, confirmed)
        if not taken:
            return
        try:
            arrivals = self._write(taken)
        except (OSError, MemoryError) as problem:
            waiting.extendleft(reversed(taken))
            self._refuse(problem)
            return
        self.failure = None
        self.done = taken[-1].end
        self.done_timestamp = taken[-1].timestamp
        if self._on_arrival is not None:
            tell = self._on_arrival
            for queue, codes in arrivals:
                try:
                    tell(queue.topic, queue.queue_id, queue.end, codes)
                except Exception as problem:  # isolation boundary: others wait for the other queues
                    self.on_failure(MessagePlace(queue.topic, queue.queue_id, queue.end - 1, -1), problem)

    def _part(self, confirmed: int) -> bool:
        """Part the first of those that wait at `confirmed`, where some of its records end before it."""
        first = self._waiting[0]
        parts = first.parted(confirmed) if isinstance(first, Copied) else None
        if parts is None:
            return False
        before, self._waiting[0] = parts
        self._waiting.appendleft(before)
        return True

    def _copied(self, first: Copied, confirmed: int) -> list[Appended]:
        """All copied records that may be dispatched, from `first` on."""
        waiting, many = self._waiting, [first]
        while waiting and isinstance(more := waiting[0], Copied) and more.end <= confirmed:
            many.append(more)
            waiting.popleft()
        try:
            return self.describe_copied(many)
        except Exception:  # isolation boundary: of others' messages
            return [self._described(each) for copied in many for each in copied.singly()]

    def _described(self, placed: Placed) -> Appended:
        try:
            return self._describe(placed)
        except Exception as problem:  # isolation boundary: of others' messages
            self.on_failure(_place(placed), problem)
            return _plain(placed)

    def _refuse(self, problem: OSError | MemoryError) -> None:
        if self.failure is None:
            log.error(
                "queues or index cannot be written; writes are refused until they can", problem=str(problem)
            )
        why = told(problem) if isinstance(problem, OSError) else "no memory"
        self.failure = StoreUnavailable(f"queue or index files cannot be written: {why}")

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
        for queue, run in sorted(runs.items(), key=_begins) if len(runs) > 1 else runs.items():
            first = run[0]
            try:
                if len(run) == 1:
                    queue.write(first.queue_offset, first.entries, first.end)
                    arrivals.append((queue, first.codes))
                else:
                    queue.write(first.queue_offset, b"".join([each.entries for each in run]), run[-1].end)
                    arrivals.append((queue, [code for each in run for code in each.codes]))
            except (OSError, MemoryError):
                raise
            except Exception as problem:  # isolation boundary: of other queues; a start builds this one again
                self.on_failure(_place_in(queue, first), problem)
            self._queues.dirty.add(queue)
        index = self._index
        if index is not None:
            for appended in taken:
                topic, timestamp = appended.topic, appended.timestamp
                if appended.end <= self._indexed:
                    continue
                if appended.indexed:
                    try:
                        index.add(topic, appended.indexed, timestamp)
                    except (OSError, MemoryError):
                        raise
                    except Exception:  # isolation boundary: of other messages, of the same batch, too
                        self._index_singly(index, appended)
                self._indexed = appended.end
            index.write()
        return arrivals

    def _index_singly(self, index: KeyIndex, appended: Appended) -> None:
        queue_id = -1 if appended.queue is None else appended.queue.queue_id
        for number, record in enumerate(appended.indexed):
            try:
                index.add(appended.topic, [record], appended.timestamp)
            except (OSError, MemoryError):
                raise
            except Exception as problem:  # isolation boundary: of other messages
                place = MessagePlace(appended.topic, queue_id, appended.queue_offset + number, record[0])
                self.on_failure(place, problem)


def _begins(run: tuple[ConsumeQueue, list[Appended]]) -> bytes:
    """By what queues come in the order of their first records; appends may be in that of their last ones."""
    return run[1][0].entries[:_OFFSET_BYTES]


def _plain(placed: Placed) -> Appended:
    """`placed` as a message without tag and keys, which can always be dispatched."""
    listed = placed.queue is not None
    entry = ENTRY.pack(placed.physical, placed.size, 0) if listed else b""
    codes = [0] if listed else []
    return Appended(
        placed.end, placed.queue, placed.queue_offset, entry, codes, placed.topic, [], placed.timestamp
    )


def _place(placed: Placed) -> MessagePlace:
    queue_id = -1 if placed.queue is None else placed.queue.queue_id
    return MessagePlace(placed.topic, queue_id, placed.queue_offset, placed.physical)


def _place_in(queue: ConsumeQueue, appended: Appended) -> MessagePlace:
    physical, _, _ = ENTRY.unpack_from(appended.entries)
    return MessagePlace(queue.topic, queue.queue_id, appended.queue_offset, physical)

"""What the driver decides: where reading begins, how far it may go, and in how many tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger
from mqframe_spark.source.bounds import LATEST, Bound, resolve
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.origin import Origin
from mqframe_spark.source.positions import DataLoss, Positions, Span, limited, lost, spans, split

log = get_logger("spark")

Narrow = Callable[[MessageQueue, int, int, Callable[[MessageQueue, int], int]], tuple[int, int]]


class Planner:
    """Asks `origin`, which it closes. Used on the driver only."""

    def __init__(self, options: SourceOptions, origin: Origin) -> None:
        self._options = options
        self._origin = origin
        self._anew = not options.fail_on_data_loss

    def initial(self) -> dict[MessageQueue, int]:
        """Where a stream begins that has no checkpoint.

        Raises what an origin does, `SettingError` for offsets that no queue has, and `DataLoss` when that is
        before what is kept.
        """
        low, high = self._ends()
        start = self._resolve(self._options.starting, low, high, low)
        return {queue: self._kept(queue, start[queue], low[queue]) for queue in low}

    def batch(self, narrow: Narrow | None = None) -> list[Span]:
        """What a batch reads now, one span a task. Raises as `initial` does, and for an end before it.

        `narrow`: gives what of a queue's offsets is needed, from start to before end; it may ask for the
        offset at a time (ms).
        """
        low, high = self._ends()
        start = self._resolve(self._options.starting, low, high, low)
        end = self._resolve(self._options.ending, low, high, high)
        for queue in low:
            self._check_order(queue, start[queue], end[queue], low[queue])
            start[queue] = self._kept(queue, start[queue], low[queue])
            # A queue that is wanted until before its beginning, or that retention empties meanwhile.
            end[queue] = max(end[queue], start[queue])
            if narrow is not None:
                start[queue], end[queue] = narrow(queue, start[queue], end[queue], self._origin.at_time)
        return self.tasks(start, end)

    def tasks(self, start: Positions, end: Positions) -> list[Span]:
        """What lies between two positions, one span a task."""
        found = spans(start, end, anew=self._anew)
        return split(found, self._options.min_partitions, self._options.max_records_per_partition)

    def now(self, start: Positions) -> tuple[dict[MessageQueue, int], dict[MessageQueue, int]]:
        """Beginnings of the queues that `start` does not hold, and the ends of all that can be asked now.

        A queue that ends before its offset in `start` was made anew. It is told of, and counts as new, where
        data loss is no failure; otherwise `DataLoss` is raised.
        """
        heads = self._origin.heads(self._queues(known=start), patient=True)
        anew = [queue for queue, end in heads.items() if end < start.get(queue, 0)]
        if anew:
            queue = min(anew)
            report(self._options, lost(queue, start[queue], f"the queue ends at {heads[queue]}"))
        fresh = [queue for queue in heads if queue not in start]
        return self._origin.beginnings([*fresh, *anew]), heads

    def heads(self) -> dict[MessageQueue, int]:
        """The ends of all queues that can be asked now."""
        return self._origin.heads(self._queues(), patient=True)

    def target(self) -> dict[MessageQueue, int]:
        """Where a stream stops that reads what is there now. Raises `SettingError` as `batch` does."""
        high = self.heads()
        if self._options.ending == LATEST:
            return high
        return self._resolve(self._options.ending, self._origin.beginnings([*high]), high, high)

    def limit(
        self, start: Positions, end: Positions, rows_max: int | None, bytes_max: int | None
    ) -> dict[MessageQueue, int]:
        """`end` moved back so that about `bytes_max` bytes, and at most `rows_max` messages, lie between."""
        found = spans(start, end, anew=self._anew)
        rows = sum(span.end - span.start for span in found)
        if bytes_max is not None and rows:
            size = sum(self._origin.bytes_of(*span) for span in found)
            if size > bytes_max:
                by_size = max(1, rows * bytes_max // size)
                rows_max = by_size if rows_max is None else min(rows_max, by_size)
        return dict(end) if rows_max is None else limited(start, end, rows_max, anew=self._anew)

    def commit(self, end: Positions) -> None:
        """Tell the group that wants to know."""
        for queue, offset in end.items():
            self._origin.commit(self._options.commit_to_group, queue, offset)

    def close(self) -> None:
        """Close what the origin holds open."""
        self._origin.close()

    def _queues(self, *, patient: bool = True, known: Positions | None = None) -> list[MessageQueue]:
        """Those that are to be read, asked now. Raises what an origin does, and as `Assigned.of` does."""
        found = self._origin.queues(patient=patient, known=known)
        if self._options.assign is None:
            return found
        where = " in its files, where a queue is once it holds a message" if self._options.path else ""
        return self._options.assign.of(found, patient=patient, where=where)

    def _ends(self) -> tuple[dict[MessageQueue, int], dict[MessageQueue, int]]:
        queues = self._queues(patient=False)
        low = self._origin.beginnings(queues)
        # Retention may empty a queue between the two questions.
        return low, {queue: max(end, low[queue]) for queue, end in self._origin.heads(queues).items()}

    def _resolve(
        self,
        bound: Bound,
        low: Mapping[MessageQueue, int],
        high: Mapping[MessageQueue, int],
        default: Mapping[MessageQueue, int],
    ) -> dict[MessageQueue, int]:
        origin = self._origin
        try:
            found = resolve(bound, low, high, default, origin.at_time, origin.of_group)
            if bound.kind == "group" and found == default:
                self.check_group(bound.group, {queue.topic for queue in low})
            return found
        except SettingError as problem:
            raise SettingError(f"option {bound.option}: {problem}") from None

    def check_group(self, group: str, topics: Collection[str]) -> None:
        """Raise `SettingError` for a group without offsets in `topics` that nobody made: a misspelt one."""
        known = {each for topic in topics for each in self._origin.groups_of(topic)}
        if topics and group not in known and group not in self._origin.groups():
            others = f"; those with progress: {', '.join(sorted(known))}" if known else ""
            raise SettingError(
                f"group {group} is not known: no broker has it, and it has no progress in topic "
                f"{', '.join(sorted(topics))}{others}"
            )

    def _check_order(self, queue: MessageQueue, start: int, end: int, low: int) -> None:
        """Raise `SettingError` when both ends were asked for, and are in the wrong order."""
        starting, ending = self._options.starting, self._options.ending
        # A time beyond the newest message stands for the end, so it contradicts nothing.
        if low <= end < start and starting.kind != "time" and ending.kind != "time":
            raise SettingError(
                f"options {starting.option} and {ending.option} contradict each other: topic {queue.topic}, "
                f"queue {queue.broker_name}/{queue.queue_id} would be read from {start} to {end}"
            )

    def _kept(self, queue: MessageQueue, start: int, low: int) -> int:
        if start >= low:
            return start
        return skipped(self._options, queue, start, low)


def skipped(options: SourceOptions, queue: MessageQueue, start: int, low: int) -> int:
    """`low`, with a warning, where messages from `start` on may be missing. Raises `DataLoss` otherwise."""
    if options.fail_on_data_loss:
        raise DataLoss(lost(queue, start, f"the oldest that is kept is {low}"))
    log.warning(
        "messages are gone and were skipped",
        topic=queue.topic, broker=queue.broker_name, queue_id=queue.queue_id, start=start, end=low,
        count=low - start,
    )  # fmt: skip
    return low


def report(options: SourceOptions, what: str) -> None:
    """Raise `DataLoss`, or tell `what`, as `options` want it, of messages whose number nobody knows."""
    if options.fail_on_data_loss:
        raise DataLoss(what)
    log.warning("messages are gone and were skipped", reason=what)

"""Where messages come from: what the driver asks, whether brokers or files answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mqframe.core.messages.message import MessageQueue
from mqframe_spark.source.positions import Positions


class Origin(Protocol):
    """Used on the driver only. Offsets count messages; the end of a queue is behind its last message."""

    def queues(self, *, patient: bool = False, known: Positions | None = None) -> list[MessageQueue]:
        """The queues of all wanted topics, asked now, sorted.

        Raises `FixError` for a topic that does not exist or has no queue to read. `patient`: leaves those out
        that cannot be read at the moment, as long as others can be. `known`: what was read so far; where some
        of it was deleted, as opposed to being away, that is a `DataLoss`, or told.
        """
        ...

    def beginnings(self, queues: Iterable[MessageQueue]) -> dict[MessageQueue, int]:
        """The oldest offset of each of `queues`."""
        ...

    def heads(self, queues: Iterable[MessageQueue], *, patient: bool = False) -> dict[MessageQueue, int]:
        """The end of each of `queues`; `patient` as in `queues`."""
        ...

    def at_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """The offset of the first message stored at `timestamp_ms` or later; the end when there is none."""
        ...

    def of_group(self, queue: MessageQueue, group: str) -> int | None:
        """Where a consumer group is; `None` where it has no offset."""
        ...

    def groups_of(self, topic: str) -> list[str]:
        """The consumer groups that have offsets in `topic`."""
        ...

    def groups(self) -> list[str]:
        """The consumer groups that were made, with or without offsets."""
        ...

    def bytes_of(self, queue: MessageQueue, start: int, end: int) -> int:
        """About how many bytes the records from `start` to before `end` take."""
        ...

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Tell a consumer group's progress, unless it is further already."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...

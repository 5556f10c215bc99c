"""How far each consumer group is, kept by the broker (store.md §5; source: ConsumerOffsetManager.java)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from mqframe.core.clock import Clock
from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.measuring.budget import admit_all
from mqframe.core.messages.names import is_system_topic
from mqframe.core.wire.bodies import DataVersion

SEPARATOR: Final = "@"
"""Stands between topic and group in the keys of the saved table; no name may hold it."""


_FOREIGN_PREFIX: Final = "%LMQ%"
"""Begins the names of light queues, which other brokers keep and this one does not know."""


DELETED_TOPICS_MAX: Final = 1000
"""Deleted topics of which it is remembered who had consumed them, the newest ones."""


class Correction(NamedTuple):
    """The stored offset of one queue was `stored`; the queue has none such, so it is `corrected` now."""

    group: str
    topic: str
    queue_id: int
    stored: int
    corrected: int


class OffsetTable:
    """Committed offsets by topic, group and queue; offsets last pulled; offsets that an operator set.

    `changes` grows with every change of what is saved. `entries`: how many offsets there are, committed and
    pulled ones; `admit`: raises where there is no room for so many more. Those of the system's own topics
    always have room.
    """

    __slots__ = (
        "_clock", "_committed", "_deleted", "_groups", "_pulled", "_resets", "_topics", "admit", "changes",
        "entries", "version",
    )  # fmt: skip

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._committed: dict[tuple[str, str], dict[int, int]] = {}
        self._pulled: dict[tuple[str, str], dict[int, int]] = {}
        self._resets: dict[tuple[str, str], dict[int, int]] = {}
        self._deleted: dict[str, tuple[str, ...]] = {}  # topics, with the groups that have resets for it
        self._topics: dict[str, dict[str, None]] = {}  # of each group that committed
        self._groups: dict[str, dict[str, None]] = {}  # of each topic
        self.entries = 0
        self.admit: Callable[[int], None] = admit_all
        self.version = DataVersion(timestamp=clock.now_ms())
        self.changes = 0

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store how far `group` is. An offset before the stored one is taken, too.

        Raises `Refusal` where the group is new to the queue, and there is no room for another.
        """
        queues = self._committed.get((topic, group))
        if queues is None or queue_id not in queues:
            self._make_room(topic)
            queues = self._committed.setdefault((topic, group), {})
            self._know(topic, group)
        queues[queue_id] = offset
        self.changes += 1

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """The stored offset, a pending reset before all; `None` when there is none."""
        reset = self._resets.get((topic, group))
        if reset is not None and queue_id in reset:
            return reset[queue_id]
        return self._committed.get((topic, group), {}).get(queue_id)

    def pulled(self, group: str, topic: str, queue_id: int, next_offset: int) -> None:
        """Note where the group's next pull will begin. Raises `Refusal` as `commit` does."""
        queues = self._pulled.get((topic, group))
        if queues is None or queue_id not in queues:
            self._make_room(topic)
            queues = self._pulled.setdefault((topic, group), {})
        queues[queue_id] = next_offset

    def query_pulled(self, group: str, topic: str, queue_id: int) -> int | None:
        """Where the group's next pull will begin, else the stored offset."""
        pulled = self._pulled.get((topic, group), {}).get(queue_id)
        return self.query(group, topic, queue_id) if pulled is None else pulled

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Set an offset for an operator: the next pull of the queue is sent there."""
        self.commit(group, topic, queue_id, offset)
        self._resets.setdefault((topic, group), {})[queue_id] = offset

    def reset_pending(self, group: str, topic: str, queue_id: int) -> bool:
        """Whether a reset still waits for the group's next pull; commits are ignored until then."""
        return queue_id in self._resets.get((topic, group), ())

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """The pending reset, which is done with that; `None` when there is none."""
        if not self._resets:
            return None
        pending = self._resets.get((topic, group))
        if pending is None:
            return None
        offset = pending.pop(queue_id, None)
        if not pending:
            del self._resets[topic, group]
        return offset

    def topics_of(self, group: str) -> list[str]:
        """The topics that `group` has offsets of."""
        return list(self._topics.get(group, ()))

    def groups_of(self, topic: str) -> list[str]:
        """The groups that have offsets of `topic`."""
        return list(self._groups.get(topic, ()))

    def offsets_of(self, group: str, topic: str) -> dict[int, int]:
        """The stored offsets of `group` by queue id, as a copy."""
        return dict(self._committed.get((topic, group), {}))

    def by_group(self, topic: str) -> dict[str, dict[int, int]]:
        """The stored offsets of `topic` by group and queue id, as a copy."""
        return {group: dict(self._committed[topic, group]) for group in self._groups.get(topic, ())}

    def remove_topic(self, topic: str, online: Collection[str] = ()) -> None:
        """Forget all offsets of a topic, which is deleted.

        `online`: the groups that have members, who know offsets of it still. Those of them that had stored
        some are sent to the beginning by their next pull, when the topic is made anew.
        """
        had = {group: tuple(self._committed[topic, group]) for group in self.groups_of(topic)}
        self._remove(key for key in self._keys() if key[0] == topic)
        groups = tuple(group for group in had if group in online)
        for group in groups:
            self._resets[topic, group] = dict.fromkeys(had[group], 0)
        self._deleted.pop(topic, None)
        if groups:
            self._deleted[topic] = groups
        if len(self._deleted) > DELETED_TOPICS_MAX:
            oldest = next(iter(self._deleted))
            for group in self._deleted.pop(oldest):
                self._resets.pop((oldest, group), None)

    def remove_group(self, group: str) -> None:
        """Forget all offsets of a group."""
        self._remove(key for key in self._keys() if key[1] == group)

    def load(self, table: ConsumerOffsetTable) -> None:
        """Take over what was saved. Keys that are not "topic@group" are left out."""
        for key, queues in table.offset_table.items():
            topic, found, group = key.partition(SEPARATOR)
            if found and topic and group and SEPARATOR not in group:
                self.entries += len(queues) - len(self._committed.get((topic, group), ()))
                self._committed[topic, group] = dict(queues)
                self._know(topic, group)
        self.version = table.data_version or self.version

    def keep_within(
        self, first: Callable[[str, int], int], end: Callable[[str, int], int]
    ) -> list[Correction]:
        """Correct what was saved to offsets that exist; returns those that were behind their queue's end.

        `first`, `end`: by topic and queue id, the queue's first offset and the one behind its last. Behind
        the end were messages that a power cut took; what is stored from now on gets their offsets, and the
        group is not to pass it over.
        """
        behind: list[Correction] = []
        for (topic, group), queues in self._committed.items():
            if topic.startswith(_FOREIGN_PREFIX):
                continue
            for queue_id, offset in queues.items():
                stop = end(topic, queue_id)
                if offset > stop:
                    behind.append(Correction(group, topic, queue_id, offset, stop))
                    queues[queue_id] = stop
                    self.changes += 1
                elif 0 <= offset < stop:  # a negative one says that there is none
                    start = first(topic, queue_id)
                    if offset < start:
                        queues[queue_id] = start
                        self.changes += 1
        return behind

    def dump(self) -> ConsumerOffsetTable:
        """Everything that is saved, under a new version when it changed since the last time.

        The offsets of a group may go on in it.
        """
        return ConsumerOffsetTable(data_version=self.next_version(), offset_table=dict(self.committed()))

    def next_version(self) -> DataVersion:
        """The version under which the offsets are shown: a new one when there were changes."""
        if self.changes:
            self.version = self.version.next(self._clock.now_ms())
        return self.version

    def committed(self) -> list[tuple[str, dict[int, int]]]:
        """All stored offsets by queue id, with their keys in the saved table; they may change later."""
        return [(f"{topic}{SEPARATOR}{group}", queues) for (topic, group), queues in self._committed.items()]

    def _make_room(self, topic: str) -> None:
        if not is_system_topic(topic):
            self.admit(1)
        self.entries += 1

    def _know(self, topic: str, group: str) -> None:
        self._topics.setdefault(group, {})[topic] = None
        self._groups.setdefault(topic, {})[group] = None

    def _keys(self) -> set[tuple[str, str]]:
        return {*self._committed, *self._pulled, *self._resets}

    def _remove(self, keys: Iterable[tuple[str, str]]) -> None:
        for topic, group in tuple(keys):
            key = (topic, group)
            for table in (self._committed, self._pulled):
                self.entries -= len(table.pop(key, ()))
            self._resets.pop(key, None)
            for table_of, one, other in ((self._topics, group, topic), (self._groups, topic, group)):
                known = table_of.get(one, {})
                known.pop(other, None)
                if not known:
                    table_of.pop(one, None)
            self.changes += 1

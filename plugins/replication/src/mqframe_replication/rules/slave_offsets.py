"""How far groups are, at a slave: what the master says, and what clients committed here while it was away.

A slave copies the offsets of its master from time to time. Clients commit at slaves while there is no master;
what they said then is not to be lost when it returns with what its disk held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from mqframe.core.clock import Clock
from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.consuming.offset_table import SEPARATOR, OffsetTable
from mqframe.core.wire.bodies import Body

FLOOR_SECONDS: Final = 10.0
"""What a master had in memory before that, its disk has: it saves offsets every 5 s."""


UNKNOWN: Final = -1
"""The floor where nobody knows what the master's disk has: it may have nothing."""


class OwnCommit(Body):
    """What a client committed here, and what the master's disk has at least, or `UNKNOWN`."""

    offset: int
    floor: int = UNKNOWN


class OwnCommitTable(Body):
    """`config/slaveCommits.json`: by "topic@group" and queue id."""

    commits: dict[str, dict[int, OwnCommit]] = {}


class Told(NamedTuple):
    """An offset that the master is to be told."""

    group: str
    topic: str
    queue_id: int
    offset: int


def is_further(own: OwnCommit, at_master: int | None) -> bool:
    """Whether what was committed here counts, rather than what the master holds; `None`: it holds nothing.

    | the master holds | why | counts |
    |-|-|-|
    | nothing | it lost it, or never had it | here |
    | as much or more | clients are back there | master |
    | less, not less than the floor | it came back with what it had saved | here |
    | less than the floor | it had more on its disk: an operator moved the group back | master |

    The floor is what the master said `FLOOR_SECONDS` before it was heard of last, or longer ago; -1 where it
    was not followed for so long. So an operator who moves a group back by what it consumed in these last
    seconds is not heard.
    """
    if at_master is None or at_master < 0:
        return True
    return own.floor <= at_master < own.offset


class OwnCommits:
    """What clients committed here and the master was not told of. `changes` grows with every change."""

    __slots__ = ("_commits", "changes")

    def __init__(self) -> None:
        self._commits: dict[tuple[str, str], dict[int, OwnCommit]] = {}
        self.changes = 0

    def note(self, topic: str, group: str, queue_id: int, offset: int, floor: int) -> None:
        """A client committed `offset`. The `floor` of an earlier commit stays."""
        queues = self._commits.setdefault((topic, group), {})
        known = queues.get(queue_id)
        queues[queue_id] = OwnCommit(offset, floor if known is None else known.floor)
        self.changes += 1

    def of(self, topic: str, group: str) -> Mapping[int, OwnCommit]:
        """By queue id."""
        return self._commits.get((topic, group), {})

    def forget(self, topic: str, group: str, queue_id: int) -> None:
        """It counts no more."""
        queues = self._commits.get((topic, group), {})
        if queues.pop(queue_id, None) is not None:
            self.changes += 1
        if not queues:
            self._commits.pop((topic, group), None)

    def all(self) -> list[Told]:
        """All of them; those of one topic and group follow each other."""
        return [
            Told(group, topic, queue_id, own.offset)
            for (topic, group), queues in self._commits.items()
            for queue_id, own in queues.items()
        ]

    def load(self, table: OwnCommitTable) -> None:
        """Take over what was saved."""
        for key, queues in table.commits.items():
            topic, _, group = key.partition(SEPARATOR)
            self._commits[topic, group] = dict(queues)

    def dump(self) -> OwnCommitTable:
        """Everything that is saved."""
        return OwnCommitTable(
            {f"{topic}{SEPARATOR}{group}": dict(queues) for (topic, group), queues in self._commits.items()}
        )


class SlaveOffsets(OffsetTable):
    """Offsets that follow those of a master, but for those in `own`, which are further."""

    __slots__ = ("_before", "_long_before", "_turned", "own")

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.own = OwnCommits()
        # What the copies of the last seconds replaced, in two spans of FLOOR_SECONDS.
        self._before: dict[tuple[str, str, int], int] = {}
        self._long_before: dict[tuple[str, str, int], int] = {}
        self._turned = clock.monotonic()

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store what a client committed here. Raises as `OffsetTable.commit`."""
        copied = self.query(group, topic, queue_id)
        super().commit(group, topic, queue_id, offset)
        key = (topic, group, queue_id)
        known = (copied, self._before.get(key), self._long_before.get(key))
        floor = min((each for each in known if each is not None), default=UNKNOWN)
        self.own.note(topic, group, queue_id, offset, floor)

    def take(self, table: ConsumerOffsetTable) -> None:
        """Take over what the master holds, but where what was committed here is further (`is_further`).

        Groups that the master does not know stay.
        """
        self._turn()
        merged: dict[str, dict[int, int]] = {}
        for name, queues in table.offset_table.items():
            topic, _, group = name.partition(SEPARATOR)
            taken = dict(queues)
            for queue_id, own in tuple(self.own.of(topic, group).items()):
                if is_further(own, queues.get(queue_id)):
                    taken[queue_id] = own.offset
                else:
                    self._settle(Told(group, topic, queue_id, own.offset), own.floor)
            known, committed_here = self.offsets_of(group, topic), self.own.of(topic, group)
            for queue_id, offset in taken.items():
                old = known.get(queue_id, UNKNOWN)
                if offset != old and queue_id not in committed_here:
                    self._replaced((topic, group, queue_id), old)
            merged[name] = taken
        super().load(msgspec.structs.replace(table, offset_table=merged))
        self.changes += 1

    def load(self, table: ConsumerOffsetTable) -> None:
        """Take over what was saved. How long the master had that already nobody knows."""
        super().load(table)
        for name, queues in table.offset_table.items():
            topic, _, group = name.partition(SEPARATOR)
            for queue_id in queues:
                self._replaced((topic, group, queue_id), UNKNOWN)

    def _turn(self) -> None:
        now = self._clock.monotonic()
        if now - self._turned >= FLOOR_SECONDS:
            self._turned = now
            self._long_before, self._before = self._before, {}

    def told(self, commit: Told) -> None:
        """The master knows, or does not want to; what a client committed since is told later."""
        own = self.own.of(commit.topic, commit.group).get(commit.queue_id)
        if own is not None and own.offset == commit.offset:
            self._settle(commit, own.floor)

    def _settle(self, commit: Told, floor: int) -> None:
        # The master may be gone once more before it has saved what it was told.
        self._replaced((commit.topic, commit.group, commit.queue_id), floor)
        self.own.forget(commit.topic, commit.group, commit.queue_id)

    def _replaced(self, key: tuple[str, str, int], old: int) -> None:
        self._before[key] = min(old, self._before.get(key, old))

    def is_news(self, commit: Told, at_master: int | None) -> bool:
        """Whether the master, which holds `at_master`, is to be told of `commit` (`is_further`)."""
        own = self.own.of(commit.topic, commit.group).get(commit.queue_id)
        return own is not None and is_further(own, at_master)

    def remove_topic(self, topic: str, online: Collection[str] = ()) -> None:
        """As the table of a master does; what was committed here is forgotten, too."""
        super().remove_topic(topic, online)
        self._forget_own(commit for commit in self.own.all() if commit.topic == topic)

    def remove_group(self, group: str) -> None:
        """Forget all offsets of a group."""
        super().remove_group(group)
        self._forget_own(commit for commit in self.own.all() if commit.group == group)

    def _forget_own(self, commits: Iterable[Told]) -> None:
        for commit in tuple(commits):
            self.own.forget(commit.topic, commit.group, commit.queue_id)

"""Messages that a task of the broker could do nothing with, and left out so that the others go on.

Each is kept with its place, so that an operator finds it: its record stays in the log for as long as all
others, and is read by its log offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.wire.bodies import Body

KEPT_MAX: Final = 1000
"""How many are listed, the newest; all are counted."""
_PROBLEM_CHARACTERS_MAX: Final = 300


class MessagePlace(NamedTuple):
    """Where a message lies: topic, queue and queue offset that name it, and the log offset of its record."""

    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int


def place_of(message: ReceivedMessage) -> MessagePlace:
    """Where `message` lies."""
    return MessagePlace(message.topic, message.queue_id, message.queue_offset, message.commit_log_offset)


class LeftOutMessage(Body):
    """One message that was left out. `task`: by whom; `problem`: why; `time`: when, ms."""

    task: str = ""
    topic: str = ""
    queue_id: int = 0
    queue_offset: int = 0
    log_offset: int = -1
    problem: str = ""
    time: int = 0


class LeftOutTable(Body):
    """`config/leftOut.json`: the newest messages that were left out, oldest first.

    `total`: how many there were.
    """

    total: int = 0
    messages: list[LeftOutMessage] = []


class LeftOutList:
    """What was left out. `total`: how many messages; `changes` grows with each."""

    __slots__ = ("_kept", "changes", "total")

    def __init__(self) -> None:
        self._kept: dict[tuple[str, MessagePlace], LeftOutMessage] = {}
        self.total = 0
        self.changes = 0

    @property
    def newest(self) -> Sequence[LeftOutMessage]:
        """Those that are listed, newest first."""
        return tuple(reversed(self._kept.values()))

    def add(self, task: str, place: MessagePlace, problem: str, now_ms: int) -> bool:
        """Note a message; returns False for one that is noted already: a task may come by it again."""
        key = (task, place)
        if key in self._kept:
            return False
        self._kept[key] = LeftOutMessage(task, *place, problem[:_PROBLEM_CHARACTERS_MAX], now_ms)
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        self.total += 1
        self.changes += 1
        return True

    def load(self, table: LeftOutTable) -> None:
        """Take over what was saved."""
        self._kept = {
            (each.task, MessagePlace(each.topic, each.queue_id, each.queue_offset, each.log_offset)): each
            for each in table.messages[-KEPT_MAX:]
        }
        self.total = max(table.total, len(self._kept))

    def dump(self) -> LeftOutTable:
        """Everything that is saved."""
        return LeftOutTable(self.total, list(self._kept.values()))

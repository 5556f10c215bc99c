"""Adding queues to an ordered topic without losing the order of a key.

A key may move from an old queue to a new one. What was sent to the old queue has to be consumed first, so
consumers see new queues only when the old ones have drained:

    state      event                                                     then
    STEADY     write queues are added (producers see them)               FILLING
    FILLING    producers know: the ends of the old queues are noted      DRAINING
    DRAINING   every group has passed the ends                           DRAINED
    DRAINED    read queues are added (consumers see them)                STEADY

With the selector `monotonic` a key stays or moves to a new queue, never between old ones; with the others a
key may move between old queues, whose order is kept for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import attrs

from mqframe.core.messages.message import MessageQueue


class ExpansionState(Enum):
    """How far it is."""

    STEADY = "steady"
    FILLING = "filling"
    DRAINING = "draining"
    DRAINED = "drained"


@attrs.frozen
class QueueExpansion:
    """A topic that gets queues. `before`: queues that consumers see, by broker name; `queues`: how many each
    broker will have; `ends`: where the old queues ended when producers knew the new ones."""

    topic: str
    queues: int
    before: Mapping[str, int]
    ends: Mapping[MessageQueue, int] | None = None

    @property
    def growing(self) -> bool:
        """Whether consumers do not see all queues yet."""
        return any(count < self.queues for count in self.before.values())

    @property
    def old_queues(self) -> list[MessageQueue]:
        """The queues that have to drain, sorted."""
        return sorted(
            MessageQueue(self.topic, name, number)
            for name, count in self.before.items()
            for number in range(count)
        )

    def left(self, offsets: Mapping[str, Mapping[MessageQueue, int]]) -> dict[str, int]:
        """Messages before the ends that each group has not consumed; `offsets`: how far it is, by group."""
        ends = self.ends or {}
        return {
            group: sum(max(0, end - reached.get(queue, 0)) for queue, end in ends.items())
            for group, reached in sorted(offsets.items())
        }

    def state(self, offsets: Mapping[str, Mapping[MessageQueue, int]]) -> ExpansionState:
        """Where in the table above."""
        if not self.growing:
            return ExpansionState.STEADY
        if self.ends is None:
            return ExpansionState.FILLING
        return ExpansionState.DRAINING if any(self.left(offsets).values()) else ExpansionState.DRAINED

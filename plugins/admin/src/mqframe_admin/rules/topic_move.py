"""Moving the queues of a topic from one broker to others.

    state      event                                                        then
    HERE       the others have the topic, and producers may not write here  LEAVING
    LEAVING    every group has consumed what lies here, nothing waits       EMPTY
    EMPTY      consumers may not read here any more                         GONE

What is sent to a topic goes to the others from the next look at a route on (30 s); until then some may still
come here, so a move that is EMPTY goes back to LEAVING. A key may have messages here and there at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import attrs

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_READ, PERM_WRITE
from mqframe.core.errors import FixError


class MoveState(Enum):
    """How far it is."""

    HERE = "here"
    LEAVING = "leaving"
    EMPTY = "empty"
    GONE = "gone"


@attrs.frozen
class TopicMove:
    """A topic that leaves the broker `source`.

    `targets`: queues that producers see, by name of the other brokers that have it; `perm`: what may be done
    with it at `source`, 0: nothing, as where it is not any more; `left`: messages there that each group has
    yet to consume; `messages`: all that lie there; `waiting`: messages of that broker that come to some topic
    later, delayed ones and open transactions: of which topic it does not tell.
    """

    topic: str
    source: str
    targets: Mapping[str, int]
    perm: int
    left: Mapping[str, int]
    messages: int
    waiting: int

    @property
    def state(self) -> MoveState:
        """Where in the table above."""
        if not self.perm & PERM_READ:
            return MoveState.GONE
        if self.perm & PERM_WRITE:
            return MoveState.HERE
        return MoveState.LEAVING if self.objections else MoveState.EMPTY

    @property
    def objections(self) -> tuple[str, ...]:
        """What would be lost if the queues were taken away now, in words; empty: nothing."""
        found = [f"{count} messages for group {group}" for group, count in self.left.items() if count]
        if self.messages and not self.left:
            found.append(f"{self.messages} messages, which no group consumes")
        if self.waiting:
            found.append(f"{self.waiting} delayed or half messages of the broker, which may be of this topic")
        return tuple(found)


def check_targets(topic: str, source: str, targets: Mapping[str, TopicConfig | None]) -> None:
    """Raise `FixError` where `topic` cannot leave `source` for `targets`, with what these have of it."""
    if not targets:
        raise FixError(f"topic {topic}: name at least one broker that takes it in place of {source}")
    if source in targets:
        raise FixError(f"topic {topic}: broker {source} cannot take it in place of itself")


def at_target(source: TopicConfig, there: TopicConfig | None) -> TopicConfig:
    """The topic as another broker is to have it: like `source`, or as it is `there`, and to be written to."""
    made = source if there is None else there
    return TopicConfig(
        made.attributes,
        source.order,
        PERM_READ | PERM_WRITE,
        made.read_queue_nums,
        made.topic_filter_type,
        made.topic_name,
        made.topic_sys_flag,
        made.write_queue_nums,
    )

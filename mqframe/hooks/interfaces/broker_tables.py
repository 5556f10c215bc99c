"""The tables of a broker, as its services see them: topics, groups, offsets, and what is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.storage.left_out import MessagePlace

T = TypeVar("T", covariant=True)


class NamedTable(Protocol[T]):
    """What the broker has by name."""

    def __iter__(self) -> Iterator[str]:
        """The names."""

    def __contains__(self, name: str, /) -> bool:
        """Whether something is called so."""

    def find(self, name: str) -> T | None:
        """What is called `name`; `None` when nothing is."""

    def need(self, name: str) -> T:
        """As `find`. Raises `Refusal` when there is nothing: 17 for topics, 26 for groups."""


class TopicLookup(NamedTable[TopicConfig], Protocol):
    """The topics of the broker."""

    def ensure(self, name: str, queues: int) -> TopicConfig:
        """The topic `name`, made with so many queues when it does not exist."""

    def dead_letters(self, group: str) -> str:
        """The name of the dead-letter topic of `group`, which is made on first use."""


GroupLookup = NamedTable[SubscriptionGroupConfig]
"""The consumer groups of the broker."""


class OffsetLookup(Protocol):
    """How far groups are in queues: queue offsets, saved every few seconds."""

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """The next message that `group` wants; `None` when it has no offset there."""

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """`group` is done with everything before `offset`."""

    def pulled(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """`group` was given everything before `offset`; for operators."""

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Where an operator wants `group` to go on, once; `None` when none does."""

    def reset_pending(self, group: str, topic: str, queue_id: int) -> bool:
        """Whether there is such a reset that nobody has taken yet."""


class BrokerCounts(Protocol):
    """What the broker counts of messages, for operators and monitoring."""

    def stored(self, topic: str, count: int, size_bytes: int, kind: str) -> None:
        """`count` messages of a type (`core.sending.message_type`) were stored outside of a send."""

    def got(self, group: str, topic: str, count: int, size_bytes: int = 0) -> None:
        """`group` was given `count` messages."""

    def found_nothing(self) -> None:
        """Somebody looked for messages, and there was none."""

    def acknowledged(self, group: str, topic: str, count: int = 1) -> None:
        """`group` is done with `count` messages."""

    def given_up(self, group: str, topic: str) -> None:
        """A message became a dead letter."""


class ReadAdmission(Protocol):
    """Whether something may be read, and what of it."""

    def topic(self, name: str, queue_id: int | None = None) -> TopicConfig:
        """The topic of a read from one of its queues; `None`: from any of them.

        Raises `Refusal`: 17 for an unknown topic, 16 where it or the broker may not be read, 1 for a queue
        that it does not have.
        """

    def group(self, name: str) -> SubscriptionGroupConfig:
        """The group of a read. Raises `Refusal`: 26 for an unknown group, 16 where it may not consume."""

    def check_allowed(self, group: str, topic: str) -> None:
        """Raise `Refusal` 16 where an operator forbade `group` to read `topic`."""

    def choice(self, expression_type: str | None, expression: str | None) -> RecordChoice:
        """The messages that an expression chooses.

        Raises `Refusal`: 23 for an expression that is wrong, 1 for one of a type that is not enabled.
        """


class LeftOutNotes(Protocol):
    """Isolates a task from single messages: what it can do nothing with is noted, saved, and left out."""

    def attempt(self, task: str, place: MessagePlace, work: Callable[[], object]) -> bool:
        """Do `work` on the message at `place`; whether that worked. Raises what may pass."""

    def note(self, task: str, place: MessagePlace, problem: Exception | str) -> None:
        """`task` leaves out the message at `place`, because of `problem`."""

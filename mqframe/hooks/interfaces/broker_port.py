"""The port of broker services: what a broker hands to a service plugin, and nothing else of the broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from mqframe.core.clock import Clock
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.stored import Stored
from mqframe.core.wire.frame import Body

S = TypeVar("S")
T = TypeVar("T", covariant=True)


class BrokerIdentity(Protocol):
    """Who the broker is."""

    @property
    def name(self) -> str:
        """Name of the broker, unique in its cluster."""

    @property
    def cluster(self) -> str:
        """Name of the cluster."""

    @property
    def address(self) -> str:
        """The address that clients use, "host:port"; known once the broker has started."""

    def offset_id(self, commit_log_offset: int) -> str:
        """The message id of the record at `commit_log_offset` (bytes)."""


class MessageReader(Protocol):
    """Reads stored messages. Queue offsets count messages, log offsets bytes."""

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept."""

    @property
    def max_offset(self) -> int:
        """Log offset where the next record goes.

        What a saved table says of records behind it was lost in a crash.
        """

    def queue_min(self, topic: str, queue_id: int) -> int:
        """First offset of the queue that is kept; 0 for an unknown queue."""

    def queue_max(self, topic: str, queue_id: int) -> int:
        """Offset behind the last message of the queue; 0 for an unknown queue."""

    def offset_at(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """First queue offset stored at or after `timestamp_ms` (since 1970)."""

    async def read(self, topic: str, queue_id: int, offset: int, count: int) -> list[ReceivedMessage]:
        """Up to `count` messages of a queue from `offset` on; none where there are none.

        The disk is waited for in a thread.
        """

    def records_from(self, log_offset: int) -> AsyncIterator[ReceivedMessage]:
        """All messages of the log from a record's start on, those of all topics, in order.

        For `BrokerService.start`, to make up for what a table did not know yet when the broker was killed. An
        offset that is not kept any more stands for the oldest that is.
        """

    def when_confirmed(self, end_offset: int, callback: Callable[[bool], object]) -> None:
        """Call `callback`, now or later, once the log is as durable up to `end_offset` as is configured.

        It gets False when the store's patience was over before.
        """


class MessageWriter(Protocol):
    """Stores messages of the broker's own."""

    def put(
        self,
        topic: str,
        queue_id: int,
        body: Body,
        properties: dict[str, str],
        *,
        born_timestamp: int,
        flag: int = 0,
        heed_delay: bool = True,
    ) -> Stored:
        """Store one message at the end of a queue; a delay that `properties` ask for is kept.

        `born_timestamp`: ms since 1970. `heed_delay`: False for a message that has waited already. The topic
        has to exist. Raises `Refusal`: 13 for a message that is too large or illegally delayed, 14 when the
        store takes nothing at the moment.
        """


class Lookup(Protocol[T]):
    """What the broker has by name."""

    def __iter__(self) -> Iterator[str]:
        """The names."""

    def find(self, name: str) -> T | None:
        """What is called `name`; `None` when nothing is."""


class TopicLookup(Lookup[TopicConfig], Protocol):
    """The topics of the broker."""

    def ensure(self, name: str, queues: int) -> TopicConfig:
        """The topic `name`, made with so many queues when it does not exist."""


GroupLookup = Lookup[SubscriptionGroupConfig]
"""The consumer groups of the broker."""


class DueTask(Protocol):
    """Work that runs when it falls due, never twice at once."""

    def ring_in(self, wait_ms: int) -> None:
        """Run it in `wait_ms` at the latest. While it runs, what it returns decides."""

    async def stop(self) -> None:
        """Run it no more; returns when it does not run any more."""

    def cancel(self) -> None:
        """Run it no more, and cancel what runs."""


class ServiceSettings(Protocol[T]):
    """The section of settings of a service."""

    @property
    def current(self) -> T:
        """The settings in force; another object once operators changed some. Ask for it at each use."""


class BrokerPort(Protocol):
    """Handed to the factory of a `BrokerService`. Good for the service's whole life, in the broker's loop."""

    @property
    def clock(self) -> Clock:
        """The broker's time. Wall-clock time may be set back."""

    @property
    def identity(self) -> BrokerIdentity:
        """Who the broker is."""

    @property
    def reader(self) -> MessageReader:
        """What is stored."""

    @property
    def writer(self) -> MessageWriter:
        """Stores messages."""

    @property
    def topics(self) -> TopicLookup:
        """The topics."""

    @property
    def groups(self) -> GroupLookup:
        """The consumer groups."""

    @property
    def directory(self) -> Path:
        """Where the broker keeps its data; a service may keep files of its own in a folder of its name."""

    def settings(self, kind: type[S]) -> ServiceSettings[S]:
        """The section of a service, of its class, which its factory names in `Settings`.

        Operators change those of its settings that are `live` as they change the broker's own. Raises
        `SettingError` where nobody gave what it has no default for.
        """

    def due_task(self, work: Callable[[], Awaitable[int | None]], name: str) -> DueTask:
        """A task that runs `work` when it is rung.

        `work` returns in how many ms it wants to run again, `None`: not before it is rung. An error is logged
        under `name`, and the work is tried again after some seconds.
        """

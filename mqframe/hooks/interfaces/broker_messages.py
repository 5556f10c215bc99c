"""Messages in a broker, as its services read and store them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.left_out import MessagePlace
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.core.wire.frame import Body


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
        born_host: bytes | None = None,
        flag: int = 0,
        sys_flag: int = 0,
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
        heed_delay: bool = True,
    ) -> Stored:
        """Store one message at the end of a queue; a delay that `properties` ask for is kept.

        `born_timestamp`: ms since 1970. `born_host`: packed (`core.messages.addresses`), by default the
        broker. `prepared_transaction_offset`: log offset of the half that it is the commit of. `heed_delay`:
        False for a message that has waited already. The topic has to exist. Raises `Refusal`: 13 for a
        message that is too large or illegally delayed, 14 when the store takes nothing at the moment.
        """

    def put_batch(
        self,
        topic: str,
        queue_id: int,
        batch: Body,
        added_properties: bytes,
        *,
        born_timestamp: int,
        born_host: bytes,
        sys_flag: int,
        prepared_transaction_offset: int,
    ) -> StoredBatch:
        """Store the messages of `batch` (`core.messages.batch`) in one queue, one behind the other.

        `added_properties`, in text form, go behind those of each message. Raises as `put`, and `BodyError`
        for a malformed batch; nothing is stored then.
        """

    def make_room(self, size: int) -> None:
        """See that what is stored next, up to `size` bytes, lies in one file of the log. Raises as `put`."""


class MessageRedelivery(Protocol):
    """Puts messages that waited in a topic of the broker into their own queues.

    One that this cannot be done with is left out (`LeftOutNotes`), for it must not hold up all others.
    """

    def read(self, record: Body, place: MessagePlace) -> ReceivedMessage | None:
        """The message in a record that lies at `place`; `None`, and left out, when it is none."""

    def attempt(self, place: MessagePlace, work: Callable[[], object]) -> bool:
        """Do `work` on the message at `place`, as `LeftOutNotes.attempt` does."""

    def gone(self, place: MessagePlace, log_start: int) -> None:
        """No record was found for the message at `place`. `log_start`: oldest offset that the log keeps."""

    def put(
        self,
        message: ReceivedMessage,
        properties: dict[str, str] | None = None,
        place: tuple[str, int] | None = None,
    ) -> None:
        """Store `message` as it was sent, with `properties` instead of its own, at `place` (topic, queue).

        By default that is the place that its properties call its real one. Raises what may pass, when the
        store takes nothing at the moment.
        """

"""Writes of the broker itself: messages that it makes or moves on.

Failed ones that come back, due delayed ones, committed ones: all are stored through here, so that a delay
that they carry is heeded wherever they come from (source: HookUtils.java, EscapeBridge.java).
"""

from __future__ import annotations

from mqframe.broker.tables.identity import Identity
from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import MessageError, StoreUnavailable
from mqframe.core.messages import properties as p
from mqframe.core.requests.failures import refused
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.core.wire.frame import Body
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore


class InternalWriter:
    """Stores messages outside of a send; queues and index follow in the next turn of the loop."""

    __slots__ = ("_delays", "_identity", "_store")

    def __init__(self, store: MessageStore, delays: DelayRules, identity: Identity) -> None:
        self._store = store
        self._delays = delays
        self._identity = identity

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
        """Store one message, delayed where `properties` say so. `born_host`: packed, by default the broker.

        `heed_delay`: False for a message that has waited already; what it says of its delay is kept as text.

        Whoever must not answer before the message is durable waits for `Stored.end_offset` with
        `Confirming.when_confirmed`. Raises `Refusal`: 13 for a message that is too large or illegally
        delayed, 14 when the store takes nothing.
        """
        if heed_delay:
            # For all that the broker moves on: the delay of a failed or a committed message begins here. What
            # waited already must not wait again, though its properties still name the delay.
            topic, queue_id = self._delays.place(topic, queue_id, properties)
        host = self._identity.store_host
        incoming = Incoming(
            topic, queue_id, body, p.encode_properties(properties), born_timestamp,
            host if born_host is None else born_host, host, flag, sys_flag, reconsume_times,
            prepared_transaction_offset,
        )  # fmt: skip
        try:
            stored = self._store.writes.put(incoming)
        except (MessageError, StoreUnavailable) as problem:
            raise refused(problem) from None
        # Behind a write of a task or a timer no request's turn ends that would dispatch it.
        self._store.dispatch.soon()
        return stored

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
        """Store the messages of `batch` (mqframe.core.messages.batch) in one queue, one behind the other.

        `added_properties`, in text form, go behind those of each message. Raises as `put`, and `BodyError`
        for a malformed batch; nothing is stored then.
        """
        head = Incoming(
            topic, queue_id, b"", "", born_timestamp, born_host, self._identity.store_host,
            sys_flag=sys_flag, prepared_transaction_offset=prepared_transaction_offset,
        )  # fmt: skip
        try:
            stored = self._store.writes.put_batch(head, memoryview(batch), added_properties)
        except (MessageError, StoreUnavailable) as problem:
            raise refused(problem) from None
        self._store.dispatch.soon()
        return stored

    def make_room(self, size: int) -> None:
        """See that what is stored next, up to `size` bytes, lies in one file of the log. Raises as `put`."""
        try:
            self._store.writes.make_room(size)
        except (MessageError, StoreUnavailable) as problem:
            raise refused(problem) from None

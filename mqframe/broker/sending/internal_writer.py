"""The way in for messages that the broker itself makes or moves on.

Failed ones that come back, due delayed ones, committed ones: all are stored through here, so that a delay
that they carry is heeded wherever they come from (source: HookUtils.java, EscapeBridge.java).
"""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.identity import Identity
from mqframe.core import properties as p
from mqframe.core.delay_rules import DelayRules
from mqframe.core.frame import Body
from mqframe.store.incoming import Incoming, Stored, StoredBatch
from mqframe.store.message_store import MessageStore


class Inlet:
    """Stores messages outside of a send. `stored`: told after each, so that queues and index follow soon."""

    __slots__ = ("_delays", "_identity", "_store", "_stored")

    def __init__(
        self, store: MessageStore, delays: DelayRules, identity: Identity, stored: Callable[[], None]
    ) -> None:
        self._store = store
        self._delays = delays
        self._identity = identity
        self._stored = stored

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
        `MessageStore.when_confirmed`. Raises `Refusal`: 13 for a message that is too large or illegally
        delayed, 14 when the store takes nothing.
        """
        if heed_delay:
            topic, queue_id = self._delays.place(topic, queue_id, properties)
        host = self._identity.store_host
        stored = self._store.put(
            Incoming(
                topic,
                queue_id,
                body,
                p.encode_properties(properties),
                born_timestamp,
                host if born_host is None else born_host,
                host,
                flag,
                sys_flag,
                reconsume_times,
                prepared_transaction_offset,
            )
        )
        self._stored()
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
        """Store the messages of `batch` (mqframe.core.batch) in one queue, one behind the other.

        `added_properties`, in text form, go behind those of each message. Raises as `put`, and `BodyError`
        for a malformed batch; nothing is stored then.
        """
        head = Incoming(
            topic,
            queue_id,
            b"",
            "",
            born_timestamp,
            born_host,
            self._identity.store_host,
            sys_flag=sys_flag,
            prepared_transaction_offset=prepared_transaction_offset,
        )
        stored = self._store.put_batch(head, memoryview(batch), added_properties)
        self._stored()
        return stored

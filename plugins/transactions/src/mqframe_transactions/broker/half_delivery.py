"""Storing what committed halves stand for: one message, or all messages of a batch."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.stored import Stored
from mqframe.hooks.interfaces import MessageWriter
from mqframe_transactions.rules.half_batch import (
    OP_RECORD_BYTES_MAX,
    added_properties,
    batch_from,
    stored_bytes,
)
from mqframe_transactions.rules.half_rules import final_properties, real_place


class Delivered(NamedTuple):
    """What a commit stored for `topic`: how many messages, their bytes, and the log offset behind them."""

    topic: str
    messages: int
    size: int
    end: int


def committed_flag(half: ReceivedMessage) -> int:
    """The flag of the system of what `half` becomes when it is committed."""
    return half.sys_flag & ~SysFlag.TRANSACTION_MASK | SysFlag.TRANSACTION_COMMIT


class HalfDelivery:
    """Stores messages of halves."""

    def __init__(self, writer: MessageWriter) -> None:
        self._writer = writer

    def deliver(self, half: ReceivedMessage, done: int = 0) -> Delivered:
        """Store the messages of `half`, all or none, but for the first `done`, which are stored already.

        There is room for the op message behind them then, so that nothing comes between. A delay that a
        single message carries begins now. Raises `Refusal` when they cannot be stored.
        """
        topic, queue_id = real_place(half.properties) or ("", 0)
        sys_flag = committed_flag(half)
        if p.HALF_BATCH in half.properties:
            return self._deliver_batch(half, done, topic, queue_id, sys_flag)
        if done:
            return Delivered(topic, 0, 0, 0)
        self._writer.make_room(half.store_size + OP_RECORD_BYTES_MAX)
        stored = self.put(topic, queue_id, half, final_properties(half), sys_flag, half.commit_log_offset)
        return Delivered(topic, 1, stored.size, stored.end_offset)

    def put(
        self,
        topic: str,
        queue_id: int,
        half: ReceivedMessage,
        properties: dict[str, str],
        sys_flag: int,
        prepared_offset: int = 0,
    ) -> Stored:
        """Store `half` itself with other properties. Raises `Refusal`."""
        return self._writer.put(
            topic,
            queue_id,
            half.stored_body,
            properties,
            born_timestamp=half.born_timestamp,
            born_host=encode_host(half.born_host),
            flag=half.flag,
            sys_flag=sys_flag,
            reconsume_times=half.reconsume_times,
            prepared_transaction_offset=prepared_offset,
            heed_delay=bool(sys_flag & SysFlag.TRANSACTION_COMMIT),
        )

    def _deliver_batch(
        self, half: ReceivedMessage, done: int, topic: str, queue_id: int, sys_flag: int
    ) -> Delivered:
        try:
            batch = batch_from(half.stored_body, done) if done else half.stored_body
            if not batch:
                return Delivered(topic, 0, 0, 0)
            added = added_properties(half.properties)
            count = int(half.properties[p.HALF_BATCH]) - done
            self._writer.make_room(stored_bytes(batch, count, topic, len(added)))
            stored = self._writer.put_batch(
                topic,
                queue_id,
                batch,
                added,
                born_timestamp=half.born_timestamp,
                born_host=encode_host(half.born_host),
                sys_flag=sys_flag,
                prepared_transaction_offset=half.commit_log_offset,
            )
        except (BodyError, ValueError, KeyError) as problem:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"the batch of half {half.message_id} cannot be read: {problem}"
            ) from None
        return Delivered(topic, len(stored.offsets), stored.end_offset - stored.offsets[0], stored.end_offset)

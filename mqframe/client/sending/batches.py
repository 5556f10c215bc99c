"""What travels in one send request: one message, or several for one queue."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.client.settings import ProducerSettings
from mqframe.core.errors import MessageError
from mqframe.core.messages.checks import too_long
from mqframe.core.messages.compression import Compression, compress
from mqframe.core.messages.ids import UniqueIds, spell_ids
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.requests.messages import SendBatchMessage, SendFieldsV2, SendMessageV2
from mqframe.core.requests.replies import SendReplyMessageV2
from mqframe.core.sending.encoding import (
    BATCH_PROPERTIES,
    decode_elements,
    encode_elements,
    message_properties,
)
from mqframe.core.sending.request_reply import ReplyMessage
from mqframe.hooks.client_parts import part_or
from mqframe.hooks.interfaces import SendOperation


class SendBatch:
    """Messages ready to go; the same for every try.

    `ids`: their unique keys, which retries keep; `kind`: the request that carries them; `operations`: what
    hooks prepared, one for all messages or one for each that was submitted; none where nobody prepares;
    `timed`: to be delivered at a given time, of which only some brokers know.
    """

    __slots__ = ("body", "ids", "kind", "messages", "operations", "packed", "properties", "sys_flag", "timed")

    def __init__(
        self,
        messages: Sequence[Message],
        ids: list[str],
        body: bytes,
        properties: str,
        sys_flag: int,
        packed: bool,
    ) -> None:
        self.messages = messages
        self.ids = ids
        self.body = body
        self.properties = properties
        self.sys_flag = sys_flag
        self.packed = packed
        self.timed = False
        self.operations: Sequence[SendOperation] = ()
        self.kind: type[SendFieldsV2] = SendBatchMessage if packed else SendMessageV2

    @property
    def message_id(self) -> str:
        """What a send result calls it."""
        return self.ids[0] if len(self.ids) == 1 else ",".join(self.ids)


class Encoder:
    """Makes batches and their request headers for one producer group."""

    def __init__(
        self,
        group: str,
        ids: UniqueIds,
        settings: ProducerSettings,
        compression: Compression,
        unit_mode: bool = False,
    ) -> None:
        self.group = group
        self._unit_mode = unit_mode
        self._ids = ids
        self._default_topic = settings.default_topic
        self._default_topic_queues = settings.default_topic_queues
        self._body_bytes_max = settings.body_bytes_max
        self.compress_over_bytes = settings.compress_over_bytes
        self._compression = compression
        self._compression_level = settings.compression_level
        self._encode = part_or("elements", encode_elements)
        self._spell = part_or("unique_ids", spell_ids)

    def take_ids(self, count: int) -> list[str]:
        """`count` unique keys."""
        return self._ids.take(count, self._spell)

    def one(self, message: Message, unique_id: str | None = None) -> SendBatch:
        """One message alone; its body is packed when it is large. Raises `MessageError`, too, when it is
        larger than `body_bytes_max` even so."""
        unique_id = unique_id or self._ids.next()
        body, sys_flag = message.body, 0
        if len(body) >= self.compress_over_bytes:
            packed, packed_flag = compress(body, self._compression, self._compression_level)
            if len(packed) < len(body):  # a body of chance would grow, and perhaps over what a broker takes
                body, sys_flag = packed, packed_flag
            if len(body) > self._body_bytes_max:
                raise too_long(message, self._body_bytes_max, len(packed))
        batch = SendBatch(
            (message,), [unique_id], body, message_properties(message, unique_id), sys_flag, False
        )
        if message.__class__ is ReplyMessage:
            batch.kind = SendReplyMessageV2
        return batch

    def batch(self, messages: Sequence[Message], ids: list[str] | None = None) -> SendBatch:
        """Several messages, all of one topic, in one request; never compressed. Raises `MessageError`."""
        if ids is None:
            ids = self.take_ids(len(messages))
        body = self._encode(messages, ids)
        self._check_size(body, f"{len(messages)} messages")
        return SendBatch(messages, ids, body, BATCH_PROPERTIES[messages[0].wait_store_ok], 0, True)

    def encoded(self, topic: str, elements: bytes, *, looked_at: bool) -> SendBatch:
        """The body of a batch request as it is; its messages are decoded only if they are `looked_at`.

        Raises `MessageError` when it is empty or too large, `BodyError` for a bad one that is looked at.
        """
        if not isinstance(elements, bytes | bytearray | memoryview):
            raise MessageError(f"the messages are {type(elements).__name__}, not bytes; encode them")
        if not elements:
            raise MessageError(f"a batch to {topic} needs at least one message")
        self._check_size(elements, "the messages")
        messages, ids = decode_elements(topic, elements) if looked_at else ([Message(topic, b"")], [""])
        return SendBatch(messages, ids, elements, BATCH_PROPERTIES[True], 0, True)

    def _check_size(self, body: bytes, what: str) -> None:
        if len(body) > self._body_bytes_max:
            raise MessageError(
                f"{what} make a batch of {len(body)} bytes, {self._body_bytes_max} may be "
                "(producer.body_bytes_max); send them in several batches"
            )

    def header(self, batch: SendBatch, queue: MessageQueue, born_timestamp: int) -> SendFieldsV2:
        """The header of a try to `queue`."""
        return batch.kind(
            self.group, queue.topic, self._default_topic, self._default_topic_queues, queue.queue_id,
            batch.sys_flag, born_timestamp, 0 if batch.packed else batch.messages[0].flag,
            batch.properties, 0, self._unit_mode, None, batch.packed, queue.broker_name,
        )  # fmt: skip

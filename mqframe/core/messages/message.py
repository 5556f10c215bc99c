"""Messages as applications see them, and where they lie."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar, overload
from zlib import crc32

import msgspec

from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyUnreadable, FixError
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import decode_host
from mqframe.core.messages.codec import Codec
from mqframe.core.messages.compression import UNPACKED_BYTES_MAX, decompress
from mqframe.core.messages.ids import offset_id
from mqframe.core.messages.json_codec import JSON
from mqframe.core.messages.typed import decoded, encoded

V = TypeVar("V")

BODY_BYTES_MAX: Final = 4 * 1024 * 1024


class MessageQueue(NamedTuple):
    """One queue of a topic on one broker. Sorts as the Java client sorts: topic, broker, queue id."""

    topic: str
    broker_name: str
    queue_id: int


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message to send. Unchanged once made; `msgspec.structs.replace` makes a changed copy.

    `topic`: where it goes; `body`: bytes, not empty, 4 MiB at most by default; `tag`: second-level filter;
    `keys`: business ids that the message can be found by, without spaces; `properties`: names and values of
    the application's own; `flag`: a 32-bit number that brokers hand on; `wait_store_ok`: wait for flush and
    replica where the broker is configured so.
    """

    topic: str
    body: bytes
    tag: str | None = None
    keys: Sequence[str] = ()
    properties: Mapping[str, str] = {}
    flag: int = 0
    wait_store_ok: bool = True

    @classmethod
    def of(
        cls,
        topic: str,
        value: object,
        *,
        codec: Codec = JSON,
        tag: str | None = None,
        keys: Sequence[str] = (),
        properties: Mapping[str, str] = {},
    ) -> Message:
        """A message whose body is `value`, encoded by `codec`: an object of `mqframe.hooks.interfaces.Codec`.

        Properties say the content type, and the schema where the codec names one, unless `properties` do.
        `producer.message` does the same by the codec that its producer was made with. Raises `EncodeError`.
        """
        body, said = encoded(codec, value, properties)
        return cls(topic, body, tag, keys, said)

    def __repr__(self) -> str:
        # It gets into logs by way of others' errors: what an application sends does not.
        return f"<Message {self.topic} {len(self.body)} bytes>"


def with_properties(message: Message, properties: Mapping[str, str]) -> Message:
    """A copy of `message` that has `properties`, too; of a name that it has, the new value counts."""
    return msgspec.structs.replace(message, properties={**message.properties, **properties})


class SendStatus(Enum):
    """How far a stored message had got when the broker answered. All four mean that it is stored."""

    SEND_OK = 0
    FLUSH_DISK_TIMEOUT = 10
    FLUSH_SLAVE_TIMEOUT = 12
    SLAVE_NOT_AVAILABLE = 11


class SendResult(msgspec.Struct, frozen=True, gc=False):
    """A broker's answer to a send.

    `message_id`: the unique key (comma-joined for a batch); `offset_message_id`: the broker's id, which holds
    its address and the commit-log offset; `queue_offset`: of the first message of a batch. `batch_places`:
    "0:17,2:5", queue id and offset of each message of a batch of which some were there already; `None` where
    `queue` and `queue_offset` count on for all.
    """

    status: SendStatus
    message_id: str
    queue: MessageQueue
    queue_offset: int
    offset_message_id: str = ""
    transaction_id: str | None = None
    region_id: str = "DefaultRegion"
    trace_on: bool = True
    recall_handle: str | None = None
    batch_places: str | None = None


class ReceivedMessage(metaclass=ABCMeta):  # noqa: B024 - others may be registered
    """A stored message. Its properties are split, and its body unpacked, when somebody looks.

    Offsets are counts of records (`queue_offset`) or bytes (`commit_log_offset`); times are ms since 1970;
    `store_size` is the whole record in bytes; `unpacked_bytes_max`: what its body may unpack to at most;
    `checks_crc`: whether its body is held against `body_crc` yet, the CRC-32 of the stored body.
    `topic` is what the record says: of a retried message the consumer puts the original topic there before a
    listener sees it. Compiled code registers a class of its own here that has all that this one has.
    """

    __slots__ = (
        "_body", "_born_host", "_properties", "_raw_properties", "_store_host", "body_crc", "born_timestamp",
        "broker_name", "checks_crc", "commit_log_offset", "flag", "prepared_transaction_offset", "queue_id",
        "queue_offset", "reconsume_times", "store_size", "store_timestamp", "sys_flag", "topic",
        "unpacked_bytes_max",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        commit_log_offset: int,
        store_size: int,
        born_timestamp: int,
        store_timestamp: int,
        born_host: bytes,
        store_host: bytes,
        reconsume_times: int,
        sys_flag: int,
        flag: int,
        body_crc: int,
        prepared_transaction_offset: int,
        stored_body: bytes,
        raw_properties: bytes,
        broker_name: str = "",
    ) -> None:
        self.topic = topic
        self.broker_name = broker_name
        self.queue_id = queue_id
        self.queue_offset = queue_offset
        self.commit_log_offset = commit_log_offset
        self.store_size = store_size
        self.born_timestamp = born_timestamp
        self.store_timestamp = store_timestamp
        self._born_host = born_host
        self._store_host = store_host
        self.reconsume_times = reconsume_times
        self.sys_flag = sys_flag
        self.flag = flag
        self.body_crc = body_crc
        self.prepared_transaction_offset = prepared_transaction_offset
        self._body = stored_body
        self._raw_properties = raw_properties
        self._properties: dict[str, str] | None = None
        self.unpacked_bytes_max = UNPACKED_BYTES_MAX
        self.checks_crc = False

    @property
    def body(self) -> bytes:
        """The body as it was sent, decompressed to `unpacked_bytes_max` at most.

        Raises `BodyUnreadable` when it is not what was stored (where `checks_crc` is set), cannot be
        decompressed, or is larger.
        """
        stored = self._body  # read first: another thread may check, and unpack, at the same time
        if self.checks_crc:
            found = crc32(stored) & 0x7FFFFFFF
            if found != self.body_crc:
                raise BodyUnreadable(
                    f"body of {len(stored)} bytes was changed since it was stored: its CRC is {found:#010x},"
                    f" and the record says {self.body_crc:#010x}; to read it nevertheless, set"
                    " client.check_body_crc = false"
                )
            self.checks_crc = False
        if self.sys_flag & SysFlag.COMPRESSED:
            self._body = decompress(self._body, self.sys_flag, self.unpacked_bytes_max)
            self.sys_flag &= ~SysFlag.COMPRESSED
        return self._body

    @overload
    def decode(self, type: type[V], codec: Codec = JSON) -> V: ...
    @overload
    def decode(self, type: Any, codec: Codec = JSON) -> Any: ...
    def decode(self, type: Any, codec: Codec = JSON) -> Any:
        """The value in the body, a `type`; `codec`: what it was encoded by, an object.

        Raises `DecodeError` that says where the message lies and what is wrong with its body, and as `body`.
        """
        return decoded(self, type, codec)

    @property
    def stored_body(self) -> bytes:
        """The body as it is held at the moment, perhaps compressed (`sys_flag` tells)."""
        return self._body

    @property
    def raw_properties(self) -> str:
        """The properties in their text form."""
        return self._raw_properties.decode("utf-8", "replace")

    def may_have(self, name: bytes) -> bool:
        """Whether `name` stands anywhere in the text of the properties, which is quicker than to split it."""
        return name in self._raw_properties

    @property
    def properties(self) -> dict[str, str]:
        """All properties by name, those of the system included."""
        if self._properties is None:
            self._properties = p.decode_properties(self.raw_properties)
        return self._properties

    @property
    def queue(self) -> MessageQueue:
        """The queue that it was read from."""
        return MessageQueue(self.topic, self.broker_name, self.queue_id)

    @property
    def tag(self) -> str | None:
        """The tag, or `None`."""
        return self.properties.get(p.TAGS)

    @property
    def keys(self) -> list[str]:
        """The keys, in the order in which they were set."""
        return self.properties.get(p.KEYS, "").split()

    @property
    def message_id(self) -> str:
        """The unique key that the sender gave; the offset id where it gave none.

        All copies of a message have the same key: it is what an idempotent consumer remembers.
        """
        return self.properties.get(p.UNIQUE_KEY) or self.offset_message_id

    @property
    def origin_message_id(self) -> str:
        """The broker's id of the first copy; of a message that never came back its own."""
        return self.properties.get(p.ORIGIN_MESSAGE_ID) or self.offset_message_id

    @property
    def transaction_id(self) -> str:
        """The name of the transaction that it belongs to: its unique key."""
        return self.properties.get(p.TRANSACTION_ID) or self.message_id

    @property
    def offset_message_id(self) -> str:
        """The broker's id: its address and the commit-log offset."""
        return offset_id(self._store_host, self.commit_log_offset)

    @property
    def born_host(self) -> str:
        """Address of the sender, "ip:port"."""
        return decode_host(self._born_host)

    @property
    def store_host(self) -> str:
        """Address of the broker that stored it, "ip:port"."""
        return decode_host(self._store_host)

    def __repr__(self) -> str:
        return (
            f"<ReceivedMessage {self.topic}/{self.queue_id}@{self.queue_offset} id={self.message_id}"
            f" {self.store_size} bytes>"
        )


def unreadable(messages: Iterable[ReceivedMessage]) -> dict[ReceivedMessage, str]:
    """Those of `messages` whose body cannot be read, each with the reason. The others' are unpacked."""
    found = {}
    for message in messages:
        try:
            message.body  # noqa: B018
        except BodyUnreadable as problem:
            found[message] = str(problem)
        except FixError:
            pass  # a package is missing here: others may read it
    return found

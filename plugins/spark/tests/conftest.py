"""Messages without a broker."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mqframe_pull.puller.raw_pull import RawPull

from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.codes import SysFlag
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import ConnectError, FixError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.storage.record import decode_record, encode_record

HOST = encode_host("127.0.0.1:10911")
TIME_MS = 1_700_000_000_000


def make_message(
    offset: int, *, topic: str = "t", queue_id: int = 0, position: int = 0, **change: Any
) -> Any:
    """A stored message as a pull gives it; `change`: fields of the record, `packed`: compress the body."""
    return decode_record(
        make_record(offset, topic=topic, queue_id=queue_id, position=position, **change), broker_name="a"
    )


def make_record(
    offset: int, *, topic: str = "t", queue_id: int = 0, position: int = 0, **change: Any
) -> bytes:
    """The bytes of a stored message."""
    packed = change.pop("packed", False)
    fields = {
        "topic": topic,
        "queue_id": queue_id,
        "queue_offset": offset,
        "physical_offset": position,
        "body": b"body %d" % offset,
        "properties": f"TAGS\x01tag{offset % 3}\x02KEYS\x01k{offset} all\x02n\x01{offset}\x02".encode(),
        "born_timestamp": TIME_MS + offset,
        "born_host": HOST,
        "store_timestamp": TIME_MS + 1000 + offset,
        "store_host": HOST,
        **change,
    }
    if packed:
        fields["body"] = zlib.compress(fields["body"])
        fields["sys_flag"] = SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZLIB
    return encode_record(**fields)


@pytest.fixture
def message() -> Callable[..., ReceivedMessage]:
    """Makes stored messages."""
    return make_message


@pytest.fixture
def record() -> Callable[..., bytes]:
    """Makes the bytes of stored messages."""
    return make_record


class ScriptedWire:
    """A cluster in memory: queues with messages from `begin` on. `faults` are raised by the next calls."""

    def __init__(self, topic: str = "t") -> None:
        self.topic = topic
        self.messages: dict[MessageQueue, list[bytes]] = {}
        self.begin: dict[MessageQueue, int] = {}
        self.masterless: set[str] = set()
        self.unreachable: set[str] = set()
        self.faults: list[Exception] = []
        self.calls: list[str] = []
        self.per_pull = 3
        self.asked: list[list[tuple[int, int]]] = []
        self.progress: dict[tuple[str, MessageQueue], int] = {}
        self.made: set[str] = set()
        self.closed = False
        self.deleted: set[str] = set()

    def add(self, queue_id: int, count: int, broker: str = "a", begin: int = 0) -> MessageQueue:
        """A queue that holds `count` messages, the first at offset `begin`."""
        queue = MessageQueue(self.topic, broker, queue_id)
        self.begin[queue] = begin
        self.messages[queue] = [
            make_record(begin + i, topic=self.topic, queue_id=queue_id, position=1000 * i)
            for i in range(count)
        ]
        return queue

    def route(self, topic: str) -> TopicRoute:
        self._call("route", "")
        if topic in self.deleted:
            raise FixError(f"option topic = {topic!r}: the name server knows no such topic")
        brokers = sorted({queue.broker_name for queue in self.messages})
        data = TopicRouteData(
            [BrokerData(name, {1 if name in self.masterless else 0: f"{name}:1"}) for name in brokers],
            queue_datas=[
                QueueData(name, 6, count, count)
                for name in brokers
                for count in [sum(queue.broker_name == name for queue in self.messages)]
            ],
        )
        return TopicRoute(topic, data)

    def min_offset(self, queue: MessageQueue) -> int:
        self._call("min", queue.broker_name)
        return self.begin[queue]

    def max_offset(self, queue: MessageQueue) -> int:
        self._call("max", queue.broker_name)
        return self.begin[queue] + len(self.messages[queue])

    def topics(self) -> list[str]:
        self._call("topics", "")
        return sorted({queue.topic for queue in self.messages})

    def offset_at(self, queue: MessageQueue, timestamp_ms: int) -> int:
        self._call("at", queue.broker_name)
        return timestamp_ms

    def group_offset(self, group: str, queue: MessageQueue) -> int | None:
        self._call("group", queue.broker_name)
        return self.progress.get((group, queue))

    def groups_of(self, topic: str) -> list[str]:
        return sorted({group for group, queue in self.progress if queue.topic == topic})

    def groups(self) -> list[str]:
        return sorted(self.made | {group for group, _ in self.progress})

    def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        self._call("commit", queue.broker_name)
        self.progress[group, queue] = offset

    def pull(self, queue: MessageQueue, asked: list[tuple[int, int]], expression: object) -> list[RawPull]:
        self._call("pull", queue.broker_name)
        self.asked.append(asked)
        return [self._answer(queue, offset, most) for offset, most in asked]

    def _answer(self, queue: MessageQueue, offset: int, most: int) -> RawPull:
        low, high = self.begin[queue], self.begin[queue] + len(self.messages[queue])
        if not low <= offset <= high:
            return RawPull(PullStatus.OFFSET_ILLEGAL, b"", low if offset < low else high, low, high)
        found = self.messages[queue][offset - low :][: min(self.per_pull, most)]
        status = PullStatus.FOUND if found else PullStatus.NO_NEW_MSG
        return RawPull(status, b"".join(found), offset + len(found), low, high)

    def close(self) -> None:
        self.closed = True

    def _call(self, name: str, broker: str) -> None:
        self.calls.append(name)
        if self.faults:
            raise self.faults.pop(0)
        if broker in self.unreachable:
            raise ConnectError(f"{broker}: refused")


@pytest.fixture
def wire() -> ScriptedWire:
    """An empty cluster."""
    return ScriptedWire()


class StoreBuilder:
    """Writes the files of a store as a broker does, with small files: 4 KiB of log, 10 entries of a queue."""

    LOG_BYTES = 4096
    ENTRIES = 10

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.end = 0
        self.next: dict[tuple[str, int], int] = {}
        (folder / "commitlog").mkdir(parents=True)

    def add(self, topic: str = "t", queue_id: int = 0, tag: str = "a", **change: Any) -> int:
        """Store a message; gives its queue offset."""
        offset = self.next.get((topic, queue_id), 0)
        base = self.end - self.end % self.LOG_BYTES
        for _ in range(2):
            fields: dict[str, Any] = {
                "topic": topic,
                "queue_id": queue_id,
                "queue_offset": offset,
                "physical_offset": self.end,
                "body": b"body %d" % offset,
                "properties": f"TAGS\x01{tag}\x02n\x01{offset}\x02".encode(),
                "born_timestamp": TIME_MS + offset,
                "born_host": HOST,
                "store_timestamp": TIME_MS + 1000 * offset,
                "store_host": HOST,
                **change,
            }
            record = encode_record(**fields)
            if self.end + len(record) + 8 <= base + self.LOG_BYTES:
                break
            self._write("commitlog", base, self.LOG_BYTES, self.end, struct.pack(">ii", 0, -875286124))
            base = self.end = base + self.LOG_BYTES
        self._write("commitlog", base, self.LOG_BYTES, self.end, record)
        entry = struct.pack(">qiq", self.end, len(record), java_hash(tag))
        size = self.ENTRIES * 20
        start = offset * 20
        self._write(f"consumequeue/{topic}/{queue_id}", start - start % size, size, start, entry)
        self.end += len(record)
        self.next[topic, queue_id] = offset + 1
        return offset

    def _write(self, folder: str, base: int, size: int, at: int, content: bytes) -> None:
        path = self.folder / folder / f"{base:020d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.truncate(size)
            file.seek(at - base)
            file.write(content)


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    """An empty store."""
    return StoreBuilder(tmp_path / "store")

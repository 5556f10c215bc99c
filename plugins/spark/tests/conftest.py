"""Messages without a broker, and one Spark for all tests that need it."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from mqframe.core.bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.codes import SysFlag
from mqframe.core.errors import ConnectError
from mqframe.core.host import encode_host
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.pull import PullResult, PullStatus
from mqframe.core.record import decode_record, encode_record
from mqframe.core.route import TopicRoute

HOST = encode_host("127.0.0.1:10911")
TIME_MS = 1_700_000_000_000


def make_message(
    offset: int, *, topic: str = "t", queue_id: int = 0, position: int = 0, **change: Any
) -> Any:
    """A stored message as a pull gives it; `change`: fields of the record, `packed`: compress the body."""
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
    return decode_record(encode_record(**fields), broker_name="a")


@pytest.fixture
def message() -> Callable[..., ReceivedMessage]:
    """Makes stored messages."""
    return make_message


class ScriptedWire:
    """A cluster in memory: queues with messages from `begin` on. `faults` are raised by the next calls."""

    def __init__(self, topic: str = "t") -> None:
        self.topic = topic
        self.messages: dict[MessageQueue, list[ReceivedMessage]] = {}
        self.begin: dict[MessageQueue, int] = {}
        self.masterless: set[str] = set()
        self.unreachable: set[str] = set()
        self.faults: list[Exception] = []
        self.calls: list[str] = []
        self.per_pull = 3
        self.closed = False

    def add(self, queue_id: int, count: int, broker: str = "a", begin: int = 0) -> MessageQueue:
        """A queue that holds `count` messages, the first at offset `begin`."""
        queue = MessageQueue(self.topic, broker, queue_id)
        self.begin[queue] = begin
        self.messages[queue] = [
            make_message(begin + i, topic=self.topic, queue_id=queue_id) for i in range(count)
        ]
        return queue

    def route(self, topic: str) -> TopicRoute:
        self._call("route", "")
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

    def pull(self, queue: MessageQueue, offset: int) -> PullResult:
        self._call("pull", queue.broker_name)
        low, high = self.begin[queue], self.begin[queue] + len(self.messages[queue])
        if not low <= offset <= high:
            return PullResult(PullStatus.OFFSET_ILLEGAL, (), low, low, high)
        found: Sequence[ReceivedMessage] = self.messages[queue][offset - low :][: self.per_pull]
        status = PullStatus.FOUND if found else PullStatus.NO_NEW_MSG
        return PullResult(status, found, offset + len(found), low, high)

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


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One local Spark for the run: starting it takes seconds."""
    from mqframe_spark import local_session

    session = local_session(
        "tests",
        master="local[2]",
        log_level="OFF",
        **{
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    yield session
    session.stop()

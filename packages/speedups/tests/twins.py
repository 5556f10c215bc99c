"""A broker that stores sends by Python alone, and one that does so by the compiled code where it can."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mqframe_index.settings import IndexSettings
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.broker import Broker
from mqframe.broker.role_settings import Alone
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.names import HALF_TOPIC, SCHEDULE_TOPIC
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.wire.frame import Frame, HeaderForm, encode_frame
from mqframe.hooks.interfaces.broker_requests import ProxiedClient
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.access import Access
from mqframe.net.async_peer import AsyncPeer
from mqframe.net.latencies import Latencies
from mqframe.net.settings import NetSettings
from mqframe.store.settings import StoreSettings

PORT = 10_911
LOG_BYTES = 64 * 1024
ANY_PROPERTIES = {"UNIQ_KEY": "7F00000100072A", "TAGS": "a", "KEYS": "k1 k2", "WAIT": "true"}


def send(number: int, topic: str = "t", body: bytes = b"body", **fields: Any) -> bytes:
    """The frame of a send, as Java's clients write it. `fields`: others than these, also of the frame."""
    properties = fields.pop("properties", {**ANY_PROPERTIES, "UNIQ_KEY": f"7F0000010007{number:08X}"})
    text = properties if isinstance(properties, str) else p.encode_properties(properties)
    flag, form = fields.pop("flag", 0), fields.pop("form", HeaderForm.JSON)
    code = fields.pop("code", 310)
    ext = {
        "a": "producers", "b": topic, "c": "TBW102", "d": "4", "e": str(number % 2), "f": "0",
        "g": "1700000000123", "h": "0", "i": text, "j": "0", "k": "false", "m": "false", "n": "b",
        **fields,
    }  # fmt: skip
    return encode_frame(Frame(code, number, flag, None, ext, body, "JAVA", 479, form))


PREPARED = "4"
"""The flag with which Java's clients send halves."""


def half(number: int, topic: str = "t", **fields: Any) -> bytes:
    """The frame of a half. `fields`: as of `send`; `more`: further properties."""
    unique = {"UNIQ_KEY": f"7F0000010007{number:08X}", "TRAN_MSG": "true", "PGROUP": "producers"}
    return send(
        number,
        topic,
        **{"f": PREPARED, "properties": {**ANY_PROPERTIES, **unique, **fields.pop("more", {})}, **fields},
    )


def delayed(number: int, level: str = "3", topic: str = "t", **fields: Any) -> bytes:
    """The frame of a send with a delay level. `fields`: as of `send`; `more`: further properties."""
    unique = {"UNIQ_KEY": f"7F0000010007{number:08X}", "DELAY": level}
    return send(
        number, topic, **{"properties": {**ANY_PROPERTIES, **unique, **fields.pop("more", {})}, **fields}
    )


def pull(number: int, offset: int, queue_id: int = 0, topic: str = "t", **fields: Any) -> bytes:
    """The frame of a pull, as Java's clients write it. `fields`: others than these, also of the frame."""
    flag, form = fields.pop("flag", 0), fields.pop("form", HeaderForm.JSON)
    code, body = fields.pop("code", 11), fields.pop("body", b"")
    ext = {
        "bname": "b", "commitOffset": "0", "consumerGroup": "consumers", "expressionType": "TAG",
        "maxMsgBytes": "2147483647", "maxMsgNums": "32", "queueId": str(queue_id), "queueOffset": str(offset),
        "requestSource": "0", "subVersion": "7", "suspendTimeoutMillis": "15000", "sysFlag": "2",
        "topic": topic, **fields,
    }  # fmt: skip
    kept = {name: str(value) for name, value in ext.items() if value is not None}
    return encode_frame(Frame(code, number, flag, None, kept, body, "JAVA", 479, form))


def heartbeat(number: int, *tags: str, topics: Sequence[str] = ("t", "other"), **fields: Any) -> bytes:
    """The frame of a member's heartbeat, which subscribes to messages with these tags, or to all."""
    subscribed = [
        {
            "topic": topic, "subString": " || ".join(tags) or "*", "tagsSet": list(tags),
            "codeSet": [java_hash(tag) for tag in tags], "subVersion": 7, "expressionType": "TAG",
            "classFilterMode": False, **fields,
        }
        for topic in topics
    ]  # fmt: skip
    member = {
        "groupName": "consumers", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "unitMode": False, "subscriptionDataSet": subscribed,
    }  # fmt: skip
    body = {"clientID": "c@1", "producerDataSet": [], "consumerDataSet": [member]}
    return encode_frame(Frame(34, number, 0, None, {}, json.dumps(body).encode(), "JAVA", 479))


def element(number: int, text: str | None = None, body: bytes = b"body") -> bytes:
    """One message of a batch, with keys and a tag of its own unless `text` says what it has."""
    if text is None:
        pairs = {**ANY_PROPERTIES, "UNIQ_KEY": f"7F0000010008{number:08X}", "KEYS": f"k{number % 7} all"}
        text = p.encode_properties(pairs | {"TAGS": "ab"[number % 2]})
    return encode_element(body, text.encode(), number)


def batch(number: int, elements: Sequence[bytes] | int = 3, **fields: Any) -> bytes:
    """The frame of a batch, of so many usual ones or of `elements`. `fields`: as of `send`."""
    if isinstance(elements, int):
        elements = [element(1000 * number + n) for n in range(elements)]
    usual = {"body": b"".join(elements), "properties": "WAIT\x01true\x02", "code": 320, "m": "true"}
    return send(number, **usual | fields)


class Found(NamedTuple):
    """What became of requests: in files, answers and numbers.

    `native`, `given`: how many messages the compiled code stored, and gave to consumers.
    """

    answers: bytes
    replies: list[tuple[int, str | None, dict[str, str] | None]]
    log: bytes
    queues: dict[str, bytes]
    index: dict[str, bytes]
    counts: dict[str, Any]
    native: int
    given: int


class Wire:
    """Stands for the transport of a connection: remembers what is written."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.written = b""

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self.address if name == "peername" else default

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, **limits: int) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        pass

    abort = close


class Asking(NamedTuple):
    """A send of a client that is in the process of its broker."""

    fields: SendMessageV2
    body: bytes = b"body"


def service_of(broker: Broker) -> Any:
    """The service of a broker that brings the compiled code; `None` where it is left out."""
    return next((part for part in broker._parts if type(part).__name__ == "SpeedupsService"), None)


def end(number: int, at: int, outcome: int = 8, **fields: Any) -> Callable[[Scene], bytes]:
    """The frame of an end of the half at queue offset `at`. `fields`: others than these."""
    flag = fields.pop("flag", 0)

    def made(scene: Scene) -> bytes:
        found = scene.broker.store.reads.entries(HALF_TOPIC, 0, at, 1)
        ext = {
            "producerGroup": "producers", "tranStateTableOffset": str(at), "commitOrRollback": str(outcome),
            "commitLogOffset": str(found[0][0] if found else 0), "msgId": "id", "transactionId": "id",
            "fromTransactionCheck": "false", **fields,
        }  # fmt: skip
        return encode_frame(Frame(37, number, flag, None, ext, b"", "JAVA", 479))

    return made


class Scene(NamedTuple):
    """A broker that nobody reaches but one connection, in the same process."""

    broker: Broker
    clock: ManualClock
    peer: AsyncPeer
    wire: Wire
    latencies: Latencies

    async def settle(self) -> None:
        """Wait for what answers wait for, where a topic was made or the disk counts."""
        await self.broker.service_port.save_tables()
        if not self.broker.store.confirming.confirms_at_once:
            assert await self.broker.store.confirming.flush_log()
        for _ in range(5):
            await asyncio.sleep(0)


@asynccontextmanager
async def opened(
    directory: Path, address: tuple[str, int] = ("10.1.2.3", 4567), **sections: Any
) -> AsyncIterator[Scene]:
    """A broker with some topics, and a connection from `address`.

    `access`: who may use it, as `plugins` say. `brings`: where its services come from.
    """
    clock = ManualClock()
    random.seed(7)  # ids of messages that bring none, queues of the broker's choice
    store = {"commit_log_file_bytes": LOG_BYTES, "queue_file_bytes": 2000, "disk_limits": False}
    broker = Broker(
        BrokerSections(
            BrokerSettings(name="b", port=0, nameservers=(), vip_port=False, **sections.get("broker", {})),
            StoreSettings(directory=directory, **{**store, **sections.get("store", {})}),
            net=NetSettings(**sections.get("net", {})),
            replication=sections.get("replication", Alone()),
            services=(IndexSettings(slots=501, entries=400),),
        ),
        clock,
        plugins=sections.get("brings"),
    )
    for topic, queues in (("t", 2), ("other", 4), ("third", 2)):
        broker.service_port.topics.put(
            TopicConfig(topic_name=topic, read_queue_nums=queues, write_queue_nums=queues)
        )
    if access := sections.get("access"):
        broker.enforce(Access(access, clock, sections.get("plugins", PluginManager())))
    await broker.start()
    broker.service_port.identity.settle(PORT)
    server = broker._listeners._public
    peer, wire, latencies = AsyncPeer(server._group), Wire(address), server.measure()
    peer.connection_made(wire)  # type: ignore[arg-type]
    yield Scene(broker, clock, peer, wire, latencies)
    await broker.stop()


async def stored(
    directory: Path,
    reads: Sequence[Read],
    address: tuple[str, int] = ("10.1.2.3", 4567),
    **sections: Any,
) -> Found:
    """What becomes of `reads` of one connection, and of what is asked in process, a second apart."""
    async with opened(directory, address, **sections) as scene:
        return await _found(scene, directory, reads)


async def _found(scene: Scene, directory: Path, reads: Sequence[Read]) -> Found:
    broker, clock, wire, latencies = scene.broker, scene.clock, scene.wire, scene.latencies
    address = wire.address
    guest = ProxiedClient()
    guest.address = "{}:{}".format(*(address if "." in address[0] else (f"[{address[0]}]", address[1])))
    inside, replies = broker.service_port.requests.connect(guest), []
    for read in reads:
        if isinstance(read, Asking):
            asked = asyncio.create_task(inside.ask(read.fields, read.body))
            await asyncio.sleep(0)
            await scene.settle()
            reply = await asked
            replies.append((int(reply.code), reply.remark, reply.fields()))
        else:
            scene.peer.data_received(read if isinstance(read, bytes) else read(scene))
            await scene.settle()
        clock.advance(1.0)
    statistics, log = broker.service_port.counts, broker.store.log
    counts: dict[str, Any] = {"put": statistics.put.total, "failed": statistics.put_times.failed}
    for topic in ("t", "other", "third", HALF_TOPIC, SCHEDULE_TOPIC):
        meter = statistics.topic(topic)
        types = {kind: (of.total, of.size_bytes, of.sizes) for kind, of in meter.types.items()}
        counts[topic] = meter.total, meter.times, meter.size.total, meter.sizes, types
    counts["puts by time"] = list(statistics.put_times._current.counts)
    counts["latencies"] = {labels: (value.counts, value.sum) for labels, value in latencies.family().series}
    raw = b"".join(
        bytes(file.view[: min(file.size, log.max_offset - file.base)])
        for file in broker.store.files.log.files
    )
    counts["gets"] = {
        key: (got.total, got.times, got.size.total, got.latency.total) for key, got in statistics.gets.items()
    }
    counts["found"] = statistics.get.total, statistics.found.total, statistics.missed.total
    table = broker.service_port.offsets
    counts["offsets"] = table._committed, table._pulled, table._resets, table.changes, table.entries
    service = service_of(broker)
    shown = {} if service is None else service.counters()
    native = [int(shown.get(f"speedups.{what}", 0)) for what in ("sends", "pulls")]
    return Found(
        wire.written, replies, raw,
        {f"{queue.topic}/{queue.queue_id}": queue.read(0, 10_000) for queue in broker.store.files.queues},
        {path.name: path.read_bytes() for path in sorted((directory / "index").iterdir())},
        counts, *native,
    )  # fmt: skip


Read = bytes | Asking | Callable[[Scene], bytes]
"""What comes in one read, is asked in process, or is made of what is stored by then."""
FIRST = [send(0), send(1), send(2, "other"), send(3, "third")]
"""The first message of a topic goes the longer way: it has its topic admitted."""


async def both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Sequence[Read], **sections: Any
) -> Found:
    """What the shorter way left, once that is all that the longer one leaves."""
    short = await stored(tmp_path / "short", reads, **sections)
    with monkeypatch.context() as patched:
        patched.setenv("MQFRAME_SPEEDUPS", "0")
        long = await stored(tmp_path / "long", reads, **sections)
    assert long.native == long.given == 0
    assert short._replace(native=0, given=0) == long
    return short

"""Requests that real clients sent to a real broker, sent again to this one: the answers must be alike."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from mqframe_admin.requests import InvokeBrokerToResetOffset, UpdateAndCreateSubscriptionGroup
from mqframe_testing.cluster import AsyncCluster
from recorded import FRAMES, Recorded

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData
from mqframe.core.codes import FLAG_RESPONSE, PullFlag, ResponseCode, SysFlag
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.requests.consumers import HeartBeat, UnregisterClient
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame, FrameDecoder
from mqframe.core.wire.loose_json import dumps, loads
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock

FOLDERS = sorted({frame.name.partition("/")[0] for frame in FRAMES} - {"json-broker-5.3.3"})
SERVED = {
    11,
    12,
    14,
    15,
    17,
    29,
    30,
    31,
    32,
    34,
    35,
    38,
    41,
    42,
    200,
    202,
    203,
    204,
    208,
    215,
    222,
    300,
    310,
    320,
    351,
}
SENDS = (10, 310, 320)
UNLIKE = {"msgId", "indexLastUpdatePhyoffset", "indexLastUpdateTimestamp", "timestamp", "queueOffset"}
"""Fields of answers whose values depend on what was stored before, and when."""


def test_every_recorded_dialect_is_there():
    assert FOLDERS == ["json-4.9.7", "json-5.3.3", "rocketmq-4.9.7", "rocketmq-5.3.3"]


@pytest.mark.parametrize("folder", FOLDERS)
async def test_answers_are_like_those_of_a_real_broker(folder):
    exchanges = _exchanges(folder)
    assert len(exchanges) > 30
    await _replay(exchanges)


def _exchanges(folder: str) -> list[tuple[Recorded, Recorded | None]]:
    """The recorded requests of a client to a broker that this broker serves, with their answers."""
    answers = {frame.name: frame for frame in FRAMES if frame.side == "response"}
    return [
        (frame, answers.get(frame.name))
        for frame in FRAMES
        if frame.side == "request"
        and frame.name.startswith(f"{folder}/")
        and frame.request_code in SERVED
        and not _needs_what_is_not_there(frame)
    ]


def _needs_what_is_not_there(frame: Recorded) -> bool:
    ext = frame.facts["extFields"] or {}
    properties = decode_properties(ext.get("i", "")) if frame.request_code == 310 else {}
    return "DELAY" in properties


async def _replay(exchanges: list[tuple[Recorded, Recorded | None]]) -> None:
    sends = [exchange for exchange in exchanges if exchange[0].request_code in SENDS]
    others = [exchange for exchange in exchanges if exchange[0].request_code not in SENDS]
    topic = sends[0][0].facts["extFields"]["b"]
    async with AsyncCluster(broker={"name": "broker-v"}) as cluster, Stage(cluster, topic) as stage:
        await stage.play(sends)
    # The recordings leave repeated sends out, so what pulls met is stored in another broker.
    async with AsyncCluster(broker={"name": "broker-v"}) as cluster, Stage(cluster, topic) as stage:
        await stage.store_recorded(exchanges)
        await stage.play(others)


class Stage:
    """The broker under test, brought into the state in which the recorded request met the real one."""

    def __init__(self, cluster: AsyncCluster, topic: str) -> None:
        self.topic = topic
        self.address = cluster.broker.address
        self.store = cluster.broker.store
        self.client = Client(SystemClock())
        self.wire: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self.numbers = itertools.count()
        self.subscribed: set[str] = set()

    async def __aenter__(self) -> Stage:
        request = UpdateAndCreateTopic(topic=self.topic, read_queue_nums=2, write_queue_nums=2, perm=6)
        await self.invoke(request)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for _, writer in self.wire.values():
            writer.close()
            await writer.wait_closed()
        await self.client.close()

    async def invoke(self, request: Any, body: bytes = b"") -> None:
        answer = await self.client.invoke(self.address, request, body)
        assert answer.code == 0, answer.remark

    async def play(self, exchanges: list[tuple[Recorded, Recorded | None]]) -> None:
        for request, answer in exchanges:
            await self.prepare_for(request, answer)
            got = await self.send(request.raw, wait=answer is not None)
            if answer is not None:
                assert got is not None
                _compare(request, _parse(answer.raw), got)

    async def store_recorded(self, exchanges: list[tuple[Recorded, Recorded | None]]) -> None:
        """Store the messages that recorded pulls of queue 0 gave out, at their offsets, and the batch."""
        for request, _ in exchanges:
            if request.request_code == 320:
                await self.send(request.raw, wait=True)
        recorded = {}
        for request, answer in exchanges:
            if request.request_code == 11 and answer and request.facts["extFields"]["queueId"] == "0":
                for message in decode_records(_parse(answer.raw).body):
                    if message.topic == self.topic:
                        recorded[message.queue_offset] = message
        for offset in range(min(max(recorded, default=0) + 1, 6)):
            message = recorded.get(offset)
            if message is None:
                await self.fill(0)
                continue
            raw = message.raw_properties
            properties = {
                name: value
                for name, value in decode_properties(raw if isinstance(raw, str) else raw.decode()).items()
                if name in ("KEYS", "TAGS", "UNIQ_KEY", "WAIT")
            }
            await self.put(0, message.stored_body, properties, message.sys_flag)

    async def put(self, queue_id: int, body: bytes, properties: dict[str, str], sys_flag: int = 0) -> None:
        text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
        request = SendMessageV2(
            producer_group="p",
            topic=self.topic,
            default_topic="TBW102",
            default_topic_queue_nums=4,
            queue_id=queue_id,
            sys_flag=sys_flag,
            born_timestamp=1,
            flag=0,
            properties=text,
        )
        await self.invoke(request, bytes(body))

    async def fill(self, queue_id: int) -> None:
        await self.put(queue_id, b"filler", {"UNIQ_KEY": f"{next(self.numbers):032X}"})

    async def prepare_for(self, request: Recorded, answer: Recorded | None) -> None:
        ext = request.facts["extFields"] or {}
        if request.request_code == 11 and answer is not None:
            await self.prepare_pull(ext, _parse(answer.raw))
        if request.request_code in (203, 204):
            await self.join(ext.get("consumerGroup", "x"), self.topic, 1, ext.get("producerGroup"))
        if request.request_code in (15, 208, 222):
            group = ext.get("consumerGroup") or ext["group"]
            body = dumps({"groupName": group})
            await self.invoke(UpdateAndCreateSubscriptionGroup(), body)
        if request.request_code == 208:
            await self.join(ext["consumerGroup"], self.topic, 1)
        if request.request_code == 300:
            await self.join("who", ext["topic"], 1)
        if request.request_code == 38 and answer is not None:
            group = ext["consumerGroup"]
            if _parse(answer.raw).code == 0:
                await self.join(group, self.topic, 1)
            else:
                await self.invoke(UnregisterClient(client_id="stage", consumer_group=group))
        if request.request_code == 14 and answer is not None and _parse(answer.raw).code == 0:
            while self.store.queues.max_offset(ext["topic"], int(ext["queueId"])) == 0:
                await self.fill(int(ext["queueId"]))

    async def prepare_pull(self, ext: dict[str, str], expected: Frame) -> None:
        group, topic, queue_id = ext["consumerGroup"], ext["topic"], int(ext["queueId"])
        if topic.startswith("%RETRY%"):
            request = UpdateAndCreateTopic(topic=topic, read_queue_nums=1, write_queue_nums=1, perm=6)
            await self.invoke(request)
        if expected.ext and "maxOffset" in expected.ext:
            while self.store.queues.max_offset(topic, queue_id) < int(expected.ext["maxOffset"]):
                await self.fill(queue_id)
        if not int(ext["sysFlag"]) & PullFlag.SUBSCRIPTION:
            if expected.code == ResponseCode.SUBSCRIPTION_NOT_LATEST:
                await self.join(group, topic, 1)
            elif expected.code != ResponseCode.SUBSCRIPTION_NOT_EXIST:
                wanted = "none" if expected.code == ResponseCode.PULL_RETRY_IMMEDIATELY else "*"
                await self.join(group, topic, int(ext["subVersion"]), expression=wanted)
        if expected.code == ResponseCode.PULL_RETRY_IMMEDIATELY:
            await self.take_reset(group, topic, queue_id)
        if expected.remark == "OFFSET_RESET":
            await self.invoke(UpdateAndCreateSubscriptionGroup(), dumps({"groupName": group}))
            reset = InvokeBrokerToResetOffset(
                topic=topic, group=group, timestamp=0, is_force=True, queue_id=queue_id, offset=0
            )
            await self.invoke(reset)

    async def take_reset(self, group: str, topic: str, queue_id: int) -> None:
        """Pull once: a reset that an earlier recorded request left is done with then."""
        request = PullMessage(
            consumer_group=group,
            topic=topic,
            queue_id=queue_id,
            queue_offset=0,
            max_msg_nums=1,
            sys_flag=PullFlag.SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            sub_version=0,
            subscription="*",
        )
        await self.client.invoke(self.address, request)

    async def join(
        self, group: str, topic: str, version: int, producer: str | None = None, expression: str = "*"
    ) -> None:
        """Let a member of `group` say that it subscribes to `topic`."""
        subscription = SubscriptionData(topic=topic, sub_string=expression, sub_version=version)
        if expression != "*":
            subscription.tags_set, subscription.code_set = [expression], [3387192]
        beat = dumps(
            HeartbeatData(
                client_id="stage",
                consumer_data_set=[ConsumerData(group_name=group, subscription_data_set=[subscription])],
                producer_data_set=[{"groupName": producer}] if producer else [],  # type: ignore[list-item]
            )
        )
        await self.invoke(HeartBeat(), beat)

    async def send(self, raw: bytes, *, wait: bool) -> Frame | None:
        """Send the bytes of a recorded request as they are."""
        if "" not in self.wire:
            host, _, port = self.address.rpartition(":")
            self.wire[""] = await asyncio.open_connection(host, int(port))
        reader, writer = self.wire[""]
        writer.write(raw)
        await writer.drain()
        decoder = FrameDecoder()
        opaque = _parse(raw).opaque
        while wait:
            while (frame := decoder.next_frame()) is not None:
                if frame.flag & FLAG_RESPONSE and frame.opaque == opaque:
                    return frame
            decoder.receive(await asyncio.wait_for(reader.read(1 << 20), 5))
        return None


def _parse(raw: bytes) -> Frame:
    decoder = FrameDecoder()
    decoder.receive(raw)
    frame = decoder.next_frame()
    assert frame is not None
    return frame


def _compare(request: Recorded, expected: Frame, got: Frame) -> None:
    code, where = request.request_code, request.name
    assert got.code == expected.code, f"{where}: {got.code} {got.remark}"
    assert (got.ext or {}).keys() == (expected.ext or {}).keys(), where
    same = {name: value for name, value in (expected.ext or {}).items() if name not in UNLIKE}
    if code == 29:
        same = {}
    assert same.items() <= (got.ext or {}).items(), where
    if code == 11 and expected.code in (0, 19, 20, 21):
        assert got.remark == expected.remark, where
    if expected.code == 0 and code not in (17,):
        assert bool(got.remark) == bool(expected.remark), where
    if code in (11, 12) and expected.code == 0:
        _compare_records(where, expected, got)
    else:
        assert bool(len(got.body)) == bool(len(expected.body)), where
        if len(expected.body):
            assert _shape(loads(got.body)) == _shape(loads(expected.body)), where


def _compare_records(where: str, expected: Frame, got: Frame) -> None:
    ours, theirs = list(decode_records(got.body)), list(decode_records(expected.body))
    assert len(ours) == len(theirs), where
    for our, their in zip(ours, theirs, strict=True):
        assert (our.topic, our.queue_id, our.queue_offset) == (
            their.topic,
            their.queue_id,
            their.queue_offset,
        )
        assert our.sys_flag == their.sys_flag & ~SysFlag.TRANSACTION_MASK, where
        names = our.properties.keys()
        assert {"CLUSTER", "MSG_REGION", "TRACE_ON"} <= names, where


def _shape(value: Any) -> Any:
    """The names and types in a JSON value; of a list or a map by queue the first element stands for all."""
    if isinstance(value, dict):
        if value and all(isinstance(key, MessageQueue) for key in value):
            return "by queue", _shape(next(iter(value.values())))
        if value and all(isinstance(item, dict) for item in value.values()):
            return "by name", _shape(next(iter(value.values())))
        return {key: _shape(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_shape(value[0])] if value and isinstance(value[0], dict) else "list"
    return type(value).__name__

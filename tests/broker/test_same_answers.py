"""A request has the same answer whether it came over a connection or was asked in the process."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqframe_admin.requests import GetBrokerConfig, GetSettings
from mqframe_pop.requests import AckMessage
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.protocol_client import pull_request, send_request
from net.access.plugins import manager
from peers import Raw
from popping import KEY, pop_request

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.codes import FLAG_ONEWAY, FLAG_RESPONSE
from mqframe.core.consuming.bodies import LockBody, QueueBody
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.batch import encode_element
from mqframe.core.requests import REQUESTS, Request, encode_fields
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.requests.consumers import (
    CheckClientConfig,
    GetConsumerListByGroup,
    GetMaxOffset,
    GetMinOffset,
    HeartBeat,
    LockBatchMq,
    QueryConsumerOffset,
    UnregisterClient,
    UpdateConsumerOffset,
)
from mqframe.core.requests.messages import (
    ConsumerSendMsgBack,
    EndTransaction,
    QueryMessage,
    SendBatchMessage,
    SendMessage,
    ViewMessageById,
)
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import ProxiedClient
from mqframe.net.access.settings import AccessSettings

HOST = "127.57.3.9"
"""Of the broker, whose address is in message ids: its port is taken twice, and nobody else listens there."""


class Asked(NamedTuple):
    """One request as it is on the wire."""

    code: int
    ext: dict[str, str]
    body: bytes = b""


Answer = tuple[int, str | None, dict[str, str] | None, bytes]
Ask = Callable[[Asked], Awaitable[Answer]]


def asked(request: Any, body: bytes = b"", **ext: str) -> Asked:
    return Asked(request.CODE, encode_fields(request) | ext, body)


class Guest(ProxiedClient):
    language = "JAVA"
    version = 401


@cache
def without_fields(code: int) -> Request:
    """A request of this kind whose fields are to be added, whatever they are."""
    kind: type[Request] = type("Spelt", (Request,), {"CODE": code})
    return kind()


class Connection:
    """A client at the other end of a socket. It does for the broker what a `ProxiedClient` does by itself."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.address = "{}:{}".format(*raw.writer.get_extra_info("sockname"))

    async def ask(self, request: Asked) -> Answer:
        frame = Frame(request.code, 7, 0, None, request.ext, request.body, Guest.language, Guest.version)
        self.raw.send(frame)
        while not (answer := await self.raw.frame()).flag & FLAG_RESPONSE:
            if not answer.flag & FLAG_ONEWAY:
                remark = f"{REQUESTS[answer.code].__name__} is not passed on to {self.address}"
                self.raw.send(Frame(3, answer.opaque, FLAG_RESPONSE, remark))
        return answer.code, answer.remark, answer.ext, bytes(answer.body)


def in_the_process(cluster: AsyncCluster, address: str) -> Ask:
    guest = Guest()
    guest.address = address
    peer = cluster.broker.service_port.requests.connect(guest)

    async def ask(request: Asked) -> Answer:
        reply = await peer.ask(without_fields(request.code), request.body, fields=request.ext)
        return reply.code, reply.remark, reply.fields(), bytes(reply.joined_body())

    return ask


async def answers(
    requests: Sequence[Asked], access: AccessSettings | None, port: int, address: str
) -> tuple[list[Answer], int, str]:
    """What a new broker answers; over a connection without an `address`, else to a client that has it."""
    random.seed(7)
    place = {"host": HOST, "port": port, "vip_port": False}
    cluster = AsyncCluster(clock=ManualClock(), plugins=manager(), broker=place)
    if access is not None:
        cluster.enforce(access)
    async with cluster:
        if access is None:
            await cluster.create_topic("t", 2)
        host, _, found_port = cluster.broker.address.rpartition(":")
        connection = None if address else Connection(await Raw.open(int(found_port), host))
        ask = in_the_process(cluster, address) if connection is None else connection.ask
        found = []
        for request in requests:
            found.append(await ask(request))
            # Messages are in their queues from the next turn on; an answer on its way takes as long.
            for _ in range(20):
                await asyncio.sleep(0)
        if connection is not None:
            address = connection.address
            await connection.raw.close()
        return found, int(found_port), address


def both(
    requests: Sequence[Asked], access: AccessSettings | None = None
) -> tuple[list[Answer], list[Answer]]:
    async def scenario() -> tuple[list[Answer], list[Answer]]:
        over, port, address = await answers(requests, access, 0, "")
        inside, _, _ = await answers(requests, access, port, address)
        return over, inside

    return asyncio.run(scenario())


def beat(*groups: str) -> bytes:
    """A heartbeat of a consumer in `groups` that is a producer, too."""
    subscriptions = [SubscriptionData(topic="t", sub_string="red || blue", tags_set=["red", "blue"])]
    consumers = [ConsumerData(group_name=name, subscription_data_set=subscriptions) for name in groups]
    data = HeartbeatData(
        client_id="c1", consumer_data_set=consumers, producer_data_set=[ProducerData(group_name="p")]
    )
    return dumps(data)


LOCKS = dumps(
    LockBody(
        client_id="c1",
        consumer_group="g",
        mq_set=[QueueBody(broker_name="broker-a", queue_id=number, topic="t") for number in (0, 1)],
    )
)
QUEUE = {"consumer_group": "g", "topic": "t", "queue_id": 0}
OLD = {
    "producer_group": "p", "default_topic": "TBW102", "default_topic_queue_nums": 4, "queue_id": 1,
    "sys_flag": 0, "born_timestamp": 1_700_000_000_000, "flag": 5, "properties": KEY,
}  # fmt: skip
ACK = {"extra_info": "0 0 60000 0 0 broker-a 0 0", "offset": 0, **QUEUE}
BATCH = msgspec.structs.asdict(send_request("t", batch=True))
TABLE = [
    asked(UpdateAndCreateTopic(topic="u", read_queue_nums=1, write_queue_nums=1, perm=6)),
    asked(GetTopicConfig(topic="u")),
    asked(GetTopicConfig(topic="none")),
    asked(HeartBeat(), beat("g")),
    asked(HeartBeat(), b"rubbish"),
    asked(GetConsumerListByGroup(consumer_group="g")),
    asked(GetConsumerListByGroup(consumer_group="none")),
    asked(CheckClientConfig(), b"{}"),
    asked(send_request("t", KEY + "TAGS\x01red\x02"), b"first"),
    asked(send_request("t", KEY + "KEYS\x01k\x02n\x01\u00fc\x02"), bytes(range(256))),
    asked(send_request("t", KEY, queue_id=1), memoryview(b"x" * 100_000).tobytes()),
    asked(send_request("made-by-itself", KEY), b"body"),
    asked(send_request("not a name", KEY), b"body"),
    asked(send_request("t", KEY, queue_id=9), b"body"),
    asked(send_request("t", KEY), b""),
    asked(send_request("t", KEY), bytes(5 << 20)),
    asked(send_request("t", KEY), b"body", e="nine"),
    asked(SendMessage(topic="t", **OLD), b"old form"),
    asked(SendBatchMessage(**BATCH), encode_element(b"1", b"") + encode_element(b"2", b"")),
    asked(pull_request("t")),
    asked(pull_request("t", 1, max_msg_nums=1)),
    asked(pull_request("t", 0, queue_id=1)),
    asked(pull_request("t", 0, subscription="red")),
    asked(pull_request("t", 0, subscription="n = ", expression_type="SQL92")),
    asked(pull_request("t", 99)),
    asked(pull_request("t", -1)),
    asked(pull_request("none")),
    asked(pull_request("t", consumer_group="not a name")),
    asked(pull_request("t", 0, sys_flag=0)),
    asked(UpdateConsumerOffset(commit_offset=1, **QUEUE)),
    asked(UpdateConsumerOffset(commit_offset=100, **QUEUE)),
    asked(QueryConsumerOffset(**QUEUE)),
    asked(QueryConsumerOffset(consumer_group="none", topic="t", queue_id=0)),
    asked(GetMaxOffset(topic="t", queue_id=0)),
    asked(GetMinOffset(topic="t", queue_id=0)),
    asked(LockBatchMq(), LOCKS),
    asked(ViewMessageById(offset=0)),
    asked(ViewMessageById(offset=7)),
    asked(QueryMessage(topic="t", key="k", max_num=3, begin_timestamp=0, end_timestamp=1 << 62)),
    asked(ConsumerSendMsgBack(offset=0, group="g", delay_level=1)),
    asked(EndTransaction(producer_group="p", tran_state_table_offset=0, commit_log_offset=0,
                         commit_or_rollback=8, msg_id="none")),
    asked(pop_request()),
    asked(pop_request(max_msg_nums=99)),
    asked(pop_request()),
    asked(AckMessage(**ACK)),
    asked(UnregisterClient(client_id="c1", consumer_group="g", producer_group="p")),
    Asked(4711, {"a": "b"}, b"?"),
    Asked(QueryConsumerOffset.CODE, {}),
]  # fmt: skip


def test_a_client_that_does_what_clients_do_has_the_same_answers() -> None:
    over, inside = both(TABLE)
    for request, one, other in zip(TABLE, over, inside, strict=True):
        assert other == one, request
    assert {answer[0] for answer in over} >= {0, 1, 3, 13, 17, 21, 23, 26, 29, 208, 210}


def test_who_may_not_ask_has_the_same_answers() -> None:
    access = AccessSettings(authentication="naming", authorization="matching")
    requests = [
        Asked(request.code, request.ext | fields, request.body)
        for request in TABLE[:30]
        for fields in ({}, {"user": "t"}, {"user": "other"}, {"user": "broken"})
    ]
    over, inside = both(requests, access)
    assert inside == over
    assert {answer[0] for answer in over} >= {0, 16}


UNLIKE = {GetBrokerRuntimeInfo.CODE, GetBrokerConfig.CODE, GetSettings.CODE}
"""Their answers tell of the process, of its folder and of its name server."""
TEXTS = st.sampled_from(
    ["t", "g", "p", "c1", "none", "made", "not a name", "0", "1", "-1", "32", "4", "60000", "true", "", "*",
     str(1 << 40), "\u00fc", "broker-a", "TBW102", "%RETRY%g", "x" * 300]
)  # fmt: skip
BODIES = st.sampled_from(
    [
        b"",
        b"{}",
        b"[]",
        b"rubbish",
        beat("g", "h"),
        LOCKS,
        encode_element(b"1", b""),
        b"t=1\nu=2",
        bytes(3000),
    ]
)


@st.composite
def any_request(draw: Any) -> Asked:
    if draw(st.booleans()):
        return draw(st.sampled_from(TABLE))  # type: ignore[no-any-return]
    code = draw(st.sampled_from(sorted(REQUESTS.keys() - UNLIKE)))
    names = REQUESTS[code].__struct_encode_fields__
    known = {name: draw(TEXTS) for name in names if draw(st.integers(0, 4))}
    for name in {"pollTime", "suspendTimeoutMillis"} & known.keys():
        known[name] = "0"  # whoever waits is for other tests
    return Asked(code, known, draw(BODIES))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(any_request(), max_size=30))
def test_whatever_is_asked_has_the_same_answers(requests: list[Asked]) -> None:
    over, inside = both(requests)
    for request, one, other in zip(requests, over, inside, strict=True):
        assert other == one, request

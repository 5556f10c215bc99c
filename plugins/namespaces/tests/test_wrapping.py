"""What of a client's requests and answers is in the namespace on the wire."""

from __future__ import annotations

import pytest
from mqframe_namespaces import NamespaceHook
from mqframe_namespaces.wrapping import (
    BATCH_ACK,
    PEEK_MESSAGE,
    POP_MESSAGE,
    PUSH_REPLY,
    QUERY_ASSIGNMENT,
    SET_MESSAGE_REQUEST_MODE,
)
from mqframe_testing.conformance import RpcHookConformance

from mqframe.core.errors import SettingError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.requests import REQUESTS
from mqframe.core.storage.record import decode_records, encode_record
from mqframe.core.wire.frame import Frame
from mqframe.hooks.known_distributions import KNOWN_REQUESTS

ADDRESS = "127.0.0.1:10911"
HOST = encode_host("127.0.0.1:1")
QUEUE = b'{"brokerName":"b","queueId":0,"topic":"%b"}'


class TestConformance(RpcHookConformance):
    def make(self) -> NamespaceHook:
        return NamespaceHook("shop")


@pytest.fixture
def hook() -> NamespaceHook:
    return NamespaceHook("shop")


def record(topic: str) -> bytes:
    return encode_record(
        topic=topic, queue_id=0, queue_offset=0, physical_offset=0, body=b"x", properties=b"",
        born_timestamp=1, born_host=HOST, store_timestamp=2, store_host=HOST,
    )  # fmt: skip


def topics(body: object) -> list[str]:
    return [message.topic for message in decode_records(bytes(body))]  # type: ignore[call-overload]


@pytest.mark.parametrize("code", [11, 361, 12, 33, POP_MESSAGE, PEEK_MESSAGE])
def test_messages_that_were_asked_for(hook: NamespaceHook, code: int) -> None:
    request = Frame(code, 1, ext={"topic": "orders", "consumerGroup": "g"})
    hook.before(ADDRESS, request)
    assert request.ext == {"topic": "shop%orders", "consumerGroup": "shop%g"}
    answer = Frame(0, 1, body=memoryview(record("shop%orders") + record("other%orders")))
    hook.after(ADDRESS, request, answer)
    assert topics(answer.body) == ["orders", "other%orders"]


@pytest.mark.parametrize(
    ("code", "sent", "answered"),
    [
        (41, b'{"consumerGroup":"%b","mqSet":[' + QUEUE + b"]}", b'{"lockOKMQSet":[' + QUEUE + b"]}"),
        (42, b'{"consumerGroup":"%b","mqSet":[' + QUEUE + b"]}", b""),
        (46, b'{"group":"%b","subscriptionData":{"topic":"%b"}}', b""),
        (34, b'{"producerDataSet":[{"groupName":"%b"}]}', b""),
        (QUERY_ASSIGNMENT, b'{"consumerGroup":"%b","topic":"%b"}',
         b'{"messageQueueAssignments":[{"messageQueue":' + QUEUE + b',"mode":"PULL"}]}'),
        (SET_MESSAGE_REQUEST_MODE, b'{"consumerGroup":"%b","mode":"POP","topic":"%b"}', b""),
        (BATCH_ACK, b'{"acks":[{"c":"%b","t":"%b"}],"brokerName":"b"}', b""),
        (208, b"", b'{"offsetTable":{' + QUEUE + b':{"brokerOffset":7}}}'),
    ],
)  # fmt: skip
def test_bodies(hook: NamespaceHook, code: int, sent: bytes, answered: bytes) -> None:
    def naming(body: bytes, *names: bytes) -> bytes:
        return body % names[: body.count(b"%b")]

    request = Frame(code, 1, ext={}, body=naming(sent, b"g", b"t"))
    hook.before(ADDRESS, request)
    assert request.body == naming(sent, b"shop%g", b"shop%t")
    answer = Frame(0, 1, body=naming(answered, b"shop%t"))
    hook.after(ADDRESS, request, answer)
    assert answer.body == naming(answered, b"t")


@pytest.mark.parametrize("code", [39, 309])
def test_messages_that_a_broker_asks_about(hook: NamespaceHook, code: int) -> None:
    ext = {"topic": "shop%orders", "consumerGroup": "shop%g"}
    asked = Frame(code, 1, ext=ext, body=record("shop%orders"))
    hook.before(ADDRESS, asked)
    assert asked.ext == {"topic": "orders", "consumerGroup": "g"}
    assert topics(asked.body) == ["orders"]


def test_a_reset_and_what_operators_look_at(hook: NamespaceHook) -> None:
    reset = Frame(
        220,
        1,
        ext={"topic": "shop%t", "group": "shop%g"},
        body=b'{"offsetTable":{' + QUEUE % b"shop%t" + b":7}}",
    )
    hook.before(ADDRESS, reset)
    assert (reset.ext, reset.body) == (
        {"topic": "t", "group": "g"},
        b'{"offsetTable":{' + QUEUE % b"t" + b":7}}",
    )
    asked = Frame(221, 1, ext={"topic": "shop%t", "group": "shop%g"})
    hook.before(ADDRESS, asked)
    answer = Frame(0, 1, body=b'{"messageQueueTable":{' + QUEUE % b"t" + b":7}}")
    hook.after(ADDRESS, asked, answer)
    assert answer.body == b'{"messageQueueTable":{' + QUEUE % b"shop%t" + b":7}}"


@pytest.mark.parametrize("code", [40, PUSH_REPLY])
def test_notices(hook: NamespaceHook, code: int) -> None:
    asked = Frame(code, 1, ext={"consumerGroup": "shop%g", "topic": "shop%t"}, body=b"any")
    hook.before(ADDRESS, asked)
    assert (asked.ext, asked.body) == ({"consumerGroup": "g", "topic": "t"}, b"any")


def test_refusals_and_what_has_no_names_are_left_alone(hook: NamespaceHook) -> None:
    request = Frame(11, 1, ext={"topic": "orders"})
    refused = Frame(1, 1, body=record("shop%orders"))
    hook.after(ADDRESS, request, refused)
    assert topics(refused.body) == ["shop%orders"]
    hook.after(ADDRESS, request, None)
    cluster = Frame(106, 1, body=b"any")
    hook.before(ADDRESS, cluster)
    assert (cluster.ext, cluster.body) == (None, b"any")


def test_it_says_whose_it_is_and_refuses_what_cannot_be_one(hook: NamespaceHook) -> None:
    assert repr(hook) == "<NamespaceHook shop>"
    assert hook.wrapped("orders") == "shop%orders"
    with pytest.raises(SettingError, match="may hold only"):
        NamespaceHook("a%b")


def test_requests_of_other_distributions_are_those_that_are_meant() -> None:
    names = {
        QUERY_ASSIGNMENT: "mqframe-plugin-assignment",
        SET_MESSAGE_REQUEST_MODE: "mqframe-plugin-assignment",
        PUSH_REPLY: "mqframe-plugin-requestreply",
        POP_MESSAGE: "mqframe-plugin-pop",
        PEEK_MESSAGE: "mqframe-plugin-pop",
        BATCH_ACK: "mqframe-plugin-pop",
    }
    assert {code: KNOWN_REQUESTS[code] for code in names} == names
    assert not names.keys() & {code for code in REQUESTS if REQUESTS[code].__module__.startswith("mqframe.")}

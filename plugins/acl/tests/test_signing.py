"""Signatures against those that `hmac` and hand-written concatenations give."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_acl import AclHook, AclOptions
from mqframe_testing import Cluster
from mqframe_testing.conformance import RpcHookConformance

from mqframe import (
    Admin,
    AsyncProducer,
    AsyncPuller,
    BatchTransactionProducer,
    ConsumeResult,
    EndStatus,
    Message,
    Producer,
    Puller,
    PushConsumer,
    ReceivedMessage,
    RpcHook,
    TransactionOutcome,
    TransactionProducer,
)
from mqframe.core.errors import PluginError, SettingError
from mqframe.core.messages.batch import encode_element
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, UpdateAndCreateTopic
from mqframe.core.requests.consumers import (
    GetMaxOffset,
    HeartBeat,
    NotifyConsumerIdsChanged,
    UnregisterClient,
    UpdateConsumerOffset,
)
from mqframe.core.requests.messages import (
    EndTransaction,
    PullMessage,
    SendBatchMessage,
    SendMessageV2,
)
from mqframe.core.requests.nameserver import GetRouteinfoByTopic, RegisterBroker
from mqframe.core.wire.frame import Frame, FrameDecoder, HeaderForm, encode_frame
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import Factories, hookimpl

KEYS = {"access_key": "rocketmq", "secret_key": "12345678"}


def hook(**change: str) -> AclHook:
    return AclHook(AclOptions(**{**KEYS, **change}))


def expected(values: str, body: bytes = b"", secret: bytes = b"12345678") -> str:
    return base64.b64encode(hmac.new(secret, values.encode() + body, hashlib.sha1).digest()).decode()


def is_signed(frame: Frame, secret: bytes = b"12345678") -> bool:
    """What a broker checks (source: DefaultAuthenticationContextBuilder.java)."""
    fields = dict(frame.ext or {})
    signature = fields.pop("Signature", None)
    return signature == expected("".join(fields[key] for key in sorted(fields)), bytes(frame.body), secret)


def test_values_are_signed_in_the_order_of_their_keys() -> None:
    frame = Frame(310, ext={"b": "topic", "a": "group", "Z": "first"}, body=b"body")
    hook().before("broker:1", frame)
    assert frame.ext == {
        "b": "topic",
        "a": "group",
        "Z": "first",
        "AccessKey": "rocketmq",
        "Signature": expected("rocketmqfirstgrouptopic", b"body"),
    }


def test_a_known_signature() -> None:
    # openssl: printf 'rocketmqgrouptopicbody' | openssl dgst -sha1 -hmac 12345678 -binary | base64
    frame = Frame(310, ext={"b": "topic", "a": "group"}, body=b"body")
    hook().before("broker:1", frame)
    assert frame.ext is not None
    assert frame.ext["Signature"] == "i/dfEqAELDk1kBSVaDuOUEmeEhA="


def test_a_token_is_sent_and_signed() -> None:
    frame = Frame(105, ext={"topic": "t"})
    hook(security_token="tok").before("broker:1", frame)
    assert frame.ext == {
        "topic": "t",
        "AccessKey": "rocketmq",
        "SecurityToken": "tok",
        "Signature": expected("rocketmqtokt"),
    }


def test_a_request_without_fields_gets_some() -> None:
    frame = Frame(206)
    hook().before("broker:1", frame)
    assert frame.ext == {"AccessKey": "rocketmq", "Signature": expected("rocketmq")}


def test_signing_again_replaces_the_signature() -> None:
    frame = Frame(105, ext={"topic": "t"})
    for _ in range(2):
        hook().before("broker:1", frame)
    assert frame.ext is not None
    assert frame.ext["Signature"] == expected("rocketmqt")


@given(
    ext=st.dictionaries(
        st.text("abcXYZ_09", min_size=1).filter(lambda key: key != "Signature"),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    ),
    body=st.binary(),
    form=st.sampled_from(HeaderForm),
    secret=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
)
def test_what_arrives_is_what_was_signed(
    ext: dict[str, str], body: bytes, form: HeaderForm, secret: str
) -> None:
    """Through the bytes of a frame in both forms of its header."""
    frame = Frame(10, 1, ext=ext or None, body=body, form=form)
    hook(secret_key=secret).before("broker:1", frame)
    decoder = FrameDecoder()
    decoder.receive(encode_frame(frame))
    arrived = decoder.next_frame()
    assert arrived is not None
    assert is_signed(arrived, secret.strip().encode())
    assert not is_signed(arrived, b"another")


@pytest.mark.parametrize("body", [b"body", bytearray(b"body"), memoryview(b"xbodyx")[1:5]])
def test_bodies_of_every_kind(body: Any) -> None:
    frame = Frame(310, ext={"a": "g"}, body=body)
    hook().before("broker:1", frame)
    assert is_signed(frame)


def test_blanks_around_values_do_not_count() -> None:
    frame = Frame(105, ext={"topic": "t"})
    hook(access_key=" rocketmq\n", secret_key="\t12345678 ").before("broker:1", frame)
    assert frame.ext is not None
    assert (frame.ext["AccessKey"], frame.ext["Signature"]) == ("rocketmq", expected("rocketmqt"))


# Options


def test_secrets_show_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    options = AclOptions(access_key="reader", secret_key="hidden1", security_token="hidden2")
    made = AclHook(options)
    assert "hidden" not in repr(options) + repr(made) + str(made)
    assert "reader" in repr(made)
    with caplog.at_level(logging.DEBUG):
        made.before("broker:1", Frame(105))
    assert "hidden" not in caplog.text


@pytest.mark.parametrize(
    ("given_options", "said"),
    [
        ({"access_key": "a"}, "needs the option secret_key"),
        ({"secret_key": "hidden"}, "needs the option access_key"),
        ({"access_key": " ", "secret_key": "hidden"}, "plugins.acl.access_key = ' ': is empty"),
        ({"access_key": "a", "secret_key": "  "}, r"plugins.acl.secret_key = \(secret\): is empty"),
        ({"access_key": "a", "secret_key": 90909}, r"secret_key of plugin acl = \(secret\): must be text"),
        (
            {**KEYS, "secretkey": "hidden"},
            "there is no option secretkey of plugin acl; its options: access_key",
        ),
    ],
)
def test_bad_options_are_named_without_secrets(given_options: dict[str, Any], said: str) -> None:
    with pytest.raises((SettingError, PluginError), match=said) as caught:
        PluginManager().create("rpc_hook", "acl", given_options)
    for secret in ("hidden", "90909"):
        assert secret not in str(caught.value)


def test_options_that_nobody_takes_are_not_shown() -> None:
    manager = PluginManager()
    with pytest.raises(PluginError) as caught:
        manager.create("rpc_hook", RpcHook(), {"secret_key": "hidden"})
    assert "options (secret_key) cannot be applied" in str(caught.value)
    with pytest.raises(SettingError) as refused:
        manager.create("rpc_hook", "acl", ("hidden", "hidden", "hidden"))
    assert "hidden" not in str(caught.value) + str(refused.value)


# Every request of every client


class Witness(RpcHook):
    """What passed, and whether it was signed: on a broker, or last of the hooks of a client."""

    name = "witness"

    def __init__(self, ignored: frozenset[int] = frozenset()) -> None:
        self.seen: set[int] = set()
        self.unsigned: list[int] = []
        self._ignored = ignored

    def before(self, address: str, request: Frame) -> None:
        if request.code in self._ignored:
            return
        self.seen.add(request.code)
        if not is_signed(request):
            self.unsigned.append(request.code)


class Offers:
    """Brings the witness to brokers by name."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    @hookimpl
    def register_rpc_hooks(self) -> Factories:
        return {"witness": lambda: self._witness}


@pytest.fixture
def at_the_broker() -> Witness:
    # What the broker itself asks for is not ours to sign.
    return Witness(ignored=frozenset({RegisterBroker.CODE, NotifyConsumerIdsChanged.CODE}))


@pytest.fixture
def cluster(at_the_broker: Witness) -> Iterator[Cluster]:
    plugins = PluginManager()
    plugins.register(Offers(at_the_broker))
    with Cluster(broker={"rpc_hooks": ("witness",)}, plugins=plugins) as running:
        yield running


async def test_clients_of_every_kind_sign_everything(cluster: Cluster, at_the_broker: Witness) -> None:
    witness = Witness()
    access: dict[str, Any] = {"nameserver": cluster.nameserver, "rpc_hooks": [("acl", KEYS), witness]}
    with Admin(**access) as admin:
        admin.topics.create("orders", queues=1)
        admin.groups.create("g")
    with Producer("p", **access) as producer:
        producer.send(Message("orders", b"1", tag="a"))
        producer.send_oneway(Message("orders", b"2"))
        producer.send_batch([Message("orders", b"3"), Message("orders", b"4")])
        producer.submit(Message("orders", b"5")).result(120)

    async with AsyncProducer("p2", **access) as other:
        await other.send(Message("orders", b"6" * 10_000))
    async with AsyncPuller("g", **access) as puller:
        [queue] = await puller.queues("orders")
        await puller.commit(queue, 1)
    with (
        TransactionProducer("p3", **access) as transactions,
        transactions.transaction(Message("orders", b"7")),
    ):
        pass
    batches = BatchTransactionProducer("p4", check=lambda half: TransactionOutcome.UNKNOWN, **access)
    with batches:
        elements = encode_element(b"8", b"") + encode_element(b"9", b"")
        halves = batches.prepare("orders", elements, 2)
        assert batches.end(halves, TransactionOutcome.COMMIT) == [EndStatus.DONE]
    got: set[bytes] = set()
    everything = threading.Event()
    consumer = PushConsumer("readers", consume_from="first", **access)

    @consumer.on("orders")
    def handle(messages: list[ReceivedMessage], context: object) -> ConsumeResult:
        got.update(message.body for message in messages)
        if len(got) == 9:
            everything.set()
        return ConsumeResult.SUCCESS

    with consumer:
        assert everything.wait(120)
    puller = Puller("readers", nameserver=cluster.nameserver, rpc_hooks=access["rpc_hooks"])
    [queue] = puller.queues("orders")
    assert puller.max_offset(queue) == 9
    assert puller.pull(queue, 0, 2).next_offset == 2
    puller.stop()

    assert (witness.unsigned, at_the_broker.unsigned) == ([], [])
    wanted = {UpdateAndCreateTopic, SendMessageV2, SendBatchMessage, HeartBeat, PullMessage, EndTransaction}
    wanted |= {UpdateConsumerOffset, GetMaxOffset, UnregisterClient}
    half_batch = 21320
    assert {kind.CODE for kind in wanted} | {half_batch} <= at_the_broker.seen
    assert GetRouteinfoByTopic.CODE in witness.seen


def test_a_wrong_key_shows_here_as_well(cluster: Cluster, at_the_broker: Witness) -> None:
    """So that the test before it can fail."""
    with Admin(nameserver=cluster.nameserver, rpc_hooks=[("acl", {**KEYS, "secret_key": "x"})]) as admin:
        admin.brokers.runtime(cluster.broker.address)
    assert at_the_broker.unsigned == [GetBrokerRuntimeInfo.CODE]


class TestConformance(RpcHookConformance):
    def make(self) -> AclHook:
        return hook()

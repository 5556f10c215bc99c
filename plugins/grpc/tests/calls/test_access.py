"""Who calls, and what each call needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import certificates
import grpc
import pytest
import trustme
from doors import DoorScene, consumer_settings, message, producer_settings, receive_request
from guarded_doors import SECRET, SETTINGS, GuardedScene, acknowledging, sending, signed
from mqframe_grpc.door import SERVICE
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import PluginManager
from mqframe.net.access.settings import AccessSettings

TOPICS = {"orders": 1, "later": 1, "halves": 1}
TYPES = {"later": "DELAY", "halves": "TRANSACTION"}
ORDERS, BILLING = m.Resource(name="orders"), m.Resource(name="billing")
EVERYTHING = ("Topic:*", "Group:*")
UNKNOWN = "Authentication failed. Please verify the credentials and try again."
WHEN = "20251128T201500Z"
_KNOWN = signed("shop", WHEN)
_HANDLE = "0 4000000000000 600000 0 0 broker-a 0 0 0"

CALLS: dict[str, Callable[[], Any]] = {
    "QueryRoute": lambda: m.QueryRouteRequest(topic=ORDERS),
    "QueryAssignment": lambda: m.QueryAssignmentRequest(topic=ORDERS, group=BILLING),
    "SendMessage": lambda: sending("orders"),
    "RecallMessage": lambda: m.RecallMessageRequest(topic=m.Resource(name="later"), recall_handle="x"),
    "ReceiveMessage": lambda: receive_request("orders", "billing"),
    "AckMessage": lambda: m.AckMessageRequest(
        topic=ORDERS, group=BILLING, entries=[m.AckMessageEntry(message_id="x", receipt_handle=_HANDLE)]
    ),
    "ChangeInvisibleDuration": lambda: m.ChangeInvisibleDurationRequest(
        topic=ORDERS,
        group=BILLING,
        receipt_handle=_HANDLE,
        invisible_duration=m.Duration(seconds=20),
        message_id="x",
    ),
    "ForwardMessageToDeadLetterQueue": lambda: m.ForwardMessageToDeadLetterQueueRequest(
        topic=ORDERS, group=BILLING, receipt_handle=_HANDLE, message_id="x"
    ),
    "EndTransaction": lambda: m.EndTransactionRequest(
        topic=ORDERS, message_id="x", transaction_id="x", resolution=m.TransactionResolution.COMMIT
    ),
    "Heartbeat": lambda: m.HeartbeatRequest(client_type=m.ClientType.SIMPLE_CONSUMER, group=BILLING),
    "NotifyClientTermination": lambda: m.NotifyClientTerminationRequest(group=BILLING),
    "PullMessage": lambda: m.PullMessageRequest(
        group=BILLING, message_queue=_queue(), filter_expression=m.FilterExpression(expression="*")
    ),
    "UpdateOffset": lambda: m.UpdateOffsetRequest(group=BILLING, message_queue=_queue(), offset=0),
    "GetOffset": lambda: m.GetOffsetRequest(group=BILLING, message_queue=_queue()),
    "QueryOffset": lambda: m.QueryOffsetRequest(message_queue=_queue()),
}


def _queue() -> m.MessageQueue:
    return m.MessageQueue(topic=ORDERS, broker=m.Broker(name="broker-a"), id=0)


# Who calls


async def test_without_access_control_headers_are_not_looked_at() -> None:
    async with DoorScene(topics={"orders": 1}, options=GrpcOptions(signature_age_ms=1)) as scene:
        for headers in (
            signed("", WHEN, ""),  # Python's client without credentials
            signed("anybody", "19700101T000000Z"),
            {"authorization": "rubbish"},
            {"authorization": "MQv2-HMAC-SHA1 Credential=x, Signature=none"},
        ):
            [answer] = await scene.call("SendMessage", sending("orders", b"1"), **headers)
            assert answer.status.code == m.Code.OK
        assert len(scene.door.clients) == 1
        assert len(await scene.receive("orders", "billing")) == 4


async def test_what_users_may_they_do() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", "Topic:orders", actions="Pub")
        await scene.grant("reader", "Topic:orders", "Group:billing", actions="Sub")
        await scene.send_as("shop", "orders", b"o-1")
        [found] = await scene.receive_as("reader", "orders", "billing")
        assert found.body == b"o-1"
        [answer] = await scene.ask("reader", "AckMessage", acknowledging("billing", found))
        assert [each.status.code for each in answer.entries] == [m.Code.OK]
        await scene.pass_time(40.0)
        assert await scene.receive_as("reader", "orders", "billing") == []
        assert scene.refused() == (0, 0)


async def test_signatures_are_read_as_all_clients_write_them() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", "Topic:orders")
        whole = _KNOWN["authorization"]
        name, signature = whole.rpartition("=")[::2]
        for text in (
            whole,
            f"{name}={signature.upper()}",
            whole.replace("=shop,", "=shop/region/RocketMQ,"),
            whole.replace(", ", ","),
        ):
            headers = {**_KNOWN, "authorization": text}
            [answer] = await scene.call("SendMessage", sending("orders"), **headers)
            assert answer.status.code == m.Code.OK, text


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({}, UNKNOWN),
        (signed("", WHEN, ""), UNKNOWN),
        (signed("shop", WHEN, "wrong"), UNKNOWN),
        (signed("nobody", WHEN), UNKNOWN),
        (signed("gone", WHEN), UNKNOWN),
        ({**_KNOWN, "x_mq_date_time": "20251128T201501Z"}, UNKNOWN),
        ({**_KNOWN, "authorization": _KNOWN["authorization"][:-2]}, UNKNOWN),
        ({"authorization": _KNOWN["authorization"]}, "header x-mq-date-time, which is signed, is missing"),
        ({**_KNOWN, "authorization": "rubbish"}, "header authorization is not a list of different fields"),
        ({**_KNOWN, "authorization": _KNOWN["authorization"] + "z"}, "that is not hexadecimal"),
        ({**_KNOWN, "authorization": f"{_KNOWN['authorization']}, Credential=admin"}, "different fields"),
    ],
)
async def test_who_is_not_known_is_refused_and_counted(headers: dict[str, str], told: str) -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        for user in ("shop", "gone"):
            await scene.grant(user, *EVERYTHING)
        await scene.disable("gone")
        [answer] = await scene.call("SendMessage", sending("orders"), **headers)
        assert answer.status.code == m.Code.UNAUTHORIZED
        assert told in answer.status.message
        assert scene.refused() == (1, 0)
        assert (len(scene.door.clients), scene.bodies("orders")) == (0, [])


@pytest.mark.parametrize("rpc", sorted(CALLS))
async def test_every_call_needs_a_user_who_may(rpc: str) -> None:
    async with GuardedScene(topics=TOPICS, types=TYPES) as scene:
        await scene.grant("stranger", "Topic:others*", "Group:others*")
        await scene.grant("shop", *EVERYTHING)
        [answer, *_] = await scene.ask("", rpc, CALLS[rpc]())
        assert (answer.status.code, answer.status.message) == (m.Code.UNAUTHORIZED, UNKNOWN)
        assert scene.refused() == (1, 0)
        [answer, *_] = await scene.ask("stranger", rpc, CALLS[rpc]())
        assert answer.status.code == m.Code.UNAUTHORIZED
        said = answer.entries[0].status.message if rpc == "AckMessage" else answer.status.message
        assert said.startswith("User:stranger has no permission to access ")
        assert scene.refused() == (1, 1)
        assert await scene.code("shop", rpc, CALLS[rpc]()) != m.Code.UNAUTHORIZED
        assert scene.refused() == (1, 1)


@pytest.mark.parametrize(
    ("granted", "refused"),
    [
        (("Topic:orders", "Pub"), {"QueryAssignment", "ReceiveMessage", "AckMessage", "Heartbeat"}),
        (("Topic:orders", "Sub"), {"QueryAssignment", "SendMessage", "ReceiveMessage", "EndTransaction"}),
        (("Topic:orders", "Get"), {"SendMessage", "ReceiveMessage", "EndTransaction", "RecallMessage"}),
        (("Group:billing", "Sub"), {"QueryRoute", "QueryAssignment", "ReceiveMessage", "AckMessage"}),
    ],
)
async def test_one_need_does_not_stand_for_another(granted: tuple[str, str], refused: set[str]) -> None:
    resource, action = granted
    open_to = {
        "Pub": {"QueryRoute", "SendMessage", "EndTransaction"},
        "Sub": {"QueryRoute"} if resource == "Topic:orders" else {"Heartbeat", "NotifyClientTermination"},
        "Get": {"QueryRoute"},
    }[action]
    async with GuardedScene(topics=TOPICS, types=TYPES) as scene:
        await scene.grant("shop", resource, actions=action)
        for rpc in sorted(refused | open_to):
            code = await scene.code("shop", rpc, CALLS[rpc]())
            assert (code == m.Code.UNAUTHORIZED) is (rpc in refused), rpc


async def test_what_there_is_not_is_not_told_to_everybody() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", "Topic:orders")
        for rpc, asked in (
            ("SendMessage", sending("absent")),
            ("RecallMessage", m.RecallMessageRequest(topic=m.Resource(name="absent"), recall_handle="x")),
            ("QueryRoute", m.QueryRouteRequest(topic=m.Resource(name="absent"))),
        ):
            assert await scene.code("shop", rpc, asked) == m.Code.UNAUTHORIZED
            assert await scene.code("admin", rpc, asked) == m.Code.TOPIC_NOT_FOUND


async def test_messages_of_a_batch_are_refused_together() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", "Topic:other")
        asked = m.SendMessageRequest(messages=[message("orders", b"1"), message("orders", b"2")])
        [answer] = await scene.ask("shop", "SendMessage", asked)
        assert (answer.status.code, list(answer.entries)) == (m.Code.UNAUTHORIZED, [])
        assert scene.refused() == (0, 1)


# Changes


async def test_who_is_disabled_or_may_no_more_is_refused_at_once() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", *EVERYTHING)
        headers = scene.headers("shop")
        assert (await scene.call("SendMessage", sending("orders"), **headers))[0].status.code == m.Code.OK
        await scene.disable("shop")
        answers = await scene.call("SendMessage", sending("orders"), **headers)
        assert (answers[0].status.code, answers[0].status.message) == (m.Code.UNAUTHORIZED, UNKNOWN)
        await scene.grant("other", *EVERYTHING)
        assert await scene.code("other", "SendMessage", sending("orders")) == m.Code.OK
        await scene.delete("other")
        assert await scene.code("other", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED


async def test_an_old_signature_is_refused_where_its_age_counts() -> None:
    options = GrpcOptions(signature_age_ms=900_000)
    async with GuardedScene(topics={"orders": 1}, options=options) as scene:
        await scene.grant("shop", *EVERYTHING)
        headers = scene.headers("shop")
        await scene.pass_time(899.0)
        assert (await scene.call("SendMessage", sending("orders"), **headers))[0].status.code == m.Code.OK
        await scene.pass_time(10.0)
        [answer] = await scene.call("SendMessage", sending("orders"), **headers)
        assert answer.status.code == m.Code.UNAUTHORIZED
        assert "signature was made 9" in answer.status.message
        assert scene.refused() == (1, 0)
        [answer] = await scene.call("SendMessage", sending("orders"), **signed("shop", "yesterday"))
        assert answer.status.code == m.Code.UNAUTHORIZED
        assert "is no time" in answer.status.message
        assert scene.refused() == (2, 0)


async def test_a_signature_may_be_of_any_age_otherwise() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", *EVERYTHING)
        for when in (WHEN, "19700101T000000Z", "yesterday"):
            [answer] = await scene.call("SendMessage", sending("orders"), **signed("shop", when))
            assert answer.status.code == m.Code.OK


# Other ways to be known


async def test_a_certificate_stands_for_its_user() -> None:
    plugins = PluginManager().configured({"acl2": {"certificate_users": {"shop.example.org": "shop"}}})
    async with GuardedScene(topics={"orders": 1}, plugins=plugins) as scene:
        await scene.grant("shop", "Topic:orders")
        scene.certificate = "shop.example.org"
        assert await scene.code("", "SendMessage", sending("orders")) == m.Code.OK
        [answer] = await scene.call("SendMessage", sending("orders"), **signed("", WHEN, ""))
        assert answer.status.code == m.Code.OK
        [answer] = await scene.ask("", "SendMessage", sending("others"))
        assert answer.status.message.startswith("User:shop has no permission to access Topic:others")
        # A signature that is there has to be right.
        [answer] = await scene.call("SendMessage", sending("orders"), **signed("shop", WHEN, "wrong"))
        assert answer.status.message == UNKNOWN
        # Nor is a client known by its id, to whoever shows no certificate.
        scene.certificate = ""
        assert await scene.code("", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED


async def test_where_a_user_calls_from_is_asked_each_time() -> None:
    async with GuardedScene(topics={"orders": 1}) as scene:
        await scene.grant("shop", "Topic:orders", source="10.0.0.0/8")
        assert await scene.code("shop", "SendMessage", sending("orders", b"1")) == m.Code.OK
        scene.address = "11.0.0.7:40000"
        [answer] = await scene.ask("shop", "SendMessage", sending("orders", b"2"))
        assert answer.status.code == m.Code.UNAUTHORIZED
        assert answer.status.message.endswith("from 11.0.0.7")
        scene.address = "10.0.0.8:40000"
        assert await scene.code("shop", "SendMessage", sending("orders", b"3")) == m.Code.OK
        assert [(each.body, each.born_host) for each in scene.stored("orders")] == [
            (b"1", "10.0.0.7:40000"),
            (b"3", "10.0.0.8:40000"),
        ]


async def test_accounts_of_4_9_sign_too(tmp_path: Path) -> None:
    file = tmp_path / "plain_acl.yml"
    file.write_text(
        "globalWhiteRemoteAddresses: [10.9.9.*]\n"
        "accounts:\n"
        "  - {accessKey: shop-key, secretKey: shopsecret, topicPerms: [orders=PUB]}\n"
    )
    plugins = PluginManager().configured({"plain_acl": {"file": str(file)}})
    settings = AccessSettings(
        plain=True, initial_user=f"admin:{SECRET}", inner_credentials="inner:of the servers"
    )
    async with GuardedScene(settings, topics={"orders": 1}, plugins=plugins) as scene:
        known = signed("shop-key", WHEN, "shopsecret")
        [answer] = await scene.call("SendMessage", sending("orders"), **known)
        assert answer.status.code == m.Code.OK
        for rpc in ("AckMessage", "QueryAssignment"):
            answers = await scene.call(rpc, CALLS[rpc](), **known)
            assert answers[0].status.code == m.Code.UNAUTHORIZED
        [answer] = await scene.call("SendMessage", sending("orders"), **signed("shop-key", WHEN, "wrong"))
        assert answer.status.message == UNKNOWN
        assert scene.refused() == (1, 2)
        scene.address = "10.9.9.9:1"
        assert await scene.code("", "SendMessage", sending("orders")) == m.Code.OK
        [found, *_] = await scene.receive_as("", "orders", "billing")
        assert found.body == b"o-1"


async def test_without_authorization_every_user_may_do_everything() -> None:
    known = AccessSettings(authentication="acl2", initial_user=f"admin:{SECRET}")
    async with GuardedScene(known, topics={"orders": 1}, clock=ManualClock()) as scene:
        assert await scene.code("admin", "SendMessage", sending("orders")) == m.Code.OK
        stream = await scene.join_as("admin", producer_settings("orders"), "p@1")
        assert stream.answers[0].status.code == m.Code.OK
        assert await scene.code("", "QueryRoute", CALLS["QueryRoute"]()) == m.Code.UNAUTHORIZED
        stream = await scene.join_as("admin", consumer_settings("billing", "orders"), "c@1")
        assert stream.answers[0].settings.subscription.group.name == "billing"


# The service of a broker


def serving(options: dict[str, Any], **plugins: Any) -> AsyncCluster:
    cluster = AsyncCluster(
        plugins=PluginManager().configured({"grpc": {"port": 0, **options}, **plugins}),
        broker={"services": ("grpc",)},
    )
    cluster.enforce(SETTINGS)
    return cluster


def port_of(cluster: AsyncCluster) -> int:
    offered = cluster.broker.service_port.offered("grpc.port")
    assert offered is not None
    return int(offered())


async def code_over(channel: grpc.aio.Channel, headers: dict[str, str]) -> int:
    method: Any = channel.unary_unary(
        f"{SERVICE}QueryRoute",
        request_serializer=lambda each: each.SerializeToString(),
        response_deserializer=m.QueryRouteResponse.FromString,
    )
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    answer = await method(CALLS["QueryRoute"](), metadata=[("x-mq-client-id", "a@1"), *named], timeout=20)
    return int(answer.status.code)


async def test_the_service_asks_the_access_control_of_its_broker() -> None:
    async with serving({"tls": "disabled"}) as cluster:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port_of(cluster)}") as channel:
            given = ({}, signed("admin", WHEN, "wrong"), signed("admin", WHEN))
            codes = [await code_over(channel, headers) for headers in given]
        assert codes == [m.Code.UNAUTHORIZED, m.Code.UNAUTHORIZED, m.Code.TOPIC_NOT_FOUND]
        assert cluster.broker._listeners.refused()["authenticationFailures"] == "2"


@pytest.mark.parametrize("shown", [True, False])
async def test_the_certificate_that_a_client_shows_stands_for_a_user(tmp_path: Path, *, shown: bool) -> None:
    authority = trustme.CA()
    server = certificates.issue(authority, tmp_path / "server")
    client = certificates.issue(authority, tmp_path / "client", common_name="shop.example.org")
    options = {
        "tls": "enforcing",
        "tls_cert_file": server.cert,
        "tls_key_file": server.key,
        "tls_client_auth": "optional",
        "tls_client_ca_file": server.ca,
    }
    acl2 = {"certificate_users": {"shop.example.org": "admin"}}
    root, key, chain = (Path(each).read_bytes() for each in (server.ca, client.key, client.cert))
    credentials = grpc.ssl_channel_credentials(root, *((key, chain) if shown else ()))
    async with (
        serving(options, acl2=acl2) as cluster,
        grpc.aio.secure_channel(f"localhost:{port_of(cluster)}", credentials) as channel,
    ):
        code = await code_over(channel, {})
    assert code == (m.Code.TOPIC_NOT_FOUND if shown else m.Code.UNAUTHORIZED)

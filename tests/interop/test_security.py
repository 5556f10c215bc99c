"""Access keys and TLS against Apache's servers, and clients of other languages with keys or TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certificates
import pytest
from certificates import Pems
from mqframe_acl import AclHook, AclOptions
from mqframe_testing import Cluster
from real_time import until

from interop.apache import Apache
from interop.conftest import java_client
from interop.foreign import ForeignClient
from interop.guarded import ADMIN, signed
from interop.mqadmin import running
from interop.servers import Servers
from mqframe import (
    AccessError,
    Admin,
    AsyncProducer,
    AsyncPuller,
    ClientSettings,
    ConsumeResult,
    Message,
    MqframeError,
    NetSettings,
    Producer,
    Puller,
    PushConsumer,
    RpcHook,
    TlsError,
    TransactionProducer,
)
from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Frame
from mqframe.net.access.settings import AccessSettings
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock


class Count(RpcHook):
    """Counts requests of one code."""

    def __init__(self, code: int) -> None:
        self._code = code
        self.seen = 0

    def before(self, address: str, request: Frame) -> None:
        self.seen += request.code == self._code


@pytest.fixture
def topic(guarded: Servers, request: pytest.FixtureRequest) -> str:
    name = request.node.originalname
    with Admin(nameserver=guarded.nameserver, **signed()) as admin:
        admin.topics.create(name, queues=1)
        until(lambda: name in admin.topics.list())
    return name


def send_and_read(servers: Servers, topic: str, access: dict[str, Any]) -> None:
    """Every way of sending, and reading back, by each kind of client."""

    def end() -> int:
        with Puller(nameserver=servers.nameserver, **access) as puller:
            return puller.max_offset(puller.queues(topic)[0])

    with Producer("p", nameserver=servers.nameserver, **access) as producer:
        producer.send(Message(topic, b"one", tag="größer", keys=["k"]))
        producer.send_batch([Message(topic, b"two"), Message(topic, b"three")])
        producer.send_oneway(Message(topic, b"four"))
        until(lambda: end() == 4)
        producer.submit(Message(topic, b"five" * 2000)).result(120)

    async def awaited() -> None:
        async with AsyncProducer("p", nameserver=servers.nameserver, **access) as producer:
            await producer.send(Message(topic, b"six"))
        async with AsyncPuller("g", nameserver=servers.nameserver, **access) as puller:
            [queue] = await puller.queues(topic)
            assert await puller.max_offset(queue) == 6

    asyncio.run(awaited())
    with Puller(nameserver=servers.nameserver, **access) as puller:
        [queue] = puller.queues(topic)
        bodies, offset = [], 0
        while offset < 6:
            result = puller.pull(queue, offset)
            bodies += [message.body for message in result.messages]
            offset = result.next_offset
    assert bodies == [b"one", b"two", b"three", b"four", b"five" * 2000, b"six"]


@pytest.mark.proves("signatures")
def test_signed_requests_are_served(guarded: Servers, topic: str) -> None:
    send_and_read(guarded, topic, signed())


@pytest.mark.proves("signatures", "TLS")
def test_signed_requests_are_served_by_tls(guarded: Servers, topic: str, pems: Pems) -> None:
    send_and_read(guarded, topic, {**signed(), "net": pems.client()})


@pytest.mark.proves("signatures")
def test_a_consumer_signs_its_heartbeats_and_commits(guarded: Servers, topic: str, pems: Pems) -> None:
    access = {**signed(), "net": pems.client()}
    group = f"{topic}_group"
    with Admin(nameserver=guarded.nameserver, **access) as admin:
        admin.groups.create(group)
        with Producer("p", nameserver=guarded.nameserver, **access) as producer:
            for n in range(20):
                producer.send(Message(topic, b"%d" % n))
        got: list[bytes] = []
        often = ClientSettings(persist_offsets_seconds=0.1)
        consumer = PushConsumer(
            group, nameserver=guarded.nameserver, consume_from="first", client=often, **access
        )

        @consumer.on(topic)
        def handle(messages: list[Any], context: object) -> ConsumeResult:
            got.extend(message.body for message in messages)
            return ConsumeResult.SUCCESS

        with consumer:
            until(lambda: len(got) == 20)
            assert [member.language for member in admin.members.consumers(group).connection_set] == ["PYTHON"]
            # From then on no pull is under way whose older commit could undo the last one.
            until(lambda: admin.groups.lag(group) == 0)
        assert sorted(got, key=int) == [b"%d" % n for n in range(20)]
        until(lambda: admin.groups.lag(group) == 0)


@pytest.mark.proves("signatures")
def test_transactions_are_signed(guarded: Servers, topic: str) -> None:
    with (
        TransactionProducer("tp", nameserver=guarded.nameserver, **signed()) as producer,
        producer.transaction(Message(topic, b"committed")),
    ):
        pass
    with Puller(nameserver=guarded.nameserver, **signed()) as puller:
        [queue] = puller.queues(topic)
        until(lambda: puller.max_offset(queue) == 1)
        assert puller.pull(queue, 0).messages[0].body == b"committed"


@pytest.mark.proves("signatures")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"secret_key": "wrong-secret"}, "check signature failed"),
        ({"access_key": "nobody"}, "User:nobody is not found"),
    ],
)
def test_a_wrong_key_is_refused_and_said_so(
    guarded: Servers, topic: str, change: dict[str, str], said: str
) -> None:
    access = signed(**change)
    sends = Count(310)
    access["rpc_hooks"].append(sends)
    with (
        Producer("p", nameserver=guarded.nameserver, **access) as producer,
        pytest.raises(AccessError) as caught,
    ):
        producer.send(Message(topic, b"x"))
    assert f"{said}; check the keys that requests are signed with" in str(caught.value)
    assert "wrong-secret" not in str(caught.value)
    assert guarded.broker in str(caught.value)
    with Puller(nameserver=guarded.nameserver, **access) as puller, pytest.raises(AccessError, match=said):
        puller.max_offset(puller.queues(topic)[0])
    with Admin(nameserver=guarded.nameserver, **access) as admin, pytest.raises(AccessError, match=said):
        admin.brokers.config(guarded.broker)
    assert sends.seen == 1  # it will not be right the next time
    with Puller(nameserver=guarded.nameserver, **signed()) as puller:
        assert puller.max_offset(puller.queues(topic)[0]) == 0


@pytest.mark.proves("signatures")
def test_who_does_not_sign_is_refused(guarded: Servers, topic: str) -> None:
    with Producer("p", nameserver=guarded.nameserver) as producer, pytest.raises(AccessError) as caught:
        producer.send(Message(topic, b"x"))
    assert "check the keys that requests are signed with" in str(caught.value)


class CreateUser(Request):
    """AUTH_CREATE_USER, which only this test needs."""

    CODE = 3001
    username: str


@pytest.mark.proves("users")
def test_a_user_without_rights_is_refused(guarded: Servers, topic: str) -> None:
    hook = AclHook(AclOptions(**ADMIN))
    client = BlockingClient(SystemClock(), rpc_hooks=[hook])
    body = b'{"username":"reader","password":"87654321","userType":"Normal"}'
    answer = client.invoke(guarded.broker, CreateUser("reader"), body)
    client.close()
    assert answer.code == 0, answer.remark
    access = signed(access_key="reader", secret_key="87654321")
    with (
        Producer("p", nameserver=guarded.nameserver, **access) as producer,
        pytest.raises(AccessError, match=r"User:reader has no permission to access .*what their user may do"),
    ):
        producer.send(Message(topic, b"x"))


def facts_of(name: str, admin: Admin, server: str) -> tuple[Any, ...]:
    """A user as `server` knows it, and what the user may do."""
    (user,) = [each for each in admin.users.list(server=server) if each.username == name]
    entries = [
        (entry.resource, entry.decision, sorted(entry.actions or ()), entry.source_ips)
        for acl in admin.policies.list(name, server=server)
        for policy in acl.policies or ()
        for entry in policy.entries or ()
    ]
    return user.password, user.user_type, user.user_status, sorted(entries)


def test_users_and_policies_are_copied_between_apache_and_ours(
    guarded: Servers, newest_class_path: str, tmp_path: Path
) -> None:
    cluster = Cluster(directory=tmp_path / "servers")
    cluster.cluster.enforce(
        AccessSettings(authentication="acl2", authorization="acl2", initial_user="rocketmq:12345678")
    )
    with (
        cluster,
        Admin(nameserver=guarded.nameserver, **signed()) as apache,
        Admin(nameserver=cluster.nameserver, **signed()) as ours,
        running(newest_class_path, guarded.nameserver, tmp_path, tuple(ADMIN.values())) as mqadmin,
    ):
        there, here = (apache, guarded.broker), (ours, cluster.broker.address)
        for name, source, target in (("by-apache", there, here), ("by-ours", here, there)):
            admin, server = source
            admin.users.create(name, "secret-78", server=server)
            some = ["Topic:or*", "Group:*"]
            admin.policies.set(name, some, actions=["Pub", "Sub"], sources=["127.0.0.1"], server=server)
            admin.policies.set(name, ["Topic:orders"], allow=False, server=server)
            for words in (("copyUser", "-u", name), ("copyAcl", "-s", f"User:{name}")):
                printed = mqadmin(*words, "-f", server, "-t", target[1])
                said = f"{words[2]} from {server} to {target[1]} success"
                assert any(said in line for line in printed), printed
            found = facts_of(name, *target)
            assert found == facts_of(name, *source)
            assert found[:3] == ("secret-78", "Normal", "enable")
            assert [entry[:2] for entry in found[3]] == [
                ("Group:*", "Allow"), ("Topic:or*", "Allow"), ("Topic:orders", "Deny"),
            ]  # fmt: skip


@pytest.mark.proves("TLS")
def test_certificates_of_apache_are_verified(guarded: Servers, topic: str, tmp_path: Path) -> None:
    stranger = certificates.make(tmp_path)
    with (
        Puller(nameserver=guarded.nameserver, net=stranger.client(), **signed()) as puller,
        pytest.raises(TlsError, match=r"its certificate is refused: .*set tls_ca_file"),
    ):
        puller.queues(topic)
    everybody = NetSettings(tls=True, tls_verify="none")
    with Puller(nameserver=guarded.nameserver, net=everybody, **signed()) as puller:
        assert len(puller.queues(topic)) == 1


@pytest.mark.proves("TLS", by="Apache 5.3.3")
def test_modes_of_apache_name_servers(newest_class_path: str, tmp_path: Path) -> None:
    """One that takes TLS only, with the certificate that it makes for itself, and one that takes none."""
    answers, hasty = [], ClientSettings(patience_seconds=0)
    for mode in ("enforcing", "disabled"):
        home = tmp_path / mode
        home.mkdir()
        apache = Apache(newest_class_path, home, flags=[f"-Dtls.server.mode={mode}"])
        apache.start_names()
        try:
            for net in (None, NetSettings(tls=True, tls_verify="none"), NetSettings(tls=True)):
                with Puller(nameserver=apache.servers.nameserver, net=net, client=hasty) as puller:
                    try:
                        answers.append(str(puller.topics()))
                    except MqframeError as problem:
                        answers.append(f"{type(problem).__name__} {problem}")
        finally:
            apache.stop()
    plain, secured, verified, plain_again, refused, refused_again = answers
    assert plain.startswith("RouteError")
    assert "before it said anything, as servers do that take TLS only; if it is one, set tls" in plain
    assert secured == "[]" or "TBW102" in secured
    assert verified.startswith("TlsError")
    assert "set tls_ca_file to the authority that signed it" in verified
    assert plain_again == secured
    for answer in (refused, refused_again):
        assert answer.startswith("RouteError")
        assert "if it takes plain connections only, leave out tls" in answer


# Clients of other languages

SIGNED = ("access=rocketmq", "secret=12345678")


@pytest.mark.proves("signatures")
@pytest.mark.parametrize("language", ["go", "node"])
def test_clients_of_other_languages_sign(
    request: pytest.FixtureRequest, guarded: Servers, language: str
) -> None:
    start: Callable[..., ForeignClient] = request.getfixturevalue(language)
    nameserver, group, topic = guarded.nameserver, f"{language}_signing", f"{language}_signed"
    with Admin(nameserver=nameserver, **signed()) as admin:
        admin.topics.create(topic, queues=1)
        until(lambda: topic in admin.topics.list())
        admin.groups.create(group)
    sent = start("send", nameserver, topic, "sync", "4", *SIGNED).finish()
    assert [line[0] for line in sent] == ["sent"] * 4
    member = start("consume", nameserver, topic, group, *SIGNED)
    assert sorted(line[7] for line in member.take("got", 4)) == [f"sync-{n}" for n in range(4)]
    member.finish()
    wrong = start("send", nameserver, topic, "sync", "1", SIGNED[0], "secret=wrong-secret")
    wrong.take("refused", 1)
    with Puller(nameserver=nameserver, **signed()) as puller:
        assert puller.max_offset(puller.queues(topic)[0]) == 4


@pytest.mark.proves("signatures")
@pytest.mark.parametrize("language", ["go", "node"])
def test_our_servers_serve_who_signs(request: pytest.FixtureRequest, cluster: Cluster, language: str) -> None:
    start: Callable[..., ForeignClient] = request.getfixturevalue(language)
    cluster.create_topic("signed", queues=1)
    start("send", cluster.nameserver, "signed", "sync", "4", *SIGNED).finish()
    member = start("consume", cluster.nameserver, "signed", "signing", *SIGNED)
    assert sorted(line[7] for line in member.take("got", 4)) == [f"sync-{n}" for n in range(4)]
    member.finish()


# Apache's client, our servers


@pytest.mark.proves("TLS")
@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
def test_java_by_tls_with_our_servers(newest_class_path: str, tmp_path: Path, pems: Pems, mode: str) -> None:
    net = pems.server(tls_server_mode=mode, tls=True, tls_ca_file=pems.ca)
    flags = [
        "-Dtls.enable=true", "-Dtls.test.mode.enable=false", "-Dtls.client.authServer=true",
        f"-Dtls.client.trustCertPath={pems.ca}",
    ]  # fmt: skip
    with Cluster(sections=[net]) as cluster:
        with Admin(nameserver=cluster.nameserver, net=pems.client()) as admin:
            admin.topics.create("secured", queues=2)
        arguments = ["send", cluster.nameserver, "secured", "sync", "8"]
        java = java_client(newest_class_path, arguments, tmp_path, flags)
        try:
            sent = java.finish()
        finally:
            java.end()
        assert [line[:2] for line in sent] == [["sent", "SEND_OK"]] * 8
        with Puller(nameserver=cluster.nameserver, net=pems.client()) as puller:
            found = [puller.pull(queue, 0).messages for queue in puller.queues("secured")]
        bodies = sorted(message.body for messages in found for message in messages)
        assert bodies == [b"sync-%d" % n for n in range(8)]


@pytest.mark.proves("TLS")
def test_java_without_tls_is_refused_where_it_is_enforced(
    newest_class_path: str, tmp_path: Path, pems: Pems
) -> None:
    net = pems.server(tls_server_mode="enforcing", tls=True, tls_ca_file=pems.ca)
    with Cluster(sections=[net]) as cluster:
        java = java_client(newest_class_path, ["queues", cluster.nameserver, "secured"], tmp_path)
        try:
            with pytest.raises(AssertionError, match=r"MQClientException"):
                java.finish()
        finally:
            java.end()

"""Servers that ask who sends a request: nothing passes unsigned, and users do what they may."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import certificates
import pytest
import trustme
from mqframe_testing.cluster import AsyncCluster
from scenarios.access_scenes import bare, enforcing, keys, plugins_hooks

from mqframe import AccessError, AsyncAdmin, AsyncProducer, AsyncPuller, Message
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.messages import ConsumerSendMsgBack
from mqframe.hooks.interfaces import RpcHook
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock

UNKNOWN_CODES = (0, 1, 2, 9, 99, 3011, 3999, 21_999, 2**31 - 1, -1)


async def test_not_one_request_passes_unsigned(tmp_path: Path) -> None:
    async with enforcing(tmp_path) as cluster:
        client = Client(SystemClock())
        for address in (cluster.broker.address, cluster.nameserver):
            for code in [*sorted(REQUESTS), *UNKNOWN_CODES]:
                answer = await client.invoke(address, bare(code))
                assert (code, answer.code) == (code, ResponseCode.NO_PERMISSION)
                assert answer.remark == "Authentication failed. Please verify the credentials and try again."
                assert not bytes(answer.body)
        await client.close()


class WrongSignature(RpcHook):
    name = "wrong"

    def __init__(self, **fields: str) -> None:
        self.fields = fields

    def before(self, address: str, request: Any) -> None:
        request.ext = (request.ext or {}) | self.fields


@pytest.mark.parametrize(
    "fields",
    [
        {"AccessKey": "admin"},
        {"AccessKey": "admin", "Signature": ""},
        {"AccessKey": "admin", "Signature": "c2VjcmV0"},
        {
            "AccessKey": "admin",
            "Signature": chr(233) + chr(0x1F600),
        },
        {"AccessKey": "nobody", "Signature": "c2VjcmV0"},
        {"AccessKey": "", "Signature": ""},
        {"Signature": "c2VjcmV0"},
    ],
)
async def test_all_that_is_wrong_is_answered_alike(tmp_path: Path, fields: dict[str, str]) -> None:
    async with enforcing(tmp_path) as cluster:
        client = Client(SystemClock(), rpc_hooks=[WrongSignature(**fields)])
        for code in sorted(REQUESTS):
            answer = await client.invoke(cluster.broker.address, bare(code))
            assert answer.code == ResponseCode.NO_PERMISSION
            assert answer.remark == "Authentication failed. Please verify the credentials and try again."
        await client.close()


async def test_a_known_user_without_policies_may_do_nothing(tmp_path: Path) -> None:
    """But for what needs no more than to be known: to hand a reply on, or to say that it stops."""
    free = {34, 35, 46, 37, 39, 200151, 18, 225, 41, 42, 400, 401, 200, 324, 325, 326}
    async with enforcing(tmp_path) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            await admin.users.create("shop", "secret")
        hooks = plugins_hooks(keys("shop"))
        client = Client(SystemClock(), rpc_hooks=hooks)
        for address in (cluster.broker.address, cluster.nameserver):
            for code in [*sorted(REQUESTS.keys() - free), *UNKNOWN_CODES]:
                answer = await client.invoke(address, bare(code))
                assert (code, answer.code) == (code, ResponseCode.NO_PERMISSION)
                assert "User:shop has no permission" in (answer.remark or "")
        await client.close()


async def test_users_do_what_their_policies_allow(tmp_path: Path) -> None:
    async with enforcing(tmp_path) as cluster:
        ns = cluster.nameserver
        async with AsyncAdmin(nameserver=ns, rpc_hooks=keys("admin")) as admin:
            await admin.topics.create("orders", queues=1)
            await admin.topics.create("secrets", queues=1)
            await admin.users.create("shop", "secret")
            await admin.policies.set("shop", ["Topic:orders"], actions=["Pub"])
            async with AsyncProducer(group="shop", nameserver=ns, rpc_hooks=keys("shop")) as producer:
                sent = await producer.send(Message("orders", b"one"))
                with pytest.raises(AccessError, match="User:shop has no permission to access Topic:secrets"):
                    await producer.send(Message("secrets", b"two"))
                await admin.policies.set("shop", ["Topic:orders"], actions=["Pub"], allow=False)
                with pytest.raises(AccessError):
                    await producer.send(Message("orders", b"three"))
            await admin.users.create("reader", "secret")
            await admin.policies.set("reader", ["Topic:*", "Group:*"], actions=["Sub"])
            async with AsyncPuller(nameserver=ns, rpc_hooks=keys("reader")) as puller:
                found = await puller.pull(sent.queue, sent.queue_offset)
                assert [message.body for message in found.messages] == [b"one"]
                await admin.users.update("reader", enabled=False)
                with pytest.raises(AccessError, match="Authentication failed"):
                    await puller.pull(sent.queue, sent.queue_offset)


async def test_nobody_has_a_foreign_message_sent_back_to_read_it(tmp_path: Path) -> None:
    async with enforcing(tmp_path) as cluster:
        ns = cluster.nameserver
        async with AsyncAdmin(nameserver=ns, rpc_hooks=keys("admin")) as admin:
            for topic in ("orders", "secrets"):
                await admin.topics.create(topic, queues=1)
            await admin.groups.create("shop")
            await admin.users.create("shop", "secret")
            await admin.policies.set("shop", ["Topic:orders", "Group:shop"], actions=["Sub"])
        async with AsyncProducer(group="p", nameserver=ns, rpc_hooks=keys("admin")) as producer:
            offsets = [
                parse_offset_id((await producer.send(Message(topic, b"body"))).offset_message_id)[1]
                for topic in ("orders", "secrets")
            ]
        client = Client(SystemClock(), rpc_hooks=plugins_hooks(keys("shop")))
        answers = [
            await client.invoke(
                cluster.broker.address, ConsumerSendMsgBack(offset, "shop", 0, origin_topic=named)
            )
            for named in ("orders", "secrets", None)
            for offset in offsets
        ]
        await client.close()
        assert [answer.code for answer in answers] == [0, ResponseCode.NO_PERMISSION] * 3
        assert "User:shop has no permission to access Topic:secrets" in (answers[1].remark or "")


async def test_users_outlive_the_servers(tmp_path: Path) -> None:
    async with (
        enforcing(tmp_path) as cluster,
        AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin,
    ):
        await admin.users.create("shop", "secret")
        await admin.policies.set("shop", ["Topic:orders"], actions=["Pub", "Sub"], sources=["10.0.0.0/8"])
        before = await admin.users.list(), await admin.policies.list()
        await admin.users.update("admin", secret="changed")
    async with enforcing(tmp_path) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin", "changed")) as admin:
            users = {user.username: user for user in await admin.users.list()}
            assert users.keys() == {"admin", "inner", "shop"}
            assert users["shop"] in before[0]
            assert await admin.policies.list() == before[1]
            await admin.users.delete("shop")
            assert await admin.policies.list() == []
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            with pytest.raises(AccessError):
                await admin.users.list()


async def test_changes_are_written_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqframe.audit")
    async with enforcing(tmp_path) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            await admin.topics.create("orders", queues=1)
            await admin.users.create("shop", "s3cr3t")
            await admin.policies.set("shop", ["Cluster:*"], actions=["Get"])
            with pytest.raises(AnswerError):
                await admin.topics.delete("not/one")
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("shop", "s3cr3t")) as shop:
            with pytest.raises(AccessError):
                await shop.topics.create("mine")
    lines = [record.getMessage() for record in caplog.records if record.name == "mqframe.audit"]
    told = [line for line in lines if line.startswith("UpdateAndCreateTopic user='admin' peer='127.0.0.1:")]
    assert len(told) == 1
    assert "outcome='done'" in told[0]
    assert "'topic': 'orders'" in told[0]
    assert any(line.startswith("AuthCreateUser user='admin'") for line in lines)
    assert any(line.startswith("AuthUpdateAcl") for line in lines)
    assert any(
        line.startswith("UpdateAndCreateTopic user='shop'") and "outcome='refused: " in line for line in lines
    )
    assert not any("s3cr3t" in line or "Signature" in line for line in lines)


async def test_a_certificate_stands_for_a_user(tmp_path: Path) -> None:
    authority = trustme.CA()
    server = certificates.issue(authority, tmp_path / "server")
    shop = certificates.issue(authority, tmp_path / "shop", common_name="shop.example.org")
    old = certificates.issue(authority, tmp_path / "old", common_name="shop.example.org", expired=True)
    early = certificates.issue(authority, tmp_path / "early", common_name="shop.example.org", early=True)
    net = server.server(
        tls=True, tls_ca_file=server.ca, tls_server_client_auth="optional", tls_server_ca_file=server.ca
    )
    users = {"acl2": {"certificate_users": {"shop.example.org": "shop"}}}
    async with enforcing(
        tmp_path / "data", sections=[net], plugins=PluginManager().configured(users)
    ) as cluster:
        ns = cluster.nameserver
        secured = server.client()
        async with AsyncAdmin(nameserver=ns, net=secured, rpc_hooks=keys("admin")) as admin:
            await admin.topics.create("orders", queues=1)
            await admin.users.create("shop", "secret")
            await admin.policies.set("shop", ["Topic:orders"], actions=["Pub"])
            known = shop.client(tls_cert_file=shop.cert, tls_key_file=shop.key)
            async with AsyncProducer(group="shop", nameserver=ns, net=known) as producer:
                await producer.send(Message("orders", b"by certificate"))
                untimely = [
                    each.client(tls_cert_file=each.cert, tls_key_file=each.key) for each in (old, early)
                ]
                for net in (*untimely, secured):
                    async with AsyncProducer(group="shop", nameserver=ns, net=net) as stranger:
                        with pytest.raises(MqframeError):
                            await stranger.send(Message("orders", b"without"))
                await producer.send(Message("orders", b"still"))
                await admin.users.update("shop", enabled=False)
                with pytest.raises(AccessError):
                    await producer.send(Message("orders", b"no more"))


async def test_accounts_of_plain_acl(tmp_path: Path) -> None:
    accounts = """
accounts:
  - {accessKey: operator, secretKey: operator1, admin: true}
  - {accessKey: shop-key, secretKey: shopsecret, topicPerms: [orders=PUB|SUB], groupPerms: [shop=SUB]}
"""
    (tmp_path / "plain_acl.yml").write_text(accounts)
    cluster = AsyncCluster(
        plugins=PluginManager().configured({"plain_acl": {"file": str(tmp_path / "plain_acl.yml")}})
    )
    cluster.enforce(
        AccessSettings(
            authentication="plain_acl", authorization="plain_acl", inner_credentials="inner:of the servers"
        )
    )
    async with cluster:
        ns = cluster.nameserver
        async with AsyncAdmin(nameserver=ns, rpc_hooks=keys("operator", "operator1")) as admin:
            await admin.topics.create("orders", queues=1)
            await admin.topics.create("others", queues=1)
        shop = keys("shop-key", "shopsecret")
        async with AsyncProducer(group="shop", nameserver=ns, rpc_hooks=shop) as producer:
            await producer.send(Message("orders", b"one"))
            with pytest.raises(AccessError):
                await producer.send(Message("others", b"two"))
        async with AsyncAdmin(nameserver=ns, rpc_hooks=shop) as admin:
            with pytest.raises(AccessError):
                await admin.topics.create("mine")


async def test_no_rubbish_harms_another_connection(tmp_path: Path) -> None:
    """Fields, signatures and bodies of every kind of nonsense, beside a producer that is served as ever."""
    chance = random.Random(20_261)
    texts = ("", "admin", "secret", chr(0), chr(0x1F600) * 50, "x" * 60_000, "%RETRY%", "*", "-1")
    async with enforcing(tmp_path) as cluster:
        ns, broker = cluster.nameserver, cluster.broker.address
        async with AsyncAdmin(nameserver=ns, rpc_hooks=keys("admin")) as admin:
            await admin.topics.create("orders", queues=1)
        known = Client(SystemClock(), rpc_hooks=plugins_hooks(keys("admin")))
        async with AsyncProducer(group="shop", nameserver=ns, rpc_hooks=keys("admin")) as producer:
            for _ in range(60):
                kind = REQUESTS[chance.choice(sorted(REQUESTS))]
                names = [*kind.__struct_encode_fields__, "Signature", "AccessKey"]
                fields = {chance.choice(names): chance.choice(texts) for _ in range(chance.randrange(8))}
                body = chance.choice((b"", b"{", b"[]", chance.randbytes(1000)))
                unknown = Client(SystemClock(), rpc_hooks=[WrongSignature(**fields)])
                answer = await unknown.invoke(broker, bare(kind.CODE), body)
                assert answer.code == ResponseCode.NO_PERMISSION
                await unknown.close()
                assert (await known.invoke(broker, bare(kind.CODE), body)).code is not None
                assert (await producer.send(Message("orders", b"as ever"))).status.name == "SEND_OK"
        await known.close()

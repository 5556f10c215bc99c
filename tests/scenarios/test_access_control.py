"""Servers that ask who sends a request: nothing passes unsigned, and users do what they may."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from mqframe import AccessError, AsyncAdmin, AsyncProducer, AsyncPuller, Message
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError
from mqframe.core.requests import REQUESTS, Request
from mqframe.hooks.interfaces import RpcHook
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock
from mqframe.testing.cluster import AsyncCluster

P = ParamSpec("P")
SETTINGS = AccessSettings(
    authentication="acl2", authorization="acl2", initial_user="admin:secret", inner_credentials="inner:inside"
)
UNKNOWN_CODES = (0, 1, 2, 9, 99, 3011, 3999, 21_999, 2**31 - 1, -1)


def in_a_loop(scenario: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """`scenario` as a test."""

    @wraps(scenario)
    def test(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(scenario(*args, **kwargs))

    return test


def keys(user: str, secret: str = "secret") -> list[Any]:
    return [("acl", {"access_key": user, "secret_key": secret})]


@asynccontextmanager
async def enforcing(directory: Path, **more: Any) -> AsyncIterator[AsyncCluster]:
    cluster = AsyncCluster(directory=directory, **more)
    cluster.enforce(SETTINGS)
    async with cluster:
        yield cluster


def bare(code: int) -> Request:
    """A request of any code, without fields."""
    kind: Any = type("Bare", (Request,), {})
    kind.CODE = code
    return kind()  # type: ignore[no-any-return]


@in_a_loop
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
@in_a_loop
async def test_all_that_is_wrong_is_answered_alike(tmp_path: Path, fields: dict[str, str]) -> None:
    async with enforcing(tmp_path) as cluster:
        client = Client(SystemClock(), rpc_hooks=[WrongSignature(**fields)])
        for code in sorted(REQUESTS):
            answer = await client.invoke(cluster.broker.address, bare(code))
            assert answer.code == ResponseCode.NO_PERMISSION
            assert answer.remark == "Authentication failed. Please verify the credentials and try again."
        await client.close()


@in_a_loop
async def test_a_known_user_without_policies_may_do_nothing(tmp_path: Path) -> None:
    """But for what needs no more than to be known: to hand a reply on, or to say that it stops."""
    free = {34, 35, 46, 37, 39, 200151, 18, 225, 41, 42, 400, 401, 200, 324, 325, 326}
    async with enforcing(tmp_path) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            await admin.create_user("shop", "secret")
        hooks = plugins_hooks(keys("shop"))
        client = Client(SystemClock(), rpc_hooks=hooks)
        for address in (cluster.broker.address, cluster.nameserver):
            for code in [*sorted(REQUESTS.keys() - free), *UNKNOWN_CODES]:
                answer = await client.invoke(address, bare(code))
                assert (code, answer.code) == (code, ResponseCode.NO_PERMISSION)
                assert "User:shop has no permission" in (answer.remark or "")
        await client.close()


def plugins_hooks(choices: list[Any]) -> tuple[RpcHook, ...]:
    return PluginManager().create_all("rpc_hook", choices)


@in_a_loop
async def test_users_do_what_their_policies_allow(tmp_path: Path) -> None:
    async with enforcing(tmp_path) as cluster:
        ns = cluster.nameserver
        async with AsyncAdmin(nameserver=ns, rpc_hooks=keys("admin")) as admin:
            await admin.create_topic("orders", queues=1)
            await admin.create_topic("secrets", queues=1)
            await admin.create_user("shop", "secret")
            await admin.set_policy("shop", ["Topic:orders"], actions=["Pub"])
            async with AsyncProducer(group="shop", nameserver=ns, rpc_hooks=keys("shop")) as producer:
                sent = await producer.send(Message("orders", b"one"))
                with pytest.raises(AccessError, match="User:shop has no permission to access Topic:secrets"):
                    await producer.send(Message("secrets", b"two"))
                await admin.set_policy("shop", ["Topic:orders"], actions=["Pub"], allow=False)
                with pytest.raises(AccessError):
                    await producer.send(Message("orders", b"three"))
            await admin.create_user("reader", "secret")
            await admin.set_policy("reader", ["Topic:*", "Group:*"], actions=["Sub"])
            async with AsyncPuller(nameserver=ns, rpc_hooks=keys("reader")) as puller:
                found = await puller.pull(sent.queue, sent.queue_offset)
                assert [message.body for message in found.messages] == [b"one"]
                await admin.update_user("reader", enabled=False)
                with pytest.raises(AccessError, match="Authentication failed"):
                    await puller.pull(sent.queue, sent.queue_offset)


@in_a_loop
async def test_users_outlive_the_servers(tmp_path: Path) -> None:
    async with (
        enforcing(tmp_path) as cluster,
        AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin,
    ):
        await admin.create_user("shop", "secret")
        await admin.set_policy("shop", ["Topic:orders"], actions=["Pub", "Sub"], sources=["10.0.0.0/8"])
        before = await admin.users(), await admin.policies()
        await admin.update_user("admin", secret="changed")
    async with enforcing(tmp_path) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin", "changed")) as admin:
            users = {user.username: user for user in await admin.users()}
            assert users.keys() == {"admin", "inner", "shop"}
            assert users["shop"] in before[0]
            assert await admin.policies() == before[1]
            await admin.delete_user("shop")
            assert await admin.policies() == []
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            with pytest.raises(AccessError):
                await admin.users()


@in_a_loop
async def test_changes_are_written_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqframe.audit")
    async with enforcing(tmp_path) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            await admin.create_topic("orders", queues=1)
            await admin.create_user("shop", "s3cr3t")
            await admin.set_policy("shop", ["Cluster:*"], actions=["Get"])
            with pytest.raises(AnswerError):
                await admin.delete_topic("not/one")
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("shop", "s3cr3t")) as shop:
            with pytest.raises(AccessError):
                await shop.create_topic("mine")
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

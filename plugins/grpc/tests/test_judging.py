"""A door in a process of its own that asks who its clients are."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from doors import ADDRESS, producer_settings
from guarded_doors import SECRET, SETTINGS, GuardedScene, acknowledging, sending, signed
from mqframe_acl.table import FILE as FILE_OF_ACL2
from mqframe_grpc.access import Judge
from mqframe_grpc.judging import USERS_SECONDS, ProxyAccess
from mqframe_grpc.outside.users import FILE, BrokerUsers
from mqframe_grpc.proto import messages as m
from mqframe_testing.manual_clock import ManualClock

from mqframe import PluginManager
from mqframe.core.errors import SettingError
from mqframe.hooks.interfaces import AccessPort, Authentication
from mqframe.net.access.access import Access
from mqframe.net.access.settings import AccessSettings

TOPICS = {"orders": 1}
UNKNOWN = "Authentication failed. Please verify the credentials and try again."


class GuardedProxyScene(GuardedScene):
    """A door outside, which has `own` access control; brokers have that of `GuardedScene`."""

    def __init__(
        self, own: AccessSettings = SETTINGS, plugins: PluginManager | None = None, **options: Any
    ) -> None:
        super().__init__(outside=True, **options)
        self.access = ProxyAccess(own, plugins or PluginManager(), self.clock)
        self.rpc_hooks = self.access.rpc_hooks

    async def judge(self) -> Judge:
        running = self.running
        assert running is not None
        await self.access.start(BrokerUsers(running.asking.call, lambda: running.brokers))
        return self.access

    async def close_door(self) -> None:
        self.access.stop()
        await super().close_door()

    async def create_topic(self, name: str, kind: str = "NORMAL", queues: int = 4) -> None:
        await super().create_topic(name, kind, queues)
        await self.cluster.broker.register()

    async def users_are_known(self) -> None:
        await self.pass_time(USERS_SECONDS + 1.0)
        await self.settle()

    def refused(self) -> tuple[int, int]:
        counters = self.access.counters()
        return int(counters["authenticationFailures"]), int(counters["authorizationFailures"])


async def test_users_of_brokers_may_what_they_may_there() -> None:
    async with GuardedProxyScene(topics=TOPICS) as scene:
        await scene.grant("shop", "Topic:orders", actions="Pub")
        await scene.grant("reader", "Topic:orders", "Group:billing", actions="Sub")
        # Until the brokers are asked again they are strangers.
        assert await scene.code("shop", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED
        await scene.users_are_known()
        await scene.send_as("shop", "orders", b"o-1")
        [found] = await scene.receive_as("reader", "orders", "billing")
        assert found.body == b"o-1"
        [answer] = await scene.ask("reader", "AckMessage", acknowledging("billing", found))
        assert [each.status.code for each in answer.entries] == [m.Code.OK]
        assert await scene.code("reader", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED
        assert scene.refused() == (1, 1)
        assert scene.stored("orders")[0].properties["__BORNHOST"] == ADDRESS


async def test_who_is_not_known_is_refused_and_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async with GuardedProxyScene(topics=TOPICS) as scene:
        await scene.grant("shop", "Topic:orders")
        await scene.users_are_known()
        for headers in (
            {},
            signed("shop", "20251128T201500Z", "wrong"),
            signed("stranger", "20251128T201500Z"),
            {"authorization": "rubbish"},
        ):
            [answer] = await scene.call("SendMessage", sending("orders"), **headers)
            assert answer.status.code == m.Code.UNAUTHORIZED
            await scene.pass_time(20.0)
        [answer] = await scene.call("SendMessage", sending("orders"), **signed("nobody", "x"))
        assert answer.status.message == UNKNOWN
        assert scene.refused() == (5, 0)
        assert scene.bodies("orders") == []
    [first, *_] = [each for each in caplog.records if each.name == "mqframe.access"]
    assert "request refused" in first.getMessage()
    assert f"peer='{ADDRESS}'" in first.getMessage()


async def test_telemetry_of_who_may_not_ends() -> None:
    async with GuardedProxyScene(topics=TOPICS) as scene:
        await scene.grant("shop", "Topic:orders", actions="Sub")
        await scene.users_are_known()
        stream = await scene.join_as("shop", producer_settings("orders"))
        await scene.finish(stream.task)
        assert [each.status.code for each in stream.answers] == [m.Code.UNAUTHORIZED]


async def test_addresses_of_clients_count() -> None:
    async with GuardedProxyScene(topics=TOPICS) as scene:
        await scene.grant("shop", "Topic:orders", source="10.0.0.0/24")
        await scene.users_are_known()
        assert await scene.code("shop", "SendMessage", sending("orders")) == m.Code.OK
        scene.address = "10.0.1.7:1"
        assert await scene.code("shop", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED


async def test_what_changes_at_brokers_counts_soon() -> None:
    async with GuardedProxyScene(topics=TOPICS) as scene:
        await scene.grant("shop", "Topic:orders")
        await scene.users_are_known()
        guard = scene.access._guard
        await scene.users_are_known()
        assert scene.access._guard is guard  # nothing has changed
        await scene.disable("shop")
        assert await scene.code("shop", "SendMessage", sending("orders")) == m.Code.OK
        await scene.users_are_known()
        assert await scene.code("shop", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED


async def test_many_users_are_read_beside_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqframe_grpc.judging.SMALL_BYTES", 0)
    read_in: list[str] = []
    made = ProxyAccess._access
    async with GuardedProxyScene(topics=TOPICS) as scene:
        await scene.grant("shop", "Topic:orders")

        def noted(access: ProxyAccess, content: bytes | None) -> Access:
            read_in.append(threading.current_thread().name)
            return made(access, content)

        monkeypatch.setattr(ProxyAccess, "_access", noted)
        await scene.users_are_known()
        assert await scene.code("shop", "SendMessage", sending("orders")) == m.Code.OK
    assert len(read_in) == 1
    assert read_in[0] != threading.main_thread().name


async def test_what_was_said_last_counts_while_brokers_are_away(caplog: pytest.LogCaptureFixture) -> None:
    async with GuardedProxyScene(topics=TOPICS) as scene:
        await scene.grant("shop", "Topic:orders")
        await scene.users_are_known()
        await scene.cluster.stop_broker()
        await scene.finish(scene.pass_time(4 * USERS_SECONDS))
        await scene.settle()
        request = m.HeartbeatRequest(client_type=m.ClientType.PRODUCER)
        assert await scene.code("shop", "Heartbeat", request) != m.Code.UNAUTHORIZED
        assert scene.access.refusal == ""
        assert "those from before stay in force" in caplog.text
        await scene.cluster.start_broker()
        await scene.until(lambda: "are read again" in caplog.text)


async def test_while_no_broker_has_told_anything_nobody_is_served(caplog: pytest.LogCaptureFixture) -> None:
    scene = GuardedProxyScene(topics=TOPICS)
    scene.rpc_hooks = ()  # so brokers tell it nothing
    async with scene:
        [answer] = await scene.ask("admin", "SendMessage", sending("orders"))
        assert answer.status.code == m.Code.INTERNAL_SERVER_ERROR
        assert answer.status.message == scene.access.refusal == "no broker has told yet who its users are"
    assert "nobody is let in until they are" in caplog.text
    assert [each.levelno for each in caplog.records if "nobody is let in" in each.getMessage()] == [
        logging.ERROR
    ]


async def test_a_user_to_whom_secrets_are_not_shown_is_not_enough(caplog: pytest.LogCaptureFixture) -> None:
    scene = GuardedProxyScene(topics=TOPICS)
    async with scene:
        await scene.grant("proxy", "Cluster:*", "Topic:*", "Group:*", actions="All")
        hook = PluginManager().create("rpc_hook", ("acl", {"access_key": "proxy", "secret_key": SECRET}))
        await scene.close_door()
        scene.access = ProxyAccess(SETTINGS, PluginManager(), scene.clock)
        scene.rpc_hooks = (hook,)
        await scene.open_door()
        assert await scene.code("admin", "SendMessage", sending("orders")) == m.Code.INTERNAL_SERVER_ERROR
    assert "tells no secret of" in caplog.text


async def test_accounts_in_a_file_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "plain_acl.yml"
    account = (
        f"accessKey: shopkeeper, secretKey: '{SECRET}', defaultTopicPerm: DENY, topicPerms: [orders=PUB]"
    )
    file.write_text(f"accounts: [{{{account}}}]")
    plugins = PluginManager().configured({"plain_acl": {"file": file}})
    own = AccessSettings(plain=True, inner_credentials="inner:inside")
    async with GuardedProxyScene(own, plugins, topics=TOPICS) as scene:
        assert await scene.code("shopkeeper", "SendMessage", sending("orders")) == m.Code.OK
        assert await scene.code("admin", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED
        [answer] = await scene.ask(
            "shopkeeper", "QueryRoute", m.QueryRouteRequest(topic=m.Resource(name="rest"))
        )
        assert answer.status.code == m.Code.UNAUTHORIZED
        assert scene.refused() == (1, 1)


async def test_without_authorization_whoever_is_known_may_do_everything() -> None:
    own = AccessSettings(authentication="acl2", inner_credentials="inner:inside")
    async with GuardedProxyScene(own, topics=TOPICS) as scene:
        await scene.grant("shop")
        await scene.users_are_known()
        assert await scene.code("shop", "SendMessage", sending("orders")) == m.Code.OK
        assert await scene.code("", "SendMessage", sending("orders")) == m.Code.UNAUTHORIZED


class KeepingElsewhere(Authentication):
    """Keeps its users in a file that nobody else has."""

    name = "keeping"

    def __init__(self, port: AccessPort) -> None:
        port.file("mine.db")


def test_a_plugin_with_files_of_its_own_is_refused() -> None:
    settings = AccessSettings(authentication="test_judging:KeepingElsewhere")
    with pytest.raises(SettingError, match=r"'test_judging:KeepingElsewhere' keeps mine\.db, but a proxy"):
        ProxyAccess(settings, PluginManager(), ManualClock())


def test_the_file_is_that_of_acl2() -> None:
    assert FILE == FILE_OF_ACL2


def test_without_a_plugin_everybody_is_served() -> None:
    access = ProxyAccess(AccessSettings(inner_credentials="inner:inside"), PluginManager(), ManualClock())
    assert (access.asks_nobody, access.rpc_hooks, access.refusal) == (True, (), "")
    assert dict(access.counters()) == {}


def test_hooks_sign_where_there_are_any() -> None:
    plugins = PluginManager()
    hook = plugins.create("rpc_hook", ("acl", {"access_key": "proxy", "secret_key": SECRET}))
    assert ProxyAccess(SETTINGS, plugins, ManualClock(), (hook,)).rpc_hooks == (hook,)
    [signer] = ProxyAccess(SETTINGS, plugins, ManualClock()).rpc_hooks
    assert repr(signer) == "<AclHook inner>"

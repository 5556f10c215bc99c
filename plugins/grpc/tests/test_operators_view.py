"""What operators see of a push consumer, a simple consumer and a producer that speak gRPC."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from doors import ADDRESS, DoorScene, consumer_settings, message, producer_settings
from mqframe_dashboard import create_app
from mqframe_grpc.clients import DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_metrics import BrokerSource
from scrapes import Scrape, scrape

from mqframe import AsyncAdmin
from mqframe.core.codes import VERSION
from mqframe.core.versions import version_number, version_text

PUSH, SIMPLE = m.ClientType.PUSH_CONSUMER, m.ClientType.SIMPLE_CONSUMER
ORDERS = {"is_retry": "false", "topic": "orders"}


class Seen(DoorScene):
    """Five messages, of which each group has received two; `billing` has acknowledged one."""

    async def start(self) -> None:
        await super().start()
        self.admin = await self.open(AsyncAdmin(nameserver=self.nameserver, clock=self.clock))
        self.source = BrokerSource(self.cluster.broker)
        for group in ("billing", "stats"):
            await self.create_group(group)
        java = {"x_mq_language": "JAVA", "x_mq_client_version": "5.0.8"}
        go = {"x_mq_language": "GOLANG", "x_mq_client_version": "v5.1.2"}
        node = {"x_mq_language": "NODE_JS", "x_mq_client_version": "1.0.1"}
        await self.join("push@1", consumer_settings("billing", "orders", kind=PUSH), **java)
        await self.join("simple@1", consumer_settings("stats", "orders", kind=SIMPLE), **go)
        await self.join("p@1", producer_settings("orders"), **node)
        for number in range(5):
            await self.send_one(message("orders", b"%d" % number), "p@1")
        [first, _] = await self.receive("orders", "billing", "push@1", count=2)
        await self.acknowledge("billing", first, client="push@1")
        await self.receive("orders", "stats", "simple@1", count=2)
        await self.pass_time(11.0)
        await self.settle()

    async def members(self, group: str) -> Any:
        return await self.finish(self.admin.members.consumers(group))


async def test_members_with_their_language_version_and_way() -> None:
    async with Seen(topics={"orders": 1}) as scene:
        [push] = (billing := await scene.members("billing")).connection_set
        said = (push.client_id, push.language, version_text(push.version))
        assert said == ("push@1", "JAVA", "5.0.8")
        [simple] = (stats := await scene.members("stats")).connection_set
        assert (simple.client_id, simple.language, simple.version) == (
            "simple@1",
            "GO",
            version_number("5.1.2"),
        )
        assert (billing.consume_type, stats.consume_type) == ("CONSUME_PASSIVELY", "CONSUME_ACTIVELY")
        assert [each.sub_string for each in billing.subscription_table.values()] == ["*"]
        [producer] = (await scene.finish(scene.admin.members.producers("orders"))).connection_set
        assert (producer.client_id, producer.language, producer.version) == ("p@1", "NODE_JS", VERSION)


async def test_a_heartbeat_without_settings_keeps_the_way() -> None:
    async with Seen(topics={"orders": 1}) as scene:
        await scene.close_door()
        await scene.open_door()  # which knows no settings
        for group, kind in (("billing", PUSH), ("stats", SIMPLE)):
            beat = m.HeartbeatRequest(client_type=kind, group=m.Resource(name=group))
            [answer] = await scene.call("Heartbeat", beat, f"{group}@2")
            assert answer.status.code == m.Code.OK
        found = [(await scene.members(group)).consume_type for group in ("billing", "stats")]
        assert found == ["CONSUME_PASSIVELY", "CONSUME_ACTIVELY"]


async def test_what_members_tell_of_themselves() -> None:
    async with Seen(topics={"orders": 1}) as scene:
        began_ms = scene.clock.now_ms() - 60_000
        for group, client, way, version in (
            ("billing", "push@1", "CONSUME_PASSIVELY", "5.0.8"),
            ("stats", "simple@1", "CONSUME_ACTIVELY", "v5.1.2"),
        ):
            info = await scene.finish(scene.admin.members.running_info(group, client))
            assert info.properties["PROP_CONSUME_TYPE"] == way
            assert info.properties["PROP_CLIENT_VERSION"] == version
            since_ms = int(info.properties["PROP_CONSUMER_START_TIMESTAMP"])
            assert began_ms < since_ms <= scene.clock.now_ms()
            assert [each.topic for each in info.subscription_set] == ["orders"]


@pytest.mark.parametrize("outside", [False, True])
async def test_lag_and_what_is_in_flight(outside: bool) -> None:
    async with Seen(topics={"orders": 1}, outside=outside) as scene:
        for group, in_flight in (("billing", 1), ("stats", 2)):
            assert await scene.finish(scene.admin.groups.lag(group)) == 3
            shown = Scrape(await scrape(scene.source))
            labels = {"consumer_group": group, **ORDERS}
            assert shown.value("rocketmq_consumer_lag_messages", **labels) == 3
            assert shown.value("rocketmq_consumer_ready_messages", **labels) == 3
            assert shown.value("rocketmq_consumer_inflight_messages", **labels) == in_flight


async def test_metrics_tell_them_from_clients_of_the_other_protocol() -> None:
    async with Seen(topics={"orders": 1}) as scene:
        await scene.client.heartbeat("remote", producers=("shop",))
        lines = (await scrape(scene.source)).splitlines()
        node = 'cluster="DefaultCluster",node_type="broker",node_id="broker-a"'
        consumers = [line for line in lines if line.startswith("rocketmq_consumer_connections{")]
        mine = [line for line in consumers if 'protocol_type="grpc"' in line]
        assert mine == [
            f'rocketmq_consumer_connections{{{node},consumer_group="billing",language="java",version="v5_0_8",'
            'consume_mode="push",protocol_type="grpc",is_system="false"} 1',
            f'rocketmq_consumer_connections{{{node},consumer_group="stats",language="go",version="v5_1_2",'
            'consume_mode="pull",protocol_type="grpc",is_system="false"} 1',
        ]
        [other] = [line for line in consumers if 'protocol_type="remoting"' in line]
        assert 'consumer_group="remote"' in other
        producers = [line for line in lines if line.startswith("rocketmq_producer_connections{")]
        assert sorted(line.partition("protocol_type=")[2] for line in producers) == [
            '"grpc"} 1',
            '"remoting"} 1',
        ]


async def test_of_a_proxy_brokers_know_the_proxy() -> None:
    async with Seen(topics={"orders": 1}, outside=True) as scene:
        [push] = (billing := await scene.members("billing")).connection_set
        [simple] = (stats := await scene.members("stats")).connection_set
        assert push.client_id == simple.client_id == scene.running._instance.client_id  # type: ignore[union-attr]
        assert (billing.consume_type, stats.consume_type) == ("CONSUME_PASSIVELY", "CONSUME_ACTIVELY")
        info = await scene.finish(scene.admin.members.running_info("stats", simple.client_id))
        assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5.0.8", version_number("5.0.8")),
        ("v5.1.2-rc1", version_number("5.1.2")),
        ("5.0.12", version_number("5.0.9")),
        ("5.13.0", version_number("5.9.0")),
        ("1.0.1", VERSION),
        ("3.9.9", VERSION),
        ("", VERSION),
        ("latest", VERSION),
        ("٥.0.0", VERSION),
    ],
)
def test_versions_of_clients_as_operators_know_them(text: str, number: int) -> None:
    call: Any = SimpleNamespace(
        metadata={"x-mq-client-id": "a@1", "x-mq-client-version": text}, address=ADDRESS, certificate=""
    )
    assert DoorClients().of(call).version == number


def test_the_door_itself_is_as_new_as_the_broker() -> None:
    assert DoorClients().own().version == VERSION


async def test_the_dashboard_shows_them() -> None:
    async with Seen(topics={"orders": 1}) as scene, AsyncExitStack() as stack:
        app = create_app(scene.nameserver)
        await stack.enter_async_context(app.router.lifespan_context(app))
        browser = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
        await stack.enter_async_context(browser)
        clients = (await scene.finish(browser.get("/clients"))).text
        for cells in (
            "<td>orders</td><td>p@1</td><td>10.0.0.7:40000</td><td>NODE_JS</td>",
            "<td>push@1</td><td>10.0.0.7:40000</td><td>JAVA</td><td>5.0.8</td>",
            "<td>simple@1</td><td>10.0.0.7:40000</td><td>GO</td><td>5.1.2</td>",
        ):
            assert cells in clients
        group = (await scene.finish(browser.get("/group", params={"name": "billing"}))).text
        assert "push@1" in group
        assert "does not tell" not in group

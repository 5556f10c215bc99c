from __future__ import annotations

from typing import Any

import grpc
import pytest
from guarded_doors import SECRET, SETTINGS, signed
from mqframe_grpc.door import SERVICE
from mqframe_grpc.judging import ProxyAccess
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m
from mqframe_grpc.proxy import Proxy
from mqframe_testing.cluster_scene import ClusterScene

from mqframe import PluginManager
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import SettingError
from mqframe.net.access.settings import AccessSettings
from mqframe.net.settings import NetSettings

TOPICS = {"orders": 2}


def proxy(scene: ClusterScene, **options: Any) -> Proxy:
    return proxy_with(scene, ProxyAccess(AccessSettings(), PluginManager(), scene.clock), **options)


def proxy_with(scene: ClusterScene, access: ProxyAccess, **options: Any) -> Proxy:
    client = ClientSettings(nameserver=scene.nameserver)
    return Proxy(client, NetSettings(), GrpcOptions(port=0, **options), scene.clock, access)


async def asked(address: str, **headers: str) -> Any:
    async with grpc.aio.insecure_channel(address) as channel:
        ask = channel.unary_unary(
            f"{SERVICE}QueryRoute",
            request_serializer=lambda each: each.SerializeToString(),
            response_deserializer=m.QueryRouteResponse.FromString,
        )
        request = m.QueryRouteRequest(topic=m.Resource(name="orders"))
        fields = {"x-mq-client-id": "a@1", **{name.replace("_", "-"): each for name, each in headers.items()}}
        return await ask(request, metadata=tuple(fields.items()))


async def test_a_proxy_serves_and_ends() -> None:
    async with ClusterScene(2, topics=TOPICS) as scene:
        running = await scene.open(proxy(scene, tls="disabled"))
        answer = await scene.finish(asked(running.address))
        assert [(each.broker.name, each.id) for each in answer.message_queues] == [
            ("broker-a", 0),
            ("broker-a", 1),
            ("broker-b", 0),
            ("broker-b", 1),
        ]
        counters = running.counters()
        assert (counters["grpc.brokers"], counters["grpc.members"]) == ("2", "0")
        assert running.address == f"127.0.0.1:{counters['grpc.port']}"
        assert (running.is_registered, running.refusal) == (True, "")
        await scene.close(running)
        with pytest.raises(grpc.aio.AioRpcError):
            await asked(running.address)


async def test_a_proxy_has_a_certificate_of_its_own_while_it_runs() -> None:
    async with ClusterScene(topics=TOPICS) as scene:
        running = await scene.open(proxy(scene, host="::1"))
        assert running.address.startswith("[::1]:")
        assert {each.suffix for each in running._folder.iterdir()} == {".crt", ".key"}
        await scene.close(running)
        assert not running._folder.exists()


async def test_a_proxy_that_knows_no_broker_says_so() -> None:
    async with ClusterScene(0) as scene:
        running = await scene.open(proxy(scene, tls="disabled"))
        assert (running.is_registered, running.refusal) == (True, "name servers know no broker")
        await scene.close(running)
        await scene.cluster.name_server.stop()
        running = await scene.open(proxy(scene, tls="disabled"))
        assert not running.is_registered


@pytest.mark.parametrize("user", ["admin", ""])
async def test_a_proxy_asks_as_one_user(user: str, caplog: pytest.LogCaptureFixture) -> None:
    scene = ClusterScene()
    scene.cluster.enforce(SETTINGS)
    hooks = PluginManager().create_all(
        "rpc_hook", [("acl", {"access_key": user, "secret_key": SECRET})] if user else []
    )
    async with scene:
        access = ProxyAccess(AccessSettings(), PluginManager(), scene.clock, hooks)
        running = await scene.open(proxy_with(scene, access, tls="disabled"))
        answer = await scene.finish(asked(running.address))
        assert answer.status.code == (m.Code.TOPIC_NOT_FOUND if user else m.Code.UNAUTHORIZED)
        assert running.counters()["grpc.brokers"] == ("1" if user else "0")
    assert ("signed for them" in caplog.text) is bool(user)


@pytest.mark.parametrize("knows_keys", [True, False])
async def test_a_proxy_with_access_control_asks_who_its_clients_are(
    knows_keys: bool, caplog: pytest.LogCaptureFixture
) -> None:
    scene = ClusterScene()
    scene.cluster.enforce(SETTINGS)
    own = SETTINGS if knows_keys else AccessSettings(authentication="acl2")
    async with scene:
        access = ProxyAccess(own, PluginManager(), scene.clock)
        running = await scene.open(proxy_with(scene, access, tls="disabled"))
        said = [
            (await scene.finish(asked(running.address, **headers))).status.code
            for headers in (signed("admin", "x"), signed("admin", "x", "wrong"), {})
        ]
        if knows_keys:
            assert said == [m.Code.TOPIC_NOT_FOUND, m.Code.UNAUTHORIZED, m.Code.UNAUTHORIZED]
            assert running.refusal == ""
        else:
            assert said == [m.Code.INTERNAL_SERVER_ERROR] * 3
            assert running.refusal == "name servers know no broker"
        counters = running.counters()
        assert counters["authenticationFailures"] == ("2" if knows_keys else "0")
        assert counters["authorizationFailures"] == "0"
    assert "signed for them" not in caplog.text


async def test_options_that_cannot_be() -> None:
    async with ClusterScene(0) as scene:
        with pytest.raises(SettingError, match=r"advertised = 'nowhere': must be host:port"):
            proxy(scene, advertised="nowhere")

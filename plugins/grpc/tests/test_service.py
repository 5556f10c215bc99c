from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import grpc
import pytest
from mqframe_grpc.proto import messages as m
from mqframe_grpc.service import GrpcService
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.conformance import BrokerServiceConformance

from mqframe import PluginManager

SERVICE = "/apache.rocketmq.v2.MessagingService/"
ROUTE = m.QueryRouteRequest(topic=m.Resource(name="orders"))


def cluster(**options: object) -> AsyncCluster:
    plugins = PluginManager().configured({"grpc": {"port": 0, **options}})
    return AsyncCluster(plugins=plugins, broker={"services": ("grpc",)})


async def asked(channel: grpc.aio.Channel) -> m.QueryRouteResponse:
    method = channel.unary_unary(
        f"{SERVICE}QueryRoute",
        request_serializer=lambda each: each.SerializeToString(),
        response_deserializer=m.QueryRouteResponse.FromString,
    )
    answer: Any = await method(ROUTE, metadata=[("x-mq-client-id", "a@1")], timeout=20)
    assert isinstance(answer, m.METHODS[f"{SERVICE}QueryRoute"][1])
    return answer


def port_of(running: AsyncCluster) -> int:
    offered = running.broker.service_port.offered("grpc.port")
    assert offered is not None
    return int(offered())


async def test_plain_and_secured_clients_are_served_at_one_port() -> None:
    async with cluster() as running:
        await running.create_topic("orders")
        port = port_of(running)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            plain = await asked(channel)
        pem = (await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))).encode()
        trusting = grpc.ssl_channel_credentials(pem)
        name = (("grpc.ssl_target_name_override", "localhost"),)
        async with grpc.aio.secure_channel(f"127.0.0.1:{port}", trusting, name) as channel:
            secured = await asked(channel)
        assert plain.status.code == secured.status.code == m.Code.OK
        assert [each.id for each in plain.message_queues] == [each.id for each in secured.message_queues]


async def test_plain_clients_are_refused_where_tls_is_enforced(tmp_path: Path) -> None:
    async with cluster(tls="enforcing") as running:
        port = port_of(running)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await asked(channel)
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_the_port_is_free_after_a_stop() -> None:
    async with cluster() as running:
        await running.create_topic("orders")
        port = port_of(running)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            assert (await asked(channel)).status.code == m.Code.OK
            await running.stop_broker(0)
            with pytest.raises(grpc.aio.AioRpcError):
                await asked(channel)


class TestGrpc(BrokerServiceConformance):
    def make(self, port: Any) -> GrpcService:
        from mqframe_grpc.options import GrpcOptions

        return GrpcService(port, GrpcOptions(port=0))

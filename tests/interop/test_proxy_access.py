"""A proxy of ours asks who its clients are, about users of Apache's brokers."""

from __future__ import annotations

import asyncio
import hmac

import grpc
import pytest
from mqframe_grpc.door import SERVICE
from mqframe_grpc.judging import ProxyAccess
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m
from mqframe_grpc.proxy import Proxy
from real_time import until

from interop.guarded import ADMIN, signed
from interop.servers import Servers
from mqframe import Admin, PluginManager
from mqframe.client.settings import ClientSettings
from mqframe.net.access.settings import AccessSettings
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings

SECRET = "secret78"
WHEN = "20251128T201500Z"
OWN = AccessSettings(
    authentication="acl2",
    authorization="acl2",
    inner_credentials=f"{ADMIN['access_key']}:{ADMIN['secret_key']}",
)


def headers(user: str, secret: str) -> tuple[tuple[str, str], ...]:
    signature = hmac.digest(secret.encode(), WHEN.encode(), "sha1").hex()
    text = f"MQv2-HMAC-SHA1 Credential={user}, SignedHeaders=x-mq-date-time, Signature={signature}"
    return (("x-mq-client-id", "a@1"), ("authorization", text), ("x-mq-date-time", WHEN))


async def codes(nameserver: str) -> list[int]:
    """What the user `doorkept`, the same with another secret and the administrator are answered."""
    access = ProxyAccess(OWN, PluginManager(), SystemClock())
    options = GrpcOptions(port=0, tls="disabled")
    proxy = Proxy(ClientSettings(nameserver=nameserver), NetSettings(), options, SystemClock(), access)
    await proxy.start()
    try:
        async with grpc.aio.insecure_channel(proxy.address) as channel:
            ask = channel.unary_unary(
                f"{SERVICE}QueryRoute", response_deserializer=m.QueryRouteResponse.FromString
            )
            request = {
                topic: m.QueryRouteRequest(topic=m.Resource(name=topic)).SerializeToString()
                for topic in ("doorkept", "doorkept_others")
            }
            admin = (ADMIN["access_key"], ADMIN["secret_key"])
            return [
                (await ask(request[topic], metadata=headers(*who), timeout=20)).status.code
                for topic, who in (
                    ("doorkept", ("doorkept", SECRET)),
                    ("doorkept_others", ("doorkept", SECRET)),
                    ("doorkept", ("doorkept", "secret79")),
                    ("doorkept_others", admin),
                )
            ]
    finally:
        await proxy.stop()


@pytest.mark.proves("users")
def test_users_of_apaches_brokers_are_those_of_a_proxy_of_ours(guarded: Servers) -> None:
    with Admin(nameserver=guarded.nameserver, **signed()) as admin:
        for topic in ("doorkept", "doorkept_others"):
            admin.topics.create(topic, queues=1)
        until(lambda: "doorkept_others" in admin.topics.list())
        admin.users.create("doorkept", SECRET)
        admin.policies.set("doorkept", ["Topic:doorkept"], actions=["Pub"])
    assert asyncio.run(codes(guarded.nameserver)) == [
        m.Code.OK, m.Code.UNAUTHORIZED, m.Code.UNAUTHORIZED, m.Code.OK,
    ]  # fmt: skip

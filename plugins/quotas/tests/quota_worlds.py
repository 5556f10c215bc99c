"""A cluster with quotas on a clock that tests move, and clients of it whose users are known."""

from __future__ import annotations

from typing import Any

from mqframe_quotas.bodies import QuotaStates
from mqframe_quotas.requests import ListQuotas
from mqframe_quotas.settings import QuotaSettings
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.protocol_client import send_request

from mqframe.core.requests.serving import Reply
from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import ProxiedClient
from mqframe.hooks.manager import PluginManager


def world(
    *limits: str, store: dict[str, Any] | None = None, plugins: PluginManager | None = None, **settings: Any
) -> ClusterScene:
    """Two topics, and the quotas of `limits`. `plugins`: bring a further service, `another`."""
    return ClusterScene(
        topics={"orders": 1, "others": 1},
        broker={"services": ("quotas", *(("another",) if plugins else ()))},
        sections=[QuotaSettings(limits=limits, **settings)],
        store=store,
        plugins=plugins,
    )


class Guest(ProxiedClient):
    """A client that another protocol speaks for: who it is is known."""

    def __init__(self, scene: ClusterScene, user: str, address: str = "10.1.1.1:5000") -> None:
        self.user = user
        self.address = address
        self.peer = scene.cluster.broker.service_port.requests.connect(self)

    async def send(self, topic: str = "orders", body: bytes = b"12345", **fields: Any) -> Reply:
        """Send a message."""
        return await self.peer.ask(send_request(topic, **fields), body)


async def states(scene: ClusterScene) -> dict[str, tuple[dict[str, int], dict[str, int], dict[str, int]]]:
    """By "kind:name" of a quota, what was used, throttled and is in use."""
    answer = await scene.client.ok(ListQuotas())
    found = loose_json.decode(bytes(answer.body), QuotaStates).quotas
    return {":".join(each.quota.key): (each.used, each.throttled, each.in_use) for each in found}

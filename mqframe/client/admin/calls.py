"""What all parts of the administration share: whom to ask."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from mqframe.client.instance import ClientInstance
from mqframe.core import loosejson
from mqframe.core.bodies import ClusterInfo
from mqframe.core.errors import FixError
from mqframe.core.frame import Frame
from mqframe.core.message import MessageQueue
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetBrokerClusterInfo
from mqframe.core.route import MASTER_ID

T = TypeVar("T")


def body_of(answer: Frame, kind: type[T]) -> T:
    """The JSON body of `answer`. Raises `BodyError`."""
    return loosejson.decode(bytes(answer.body), kind)


class AdminCalls:
    """Calls to brokers and name servers."""

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def cluster_info(self) -> ClusterInfo:
        """All brokers with their addresses, and which belong to which cluster."""
        return body_of(await self._instance.call_nameserver(GetBrokerClusterInfo()), ClusterInfo)

    async def masters(self, *, cluster: str | None = None, broker: str | None = None) -> dict[str, str]:
        """Addresses of masters by broker name: all, those of `cluster`, or that of `broker`.

        Raises `FixError` when there is none.
        """
        info = await self.cluster_info()
        if cluster is not None and cluster not in info.cluster_addr_table:
            known = ", ".join(sorted(info.cluster_addr_table)) or "none"
            raise FixError(f"cluster {cluster} is not known; known: {known}")
        names = set(info.broker_addr_table) if cluster is None else set(info.cluster_addr_table[cluster])
        found = {
            name: data.broker_addrs[MASTER_ID]
            for name, data in sorted(info.broker_addr_table.items())
            if name in names and (broker is None or name == broker) and MASTER_ID in data.broker_addrs
        }
        if not found:
            raise FixError(f"no master of {broker or cluster or 'any broker'} is registered")
        return found

    async def _topic_masters(self, topic: str) -> dict[str, str]:
        route = await self._instance.route(topic, refresh=True)
        return {
            name: members[MASTER_ID] for name, members in route.addresses().items() if MASTER_ID in members
        }

    async def _queue_address(self, queue: MessageQueue) -> str:
        route = await self._instance.route(queue.topic)
        address = route.any_address(queue.broker_name)
        if address is None:
            raise FixError(f"{queue}: no broker of that name holds the topic")
        return address

    async def _call_all(self, addresses: list[str], request: Request, body: bytes = b"") -> list[Frame]:
        """All answers, or the first error."""
        return await asyncio.gather(*[self._instance.call(a, request, body) for a in addresses])

    async def _tell_nameservers(self, request: Request) -> None:
        """Name servers do not know each other: each is told."""
        await self._call_all(list(self._instance.routes.nameservers), request)

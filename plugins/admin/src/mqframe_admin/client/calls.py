"""Calls of the administration to masters, brokers of a queue, and name servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Container, Iterable
from typing import Final, NamedTuple, TypeVar

import msgspec

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.cluster.route import MASTER_ID
from mqframe.core.cluster.route_bodies import ClusterInfo
from mqframe.core.errors import AnswerError, FixError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.parameters import needed
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.fields import Header, Request, decode_fields
from mqframe.core.requests.nameserver import GetBrokerClusterInfo
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame
from mqframe_admin.rules.understood import check_understood

_OUR_LANGUAGE: Final = "PYTHON"

T = TypeVar("T")
A = TypeVar("A", bound=Header)


def body_of(answer: Frame, kind: type[T]) -> T:
    """The JSON body of `answer`. Raises `BodyError`."""
    return loose_json.decode(bytes(answer.body), kind)


async def unless(codes: Container[int], call: Awaitable[Frame]) -> Frame | None:
    """The answer to `call`, `None` when it is a refusal with one of `codes`."""
    try:
        return await call
    except AnswerError as problem:
        if problem.code not in codes:
            raise
        return None


class ServerNotes(NamedTuple):
    """What each answer of a server says of it: the protocol version that it states, and its language."""

    version: int
    language: str

    @property
    def is_ours(self) -> bool:
        """Whether it is of mqframe, which understands whatever its own clients send."""
        return self.language == _OUR_LANGUAGE


class AdminCalls:
    """Calls to brokers and name servers: what all subjects of the administration have in common."""

    def __init__(self, instance: ClientInstance) -> None:
        self.instance = instance

    async def cluster_info(self) -> ClusterInfo:
        """All brokers with their addresses, and which belong to which cluster."""
        return body_of(await self.instance.call_nameserver(GetBrokerClusterInfo()), ClusterInfo)

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
            name: self.for_operators(data.broker_addrs[MASTER_ID])
            for name, data in sorted(info.broker_addr_table.items())
            if name in names and (broker is None or name == broker) and MASTER_ID in data.broker_addrs
        }
        if not found:
            raise FixError(f"no master of {broker or cluster or 'any broker'} is registered")
        return found

    async def call(
        self,
        address: str,
        request: Request,
        body: bytes | msgspec.Struct = b"",
        *,
        timeout: float | None = None,
    ) -> Frame:
        """The successful answer of `address`: the one way by which administration asks for anything.

        Raises the `AnswerError` that another answer stands for, and `FixError` before anything is sent to a
        server that would pass over a parameter of `request`, or of a `body` that is no bytes.
        """
        await self.check_understood([address], request, body)
        return await self._send(address, request, body, timeout)

    async def check_understood(self, addresses: Iterable[str], *sent: bytes | msgspec.Struct) -> None:
        """Raise `FixError` where one of the servers would pass over a parameter of what is to be sent.

        They are asked for their versions only when something is to be sent that older ones do not know.
        """
        asking = [each for each in sent if isinstance(each, msgspec.Struct) and needed(each)]
        if not asking:
            return
        asked = list(addresses)
        for address, server in zip(asked, await asyncio.gather(*map(self.server, asked)), strict=True):
            for each in asking:
                if not server.is_ours:
                    check_understood(each, server.version, address)

    async def _send(
        self, address: str, request: Request, body: bytes | msgspec.Struct, timeout: float | None = None
    ) -> Frame:
        data = loose_json.dumps(body) if isinstance(body, msgspec.Struct) else body
        return await self.instance.call(address, request, data, timeout=timeout)

    async def server(self, address: str) -> ServerNotes:
        """What the server at `address` is, asked now: another version may have taken its place since.

        A heartbeat of no group changes nothing, and a refusal tells it as well. Name servers of 4.x do not
        answer what they do not know (DefaultRequestProcessor.java), so these are asked for what all know.
        """
        request: Request = HeartBeat()
        beat = loose_json.dumps(HeartbeatData(self.instance.client_id))
        if address in self.instance.routes.nameservers:
            request, beat = GetBrokerClusterInfo(), b""
        seconds = self.instance.settings.request_timeout_seconds
        answer = await self.instance.remoting.invoke(address, request, beat, timeout=seconds)
        return ServerNotes(answer.version, answer.language)

    async def ask(self, address: str, request: Request, kind: type[T], timeout: float | None = None) -> T:
        """The JSON body of the answer of `address`."""
        return body_of(await self.call(address, request, timeout=timeout), kind)

    async def ask_masters(self, request: Request, kind: type[T]) -> list[T]:
        """The JSON bodies of the answers of all masters, or the first error."""
        return [body_of(answer, kind) for answer in await self.call_masters(request)]

    async def ask_topic(
        self, topic: str, request: Request, kind: type[T], timeout: float | None = None
    ) -> dict[str, T]:
        """The JSON bodies of the answers of all masters that have `topic`, by broker name, or an error."""
        masters = await self.topic_masters(topic)
        asked = [self.ask(address, request, kind, timeout) for address in masters.values()]
        return dict(zip(masters, await asyncio.gather(*asked), strict=True))

    async def topic_masters(self, topic: str) -> dict[str, str]:
        """Addresses of the masters that have `topic`, by broker name. Raises `RouteError`."""
        route = await self.instance.route(topic, refresh=True)
        return {
            name: self.for_operators(members[MASTER_ID])
            for name, members in route.addresses().items()
            if MASTER_ID in members
        }

    async def queue_address(self, queue: MessageQueue) -> str:
        """The address of a broker of `queue`. Raises `RouteError`, or `FixError` when none has it."""
        route = await self.instance.route(queue.topic)
        address = route.any_address(queue.broker_name)
        if address is None:
            raise FixError(f"{queue}: no broker of that name holds the topic")
        return self.for_operators(address)

    def for_operators(self, address: str) -> str:
        """Where the server at `address` takes the requests of operators: its own port, if one is set."""
        port = self.instance.settings.operator_port
        return f"{address.rpartition(':')[0]}:{port}" if port else address

    async def ask_queue(self, queue: MessageQueue, request: Request, kind: type[A]) -> A:
        """The fields that a broker of `queue` answers."""
        answer = await self.call(await self.queue_address(queue), request)
        return decode_fields(answer.ext, kind)

    async def call_all(
        self, addresses: Iterable[str], request: Request, body: bytes | msgspec.Struct = b""
    ) -> list[Frame]:
        """All answers, or the first error; as `call`, and none is asked when one would pass over a part."""
        asked = list(addresses)
        await self.check_understood(asked, request, body)
        return await asyncio.gather(*[self._send(each, request, body) for each in asked])

    async def call_masters(self, request: Request) -> list[Frame]:
        """The answers of all masters, or the first error."""
        return await self.call_all((await self.masters()).values(), request)

    async def call_nameservers(self, request: Request) -> list[Frame]:
        """The answers of each name server: they do not know each other."""
        return await self.call_all(self.instance.routes.nameservers, request)

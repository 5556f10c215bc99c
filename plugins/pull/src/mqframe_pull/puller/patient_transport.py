"""Pulls that wait for servers which restart, for both APIs."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.client.connection.patience import Patience
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Frame
from mqframe_pull.puller.calls import PullTransport


class PatientTransport:
    """`transport`, all of whose calls wait with `patience`: whatever pullers ask may be asked twice."""

    def __init__(self, transport: PullTransport, patience: Patience) -> None:
        self._transport = transport
        self._through = patience.through

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """As `PullTransport.route`."""
        return await self._through(lambda: self._transport.route(topic, refresh=refresh))

    async def call(
        self, address: str, request: Request, body: bytes = b"", *, timeout: float | None = None
    ) -> Frame:
        """As `PullTransport.call`."""
        return await self._through(lambda: self._transport.call(address, request, body, timeout=timeout))

    async def call_nameserver(self, request: Request) -> Frame:
        """As `PullTransport.call_nameserver`."""
        return await self._through(lambda: self._transport.call_nameserver(request))

    async def invoke(self, address: str, request: Request, *, timeout: float) -> Frame:
        """As `PullTransport.invoke`."""
        return await self._through(lambda: self._transport.invoke(address, request, timeout=timeout))

    async def invoke_all(self, address: str, requests: Sequence[Request], *, timeout: float) -> list[Frame]:
        """As `PullTransport.invoke_all`."""
        return await self._through(lambda: self._transport.invoke_all(address, requests, timeout=timeout))

"""Servers and clients of both kinds for the tests of TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import LIST, ROUTE

from mqframe.core.errors import MqframeError
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame
from mqframe.net.blocking import BlockingClient
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock
from mqframe.net.peer_group import PeerEvents
from mqframe.net.server import Server
from mqframe.net.settings import NetSettings


class Both:
    """One face for the two clients, so that what is true of one is asked of the other."""

    def __init__(self, kind: str, settings: NetSettings | None) -> None:
        clock = SystemClock()
        self.blocking = BlockingClient(clock, settings) if kind == "blocking" else None
        self.awaited = Client(clock, settings) if kind == "asyncio" else None

    async def invoke(self, address: str, request: Any, body: bytes = b"") -> Frame:
        if self.awaited is not None:
            return await self.awaited.invoke(address, request, body, timeout=10)
        assert self.blocking is not None
        return await asyncio.to_thread(self.blocking.invoke, address, request, body, timeout=10)

    async def close(self) -> None:
        if self.awaited is not None:
            await self.awaited.close()
        if self.blocking is not None:
            await asyncio.to_thread(self.blocking.close)


class Served:
    """A server that answers with what it was asked, and clients that are closed with it."""

    def __init__(self, settings: NetSettings | None, kind: str) -> None:
        self.kind = kind
        self.clock = ManualClock()
        self.closed: list[str] = []
        self.server = Server(
            {ROUTE.CODE: self.echo, LIST.CODE: lambda call: call.peer.close("enough")},
            self.clock,
            settings,
            events=PeerEvents(on_close=lambda peer: self.closed.append(peer.address)),
        )
        self.made: list[Both] = []
        self.address = ""

    @staticmethod
    def echo(call: Call) -> Reply:
        return Reply(0, ext=call.frame.ext, body=bytes(call.frame.body))

    def client(self, settings: NetSettings | None = None) -> Both:
        self.made.append(Both(self.kind, settings))
        return self.made[-1]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    async def __aenter__(self) -> Served:
        self.address = f"127.0.0.1:{await self.server.start('127.0.0.1', 0)}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in self.made:
            await client.close()
        await self.server.stop()


Serve = Callable[[NetSettings | None], Served]


async def fault(client: Both, address: str) -> MqframeError:
    with pytest.raises(MqframeError) as caught:
        await client.invoke(address, ROUTE("t"))
    return caught.value

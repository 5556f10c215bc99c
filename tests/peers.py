"""What the tests of `mqframe.net` share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mqframe_testing.manual_clock import ManualClock

from mqframe.core.requests import nameserver as ns
from mqframe.core.requests.serving import Call, Handler, Reply
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.peer_group import PeerEvents
from mqframe.net.server import Server

ROUTE = ns.GetRouteinfoByTopic
CLUSTER = ns.GetBrokerClusterInfo
LIST = ns.GetKvlistByNamespace


class Doubling(RpcHook):
    """Exchanges each body for one that is twice as long."""

    def before(self, address: str, request: Frame) -> None:
        request.body = bytes(request.body) * 2

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        if answer is not None:
            answer.body = bytes(answer.body) * 2


def run(scenario: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a scenario that talks over loopback; a hang becomes an error."""

    async def bounded() -> Any:
        async with asyncio.timeout(120):
            return await scenario()

    return asyncio.run(bounded())


class Standing(ManualClock):
    """A clock of a process that may stand still."""

    def stand_still(self, seconds: float) -> None:
        """What fell due meanwhile happens late, with the next move."""
        self._now += seconds


class Raw:
    """A peer that sends and reads plain bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.decoder = FrameDecoder()

    @classmethod
    async def open(cls, port: int, host: str = "127.0.0.1") -> Raw:
        return cls(*await asyncio.open_connection(host, port))

    def send(self, *frames: Frame | bytes) -> None:
        self.writer.write(b"".join(f if isinstance(f, bytes) else encode_frame(f) for f in frames))

    async def frame(self) -> Frame:
        while (frame := self.decoder.next_frame()) is None:
            data = await self.reader.read(65536)
            assert data, "the connection was closed"
            self.decoder.receive(data)
        frame.body = bytes(frame.body)
        return frame

    async def closed(self) -> bytes:
        """What still came before the other side closed."""
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            return


def echo(call: Call) -> Reply:
    return Reply(0, ext=call.frame.ext, body=bytes(call.frame.body))


@asynccontextmanager
async def serving(handlers: Mapping[int, Handler], clock: ManualClock | None = None, **options: Any) -> Any:
    settings = options.pop("settings", None)
    options["events"] = PeerEvents(options.pop("turn_end", None), options.pop("on_close", None))
    server = Server(handlers, clock or ManualClock(), settings, **options)
    port = await server.start("127.0.0.1", 0)
    raw = await Raw.open(port)
    try:
        yield server, raw, port
    finally:
        await raw.close()
        await server.stop()


def too_long(answer: Frame) -> bytes:
    """`answer`, whose length says 1 MiB more than there is."""
    whole = encode_frame(answer)
    return (int.from_bytes(whole[:4], "big") + (1 << 20)).to_bytes(4, "big") + whole[4:]


class ServerThread:
    """A server in a loop of its own thread."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.held: list[Call] = []
        self.arrived = threading.Semaphore(0)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = Server({ROUTE.CODE: self.echo, LIST.CODE: self.hold}, self.clock)
        self.address = f"127.0.0.1:{self.run(self.server.start('127.0.0.1', 0))}"

    def echo(self, call: Call) -> Reply:
        return Reply(0, ext=call.frame.ext, body=bytes(call.frame.body))

    def hold(self, call: Call) -> None:
        self.held.append(call)
        self.arrived.release()

    def wait_held(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.arrived.acquire(timeout=120)

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        async def inside() -> Any:
            return function(*arguments)

        return self.run(inside())

    def close(self) -> None:
        self.run(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

"""Topics are made in time while name servers are silent or away, and the log says who does not know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.ports import lasting_port
from mqframe_testing.thread_pools import at_rest

from mqframe import AsyncAdmin, NameServer, NameServerSettings

T = TypeVar("T")


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """The address of what takes connections and bytes, and says nothing, as one that is stopped does."""
    over = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        over.set()
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def name_server(clock: ManualClock) -> AsyncIterator[str]:
    """The address of a name server."""
    server = NameServer(NameServerSettings(port=0), clock)
    await server.start()
    try:
        yield server.address
    finally:
        await server.stop()


async def end(clock: ManualClock, work: Awaitable[T]) -> tuple[T, float]:
    """The result of `work`, and how long it took, seconds; time passes when nothing else goes on."""
    began, task = clock.monotonic(), asyncio.ensure_future(work)
    while True:
        await clock.aadvance(0)
        await at_rest()
        if task.done():
            return await task, clock.monotonic() - began
        await clock.aadvance(0.1)


async def test_topics_of_all_brokers_are_made_while_name_servers_say_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, gone = ManualClock(), f"127.0.0.1:{lasting_port()}"
    async with silent_server() as silent, name_server(clock) as sound:
        cluster = AsyncCluster(3, clock=clock, broker={"nameservers": (sound, silent, gone)})
        await end(clock, cluster.start())
        async with AsyncAdmin(nameserver=sound, clock=clock) as admin:
            caplog.clear()
            made = [admin.topics.create(f"made_{n}", queues=2) for n in range(20)]
            _, seconds = await end(clock, asyncio.gather(*made))
            assert seconds <= 1.5
            for n in range(20):
                route, _ = await end(clock, admin.topics.route(f"made_{n}"))
                names = {each.broker_name for each in route.queue_datas}
                assert names == {"broker-a", "broker-b", "broker-c"}
        assert f"name servers do not know the latest topics yet nameservers=['{silent}']" in caplog.text
        told = [each.getMessage() for each in caplog.records if each.name == "mqframe.client"]
        unaware = ", ".join(sorted([silent, gone]))
        assert sum(f"name servers that do not know of it yet: {unaware}" in line for line in told) == 60
        # A client that meets the silent one first goes on with the next, once its time is over.
        everywhere = ";".join([silent, gone, sound])
        async with AsyncAdmin(nameserver=everywhere, clock=clock) as admin:
            _, seconds = await end(clock, admin.topics.create("after", queues=2))
            assert seconds <= 8.0
        await end(clock, cluster.stop())

"""Connections of one server or client: idle ones, their end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable
from contextlib import suppress

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import LIST, Raw, Standing, echo, serving

from mqframe.core.errors import CallTimeout
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.net.client import Client
from mqframe.net.endpoint import Endpoint
from mqframe.net.peer_group import PeerEvents, PeerGroup
from mqframe.net.server import Server
from mqframe.net.settings import NetSettings


async def test_idle_connections_and_half_frames_are_closed_and_busy_ones_stay() -> None:
    clock = ManualClock()
    closed: list[Peer] = []
    async with serving({1: echo}, clock, on_close=closed.append) as (server, idle, port):
        half = await Raw.open(port)
        busy = await Raw.open(port)
        half.send(encode_frame(Frame(1, 5, body=b"x" * 1000))[:500])
        for _ in range(4):
            await clock.aadvance(29)
            half.send(b"x")  # bytes alone do not keep a half frame alive
            busy.send(Frame(1, 1))
            await busy.frame()
        assert len(server.peers) == 3
        await clock.aadvance(29)
        assert await idle.closed() == await half.closed() == b""
        assert len(server.peers) == 1
        assert len(closed) == 2
        await busy.close()
        await half.close()


async def test_stopping_ends_what_is_served_and_closes_connections() -> None:
    ended: list[str] = []

    async def endless(call: Call) -> Reply:
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            ended.append("endless")

    waiting: Awaitable[bytes]
    server = Server({1: endless, 2: echo}, ManualClock())
    raw = await Raw.open(await server.start("127.0.0.1", 0))
    raw.send(Frame(1, 1), Frame(2, 2))
    assert (await raw.frame()).opaque == 2
    await server.stop()
    assert ended == ["endless"]
    waiting = raw.closed()
    assert await waiting == b""
    assert server.peers == frozenset()
    await raw.close()


async def test_connections_end_in_the_order_in_which_they_came() -> None:
    closed: list[Peer] = []
    came: list[Peer] = []
    async with serving({1: echo}, ManualClock(), on_close=closed.append) as (server, first, port):
        raws = [first]
        while len(came) < 20:
            raws[-1].send(Frame(1, 1))
            await raws[-1].frame()
            [new] = server.peers.difference(came)
            came.append(new)
            raws.append(await Raw.open(port))
        await raws.pop().close()
        await server.stop()
        for raw in raws:
            await raw.close()
    assert [peer for peer in closed if peer in came] == came


@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_that_comes_while_the_server_stops_is_closed(turns: int) -> None:
    """It is accepted in one turn of the loop, and the server hears of it in a later one."""
    loop, server = asyncio.get_running_loop(), Server({2: echo}, ManualClock())
    with socket.create_connection(("127.0.0.1", await server.start("127.0.0.1", 0))) as late:
        late.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)
        await server.stop()
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(loop.sock_recv(late, 1), 10) == b""
    assert server.peers == frozenset()


async def test_what_answers_wait_for_is_asked_at_the_end_of_a_turn(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("on fire")

    saved = asyncio.get_running_loop().create_future()
    for turn_end, until in ((None, None), (lambda: None, None), (lambda: saved, saved), (fail, None)):
        group = PeerGroup(ManualClock(), Endpoint(NetSettings(), {}, ()), PeerEvents(turn_end))
        assert group.finish_turn("10.0.0.1:5") is until
    assert caplog.text.count("end of turn failed") == 1
    assert "10.0.0.1:5" in caplog.text


async def test_calls_wait_a_little_longer_where_the_process_stood_still() -> None:
    held: list[Call] = []
    clock = Standing()
    client = Client(clock)
    async with serving({LIST.CODE: held.append}) as (_, _raw, port):
        calls = [client.invoke(f"127.0.0.1:{port}", LIST(str(number)), timeout=3) for number in range(3)]
        waiting = [asyncio.ensure_future(call) for call in calls]
        while len(held) < 3:
            await asyncio.sleep(0)
        clock.stand_still(4)
        await clock.aadvance(0.5)
        held[1].reply(Reply(body=b"read late"))
        assert (await waiting[1]).body == b"read late"
        assert not waiting[0].done()
        await clock.aadvance(0.6)
        for late in (waiting[0], waiting[2]):
            with pytest.raises(CallTimeout, match="within 3 s"):
                await late
        # However often it stands still: each wait is lengthened once.
        last = asyncio.ensure_future(client.invoke(f"127.0.0.1:{port}", LIST("3"), timeout=3))
        for _ in range(2):
            for _ in range(10):
                await asyncio.sleep(0)
            clock.stand_still(9)
            await clock.aadvance(0)
        with pytest.raises(CallTimeout, match="within 3 s"):
            await last
        await client.close()


async def test_a_call_whose_process_stood_still_while_it_connected_has_a_second_left() -> None:
    held: list[Call] = []
    clock = Standing()
    client = Client(clock)
    async with serving({LIST.CODE: held.append}) as (_, _raw, port):
        call = asyncio.ensure_future(client.invoke(f"127.0.0.1:{port}", LIST("1"), timeout=3))
        await asyncio.sleep(0)
        clock.stand_still(4)
        while not held:
            await asyncio.sleep(0)
        await clock.aadvance(0.9)
        held[0].reply(Reply(body=b"in time"))
        assert (await call).body == b"in time"
        await client.close()


async def test_it_runs_from_its_start_to_its_stop() -> None:
    group = PeerGroup(ManualClock(), Endpoint(NetSettings(), {}, ()), PeerEvents())
    assert not group.running
    group.start()
    assert group.running
    await group.stop("the server stops")
    assert not group.running

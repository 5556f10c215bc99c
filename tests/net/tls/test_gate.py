"""Where connections to a server with a certificate arrive."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from certificates import Pems
from mqframe_testing.manual_clock import ManualClock
from peers import ROUTE, Raw
from tls_peers import Serve, Served, fault

from mqframe.core.errors import ConnectionLost
from mqframe.net.tls.gate import TlsGate


async def test_plain_and_secured_clients_share_a_port(served: Serve, pems: Pems) -> None:
    async with served(pems.server()) as it:
        plain, secured = it.client(), it.client(pems.client())
        for client in (plain, secured, plain, secured):
            assert (await client.invoke(it.address, ROUTE("t"), b"b")).code == 0
        assert len(it.server.peers) == 2


async def test_a_plain_client_is_told_that_the_server_takes_tls_only(served: Serve, pems: Pems) -> None:
    async with served(pems.server(tls_server_mode="enforcing")) as it:
        secured = it.client(pems.client())
        await secured.invoke(it.address, ROUTE("t"))
        problem = await fault(it.client(), it.address)
        assert type(problem) is ConnectionLost
        assert it.address in str(problem)
        assert "before it said anything, as servers do that take TLS only; if it is one, set tls" in str(
            problem
        )
        assert (await secured.invoke(it.address, ROUTE("t"), b"on")).body == b"on"
        assert it.closed == []


async def test_plain_connections_to_a_server_of_tls_are_told_once_a_minute_with_their_count(
    pems: Pems, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        lines = [each.getMessage() for each in caplog.records]
        return [line for line in lines if "plain connection refused" in line]

    async with Served(pems.server(tls_server_mode="enforcing"), "asyncio") as it:
        for _ in range(20):
            raw = await Raw.open(it.port)
            raw.send(b"\0\0\0\1")
            assert await raw.closed() == b""
            await raw.close()
        assert len(told()) == 1
    assert ["count=19 " in line for line in told()] == [False, True], "the stop tells the rest"


def test_connections_beyond_those_that_may_wait_are_told(caplog: pytest.LogCaptureFixture) -> None:
    contexts: Any = None  # nobody comes so far
    gate = TlsGate(contexts, ManualClock(), asyncio.Protocol, plain=False, patience=10)
    gate.waiting_max = 1
    assert not gate.is_full()
    gate.waiting.add(gate.arrive())
    assert [gate.is_full() for _ in range(3)] == [True] * 3
    gate.tell(last=True)
    lines = [each.getMessage() for each in caplog.records]
    refused = "connections refused: too many have not ended their handshake"
    assert lines == [refused, f"{refused} count=2"]


async def test_a_bad_handshake_harms_nobody_else(served: Serve, pems: Pems) -> None:
    async with served(pems.server()) as it:
        good = it.client(pems.client())
        await good.invoke(it.address, ROUTE("t"))
        for rubbish in (
            b"\x16\x03\x01\x00\x05rubbish" * 50,
            b"\x16",
            b"\x16\x03\x03\xff\xff" + bytes(70_000),
        ):
            raw = await Raw.open(it.port)
            raw.send(rubbish)
            if len(rubbish) > 1:
                assert (await raw.closed())[:1] in (b"", b"\x15")
            await raw.close()
        assert (await good.invoke(it.address, ROUTE("t"), b"still")).body == b"still"
        assert len(it.server.peers) == 1


async def test_who_says_nothing_is_closed_after_a_while(pems: Pems) -> None:
    async with Served(pems.server(idle_seconds=7), "asyncio") as it:
        silent, half = await Raw.open(it.port), await Raw.open(it.port)
        half.send(b"\x16\x03\x01")
        secured = it.client(pems.client())
        await secured.invoke(it.address, ROUTE("t"))  # so that both have arrived
        await asyncio.sleep(0)
        assert len(it.server.peers) == 1
        it.clock.advance(6.9)
        assert (await secured.invoke(it.address, ROUTE("t"))).code == 0
        it.clock.advance(0.1)
        assert [await silent.closed(), await half.closed()] == [b"", b""]
        assert (await secured.invoke(it.address, ROUTE("t"))).code == 0
        await silent.close()
        await half.close()


async def test_stopping_closes_those_on_their_way(pems: Pems) -> None:
    async with Served(pems.server(), "asyncio") as it:
        half = await Raw.open(it.port)
        half.send(b"\x16\x03\x01")
        await it.client(pems.client()).invoke(it.address, ROUTE("t"))
    assert await half.closed() == b""
    await half.close()

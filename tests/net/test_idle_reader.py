"""The thread that reads while no caller does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from peers import CLUSTER, LIST, ROUTE, ServerThread

from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.serving import Call, Reply
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings
from mqframe.testing.manual_clock import ManualClock


def test_a_connection_that_the_other_side_closes_while_idle_is_noticed(server: ServerThread) -> None:
    lost = threading.Event()
    client = BlockingClient(SystemClock(), on_close=lambda address: lost.set())
    client.invoke(server.address, ROUTE("t"))
    [peer] = server.server.peers
    server.call(peer.close, "test")
    assert lost.wait(120)
    assert client.addresses == []
    client.close()


def test_the_other_side_may_ask_while_the_connection_is_idle_and_while_it_is_read(
    server: ServerThread, pool: ThreadPoolExecutor
) -> None:
    def answer(call: Call) -> Reply:
        return Reply(
            0,
            body=b"for "
            + decode_fields(call.frame.ext, LIST).namespace.encode()
            + call.peer.address.encode()[:3],
        )

    client = BlockingClient(SystemClock(), handlers={LIST.CODE: answer})
    client.invoke(server.address, ROUTE("t"))
    [peer] = server.server.peers

    async def ask(name: str) -> bytes:
        return bytes((await peer.invoke(LIST(name), timeout=1000)).body)

    assert server.run(ask("idle")) == b"for idle127"
    waiting = pool.submit(client.invoke, server.address, LIST("x"), timeout=120)
    server.wait_held()
    assert server.run(ask("busy")) == b"for busy127"
    server.call(server.held[0].reply, Reply(5))
    assert waiting.result(120).code == 5

    async def unknown() -> int:
        return (await peer.invoke(CLUSTER(), timeout=1000)).code

    assert server.run(unknown()) == 3
    client.close()


def test_idle_connections_are_closed_by_the_clock(server: ServerThread) -> None:
    clock = ManualClock()
    lost = threading.Event()
    settings = NetSettings(idle_seconds=0.5)  # how long the idle reader naps at most is a fraction of this
    client = BlockingClient(clock, settings, on_close=lambda address: lost.set())
    client.invoke(server.address, ROUTE("t"))
    assert client.addresses == [server.address]
    clock.advance(0.6)
    assert lost.wait(120)
    assert client.addresses == []
    client.close()

"""The thread that reads while no caller does."""

from __future__ import annotations

import selectors
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mqframe_testing.manual_clock import ManualClock
from peers import CLUSTER, LIST, ROUTE, ServerThread

from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame
from mqframe.net.blocking import BlockingClient
from mqframe.net.blocking_peer import BlockingPeer
from mqframe.net.clock import SystemClock
from mqframe.net.endpoint import Endpoint
from mqframe.net.settings import NetSettings


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


class Owner:
    """Who a connection belongs to."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.endpoint = Endpoint(NetSettings(), {}, ())
        self.lock = threading.Lock()

    def submit(self, peer: BlockingPeer, frame: Frame) -> None:
        raise AssertionError("nothing is sent")

    def closed(self, peer: BlockingPeer) -> None: ...


class Registering(selectors.DefaultSelector):
    """Another thread closes the connection while it is registered."""

    def __init__(self, owner: Owner) -> None:
        super().__init__()
        self._owner = owner
        self.closing = threading.Thread()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        assert self._owner.lock.locked(), "the descriptor may be gone, or be that of another connection"
        self.closing = threading.Thread(target=data.close, args=("test",))
        self.closing.start()
        return super().register(fileobj, events, data)


def test_a_connection_may_be_closed_at_the_moment_when_it_is_to_be_watched() -> None:
    owner = Owner()
    with socket.create_server(("127.0.0.1", 0)) as listening, Registering(owner) as selector:
        peer = BlockingPeer(owner, "127.0.0.1:1", socket.create_connection(listening.getsockname()))
        assert peer.watch(selector)
        selector.closing.join()
        assert peer.closed
        selector.unregister(peer.descriptor)
        assert not peer.watch(selector)
        assert not selector.get_map()

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from peers import LIST, ROUTE, Doubling, ServerThread

from mqframe.core.errors import ClosedError, ConnectError, ConnectionLost, HeaderError, TooMuchInFlight
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings


def test_calls_of_one_thread(server: ServerThread, client: BlockingClient) -> None:
    for n in range(50):
        answer = client.invoke(server.address, ROUTE(f"t{n}"), b"%d" % n)
        assert (answer.ext, bytes(answer.body)) == ({"topic": f"t{n}"}, b"%d" % n)
    assert client.addresses == [server.address]
    assert client.endpoint.in_flight_requests == 0


def test_a_lost_connection_fails_all_callers_and_the_next_call_opens_a_new_one(
    server: ServerThread, pool: ThreadPoolExecutor
) -> None:
    lost = threading.Event()
    client = BlockingClient(SystemClock(), on_close=lambda address: lost.set())
    waiting = [pool.submit(client.invoke, server.address, LIST("x"), timeout=120) for _ in range(4)]
    server.wait_held(4)
    [peer] = server.server.peers
    server.call(peer.close, "test")
    for call in waiting:
        with pytest.raises(ConnectionLost):
            call.result(120)
    assert lost.wait(120)
    assert client.addresses == []
    assert client.invoke(server.address, ROUTE("again")).ext == {"topic": "again"}
    client.close()


def test_one_way_requests_arrive(server: ServerThread, client: BlockingClient) -> None:
    client.oneway(server.address, LIST("quiet"), b"body")
    server.wait_held()
    assert (server.held[0].oneway, bytes(server.held[0].frame.body)) == (True, b"body")


def test_requests_and_bytes_in_flight_are_limited(server: ServerThread, pool: ThreadPoolExecutor) -> None:
    settings = NetSettings(in_flight_requests_max=1, in_flight_bytes_max=1024)
    client = BlockingClient(SystemClock(), settings)
    waiting = pool.submit(client.invoke, server.address, LIST("x"), timeout=120)
    server.wait_held()
    with pytest.raises(TooMuchInFlight):
        client.invoke(server.address, ROUTE("t"))
    server.call(server.held[0].reply, Reply())
    waiting.result(120)
    assert client.invoke(server.address, ROUTE("t"), b"x" * 5000).code == 0
    client.close()


def test_big_bodies_pass_both_ways(server: ServerThread, client: BlockingClient) -> None:
    body = os.urandom(5_000_000)
    assert bytes(client.invoke(server.address, ROUTE("t"), body, timeout=120).body) == body


def test_nobody_listens(client: BlockingClient) -> None:
    with socket.socket() as deaf:  # it has a port, which nobody else can take meanwhile, and does not listen
        deaf.bind(("127.0.0.1", 0))
        for address in (f"127.0.0.1:{deaf.getsockname()[1]}", "nonsense", "host:port"):
            with pytest.raises(ConnectError):
                client.invoke(address, ROUTE("t"))


def test_threads_that_open_at_once_share_one_attempt(
    server: ServerThread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    gate = threading.Barrier(16)

    def call(n: int) -> int:
        gate.wait()
        return client.invoke(server.address, ROUTE("t")).code

    assert set(pool.map(call, range(16))) == {0}
    assert len(server.server.peers) == 1


def test_a_closed_client_says_so_and_its_calls_fail(server: ServerThread, pool: ThreadPoolExecutor) -> None:
    client = BlockingClient(SystemClock())
    waiting = [pool.submit(client.invoke, server.address, LIST("x"), timeout=120) for _ in range(3)]
    server.wait_held(3)
    client.close()
    for call in waiting:
        with pytest.raises(ConnectionLost, match="the client was closed"):
            call.result(120)
    with pytest.raises(ClosedError, match="closed"):
        client.invoke(server.address, ROUTE("t"))
    with pytest.raises(ClosedError, match="closed"):
        client.oneway(server.address, ROUTE("t"))


def test_a_client_used_after_a_fork_says_so(
    server: ServerThread, client: BlockingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.invoke(server.address, ROUTE("t"))
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -1)
        with pytest.raises(ClosedError, match="forked"):
            client.invoke(server.address, ROUTE("t"))


def test_hooks_may_add_fields_and_see_answers(server: ServerThread) -> None:
    class Sign(RpcHook):
        answers: list[int | None] = []

        def before(self, address: str, request: Frame) -> None:
            assert request.ext is not None
            request.ext["Signature"] = f"for {bytes(request.body)!r}"

        def after(self, address: str, request: Frame, answer: Frame | None) -> None:
            self.answers.append(answer.code if answer else None)

    client = BlockingClient(SystemClock(), rpc_hooks=[Sign()])
    assert client.invoke(server.address, ROUTE("t"), b"body").ext == {
        "topic": "t",
        "Signature": "for b'body'",
    }
    client.oneway(server.address, LIST("x"))
    server.wait_held()
    assert Sign.answers == [0, None]
    client.close()


def test_hooks_may_exchange_bodies(server: ServerThread) -> None:
    class Saying(Doubling):
        def before(self, address: str, request: Frame) -> None:
            request.body = b"said"

    client = BlockingClient(SystemClock(), rpc_hooks=[Saying()])
    assert client.invoke(server.address, ROUTE("t"), b"body").body == b"said" * 2
    assert [each.body for each in client.invoke_all(server.address, [ROUTE("t")] * 2)] == [b"said" * 2] * 2
    client.oneway(server.address, LIST("x"))
    server.wait_held()
    assert bytes(server.held[0].frame.body) == b"said"
    client.close()


def test_what_cannot_be_encoded_is_refused_and_leaves_nothing_behind(server, client) -> None:
    for topic in ("\udc80", "a\ud800"):
        with pytest.raises(HeaderError, match=r"field topic holds '\\ud.*nothing was sent"):
            client.invoke(server.address, ROUTE(topic))
        with pytest.raises(HeaderError, match="field topic"):
            client.invoke_all(server.address, [ROUTE("fine"), ROUTE(topic)])
        with pytest.raises(HeaderError, match="field topic"):
            client.oneway(server.address, ROUTE(topic))
    assert client.endpoint.in_flight_requests == 0
    assert client.invoke(server.address, ROUTE("t")).ext == {"topic": "t"}


@pytest.mark.parametrize("host", ["a\0b", "x" * 70, "a..b", "\udc80", "", "[::1", "127.0.0.1:1"])
@pytest.mark.parametrize("port", ["1", "99999", "9" * 5000, "\u00b2", "-1", ""])
def test_an_address_that_is_none_is_an_error_before_anything_was_sent(client, host, port) -> None:
    with pytest.raises(ConnectError):
        client.invoke(f"{host}:{port}", ROUTE("t"))

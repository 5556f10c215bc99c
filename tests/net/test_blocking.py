from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from peers import CLUSTER, LIST, ROUTE

from mqframe.core.errors import CallTimeout, ClosedError, ConnectError, ConnectionLost, TooMuchInFlight
from mqframe.core.frame import Frame, FrameDecoder, encode_frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.blocking import BlockingClient
from mqframe.net.call import Call, Reply
from mqframe.net.clock import SystemClock
from mqframe.net.server import Server
from mqframe.net.settings import NetSettings
from mqframe.testing.manual_clock import ManualClock


class Thread:
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
            assert self.arrived.acquire(timeout=20)

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        async def inside() -> Any:
            return function(*arguments)

        return self.run(inside())

    def close(self) -> None:
        self.run(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def server() -> Iterator[Thread]:
    thread = Thread()
    yield thread
    thread.close()


@pytest.fixture
def client() -> Iterator[BlockingClient]:
    made = BlockingClient(SystemClock())
    yield made
    made.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as made:
        yield made


def test_calls_of_one_thread(server: Thread, client: BlockingClient) -> None:
    for n in range(50):
        answer = client.invoke(server.address, ROUTE(f"t{n}"), b"%d" % n)
        assert (answer.ext, bytes(answer.body)) == ({"topic": f"t{n}"}, b"%d" % n)
    assert client.addresses == [server.address]
    assert client.in_flight_requests == 0


def test_many_threads_share_one_connection(
    server: Thread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    def call(n: int) -> bool:
        answer = client.invoke(server.address, ROUTE(f"t{n}"), b"x" * n)
        return answer.ext == {"topic": f"t{n}"} and len(answer.body) == n

    assert all(pool.map(call, range(2000)))
    assert len(server.server.peers) == 1
    assert client.in_flight_requests == 0


def test_a_sleeper_gets_the_lead_when_the_leader_is_done(
    server: Thread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    waiting: list[Future[Frame]] = []
    for n in range(5):
        waiting.append(pool.submit(client.invoke, server.address, LIST(str(n)), timeout=20))
        server.wait_held()
    for n in (3, 0, 4, 1, 2):
        [call] = [c for c in server.held if c.frame.ext == {"namespace": str(n)}]
        server.call(call.reply, Reply(n))
        assert waiting[n].result(20).code == n


def test_calls_that_leave_together_are_answered_in_order(
    server: Thread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    requests = [LIST("0"), ROUTE("1"), LIST("2"), ROUTE("3")]
    together = pool.submit(client.invoke_all, server.address, requests, timeout=20)
    server.wait_held(2)
    alone = pool.submit(client.invoke, server.address, ROUTE("4"), timeout=20)
    assert alone.result(20).ext == {"topic": "4"}
    for call in reversed(server.held):
        server.call(call.reply, Reply(int(call.frame.ext["namespace"]) + 10))
    answers = together.result(20)
    assert [answer.code for answer in answers] == [10, 0, 12, 0]
    assert [answer.ext for answer in answers[1::2]] == [{"topic": "1"}, {"topic": "3"}]
    assert client.in_flight_requests == 0
    assert client.invoke_all(server.address, []) == []


def test_calls_that_leave_together_fail_together(
    server: Thread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    requests = [ROUTE("0"), LIST("1"), ROUTE("2")]
    with pytest.raises(CallTimeout, match=r"GetKvlistByNamespace \(219\) within 0"):
        client.invoke_all(server.address, requests, timeout=0.05)
    server.wait_held()
    lost = pool.submit(client.invoke_all, server.address, requests, timeout=20)
    server.wait_held()
    [peer] = server.server.peers
    server.call(peer.close, "test")
    with pytest.raises(ConnectionLost):
        lost.result(20)
    assert client.in_flight_requests == 0
    answers = client.invoke_all(server.address, [ROUTE("3"), ROUTE("4")], timeout=20)
    assert [answer.ext for answer in answers] == [{"topic": "3"}, {"topic": "4"}]


def test_no_more_leave_together_than_may_be_in_flight(server: Thread) -> None:
    client = BlockingClient(SystemClock(), NetSettings(in_flight_requests_max=2))
    with pytest.raises(TooMuchInFlight, match="2 requests wait"):
        client.invoke_all(server.address, [ROUTE("t")] * 3)
    assert client.in_flight_requests == 0
    assert len(client.invoke_all(server.address, [ROUTE("t")] * 2)) == 2
    client.close()


def test_an_answer_that_does_not_come_in_time(
    server: Thread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    client.invoke(server.address, ROUTE("t"))
    first = pool.submit(client.invoke, server.address, LIST("1"), timeout=0.15)
    second = pool.submit(client.invoke, server.address, LIST("2"), timeout=0.05)
    for call in (first, second):
        with pytest.raises(CallTimeout, match=r"GetKvlistByNamespace \(219\) within 0"):
            call.result(20)
    server.wait_held(2)
    for held in server.held:
        server.call(held.reply, Reply())  # too late: ignored
    assert client.invoke(server.address, ROUTE("t")).code == 0
    assert client.in_flight_requests == 0


def test_a_lost_connection_fails_all_callers_and_the_next_call_opens_a_new_one(
    server: Thread, pool: ThreadPoolExecutor
) -> None:
    lost = threading.Event()
    client = BlockingClient(SystemClock(), on_close=lambda address: lost.set())
    waiting = [pool.submit(client.invoke, server.address, LIST("x"), timeout=20) for _ in range(4)]
    server.wait_held(4)
    [peer] = server.server.peers
    server.call(peer.close, "test")
    for call in waiting:
        with pytest.raises(ConnectionLost):
            call.result(20)
    assert lost.wait(20)
    assert client.addresses == []
    assert client.invoke(server.address, ROUTE("again")).ext == {"topic": "again"}
    client.close()


def test_a_connection_that_the_other_side_closes_while_idle_is_noticed(server: Thread) -> None:
    lost = threading.Event()
    client = BlockingClient(SystemClock(), on_close=lambda address: lost.set())
    client.invoke(server.address, ROUTE("t"))
    [peer] = server.server.peers
    server.call(peer.close, "test")
    assert lost.wait(20)
    assert client.addresses == []
    client.close()


def test_the_other_side_may_ask_while_the_connection_is_idle_and_while_it_is_read(
    server: Thread, pool: ThreadPoolExecutor
) -> None:
    def answer(call: Call) -> Reply:
        return Reply(0, body=b"for " + call.fields(LIST).namespace.encode() + call.peer.address.encode()[:3])

    client = BlockingClient(SystemClock(), handlers={LIST.CODE: answer})
    client.invoke(server.address, ROUTE("t"))
    [peer] = server.server.peers

    async def ask(name: str) -> bytes:
        return bytes((await peer.invoke(LIST(name), timeout=1000)).body)

    assert server.run(ask("idle")) == b"for idle127"
    waiting = pool.submit(client.invoke, server.address, LIST("x"), timeout=20)
    server.wait_held()
    assert server.run(ask("busy")) == b"for busy127"
    server.call(server.held[0].reply, Reply(5))
    assert waiting.result(20).code == 5

    async def unknown() -> int:
        return (await peer.invoke(CLUSTER(), timeout=1000)).code

    assert server.run(unknown()) == 3
    client.close()


def test_one_way_requests_arrive(server: Thread, client: BlockingClient) -> None:
    client.oneway(server.address, LIST("quiet"), b"body")
    server.wait_held()
    assert (server.held[0].oneway, bytes(server.held[0].frame.body)) == (True, b"body")


def test_requests_and_bytes_in_flight_are_limited(server: Thread, pool: ThreadPoolExecutor) -> None:
    settings = NetSettings(in_flight_requests_max=1, in_flight_bytes_max=1024)
    client = BlockingClient(SystemClock(), settings)
    waiting = pool.submit(client.invoke, server.address, LIST("x"), timeout=20)
    server.wait_held()
    with pytest.raises(TooMuchInFlight):
        client.invoke(server.address, ROUTE("t"))
    server.call(server.held[0].reply, Reply())
    waiting.result(20)
    assert client.invoke(server.address, ROUTE("t"), b"x" * 5000).code == 0
    client.close()


def test_big_bodies_pass_both_ways(server: Thread, client: BlockingClient) -> None:
    body = os.urandom(5_000_000)
    assert bytes(client.invoke(server.address, ROUTE("t"), body, timeout=20).body) == body


def test_nobody_listens(client: BlockingClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for address in (f"127.0.0.1:{port}", "nonsense", "host:port"):
        with pytest.raises(ConnectError):
            client.invoke(address, ROUTE("t"))


def test_threads_that_open_at_once_share_one_attempt(
    server: Thread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    gate = threading.Barrier(16)

    def call(n: int) -> int:
        gate.wait()
        return client.invoke(server.address, ROUTE("t")).code

    assert set(pool.map(call, range(16))) == {0}
    assert len(server.server.peers) == 1


def test_malformed_answers_close_the_connection(client: BlockingClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ConnectionLost, match="malformed frame"):
            client.invoke(f"127.0.0.1:{listener.getsockname()[1]}", ROUTE("t"))
        thread.join()


def test_a_peer_that_does_not_read_ends_the_call_in_time(client: BlockingClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises((ConnectionLost, TooMuchInFlight)):
            client.invoke(address, ROUTE("t"), b"x" * 30_000_000, timeout=0.2)


def test_answers_may_come_in_pieces(client: BlockingClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            decoder = FrameDecoder()
            while (frame := decoder.next_frame()) is None:
                decoder.receive(connection.recv(65536))
            for byte in encode_frame(Frame(0, frame.opaque, 1, body=b"slowly")):
                connection.sendall(bytes([byte]))
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        answer = client.invoke(f"127.0.0.1:{listener.getsockname()[1]}", ROUTE("t"))
        assert bytes(answer.body) == b"slowly"
        thread.join()


def test_idle_connections_are_closed_by_the_clock(server: Thread) -> None:
    clock = ManualClock()
    lost = threading.Event()
    settings = NetSettings(idle_seconds=0.5)  # how long the caretaker naps at most is a fraction of this
    client = BlockingClient(clock, settings, on_close=lambda address: lost.set())
    client.invoke(server.address, ROUTE("t"))
    assert client.addresses == [server.address]
    clock.advance(0.6)
    assert lost.wait(20)
    assert client.addresses == []
    client.close()


def test_a_closed_client_says_so_and_its_calls_fail(server: Thread, pool: ThreadPoolExecutor) -> None:
    client = BlockingClient(SystemClock())
    waiting = [pool.submit(client.invoke, server.address, LIST("x"), timeout=20) for _ in range(3)]
    server.wait_held(3)
    client.close()
    for call in waiting:
        with pytest.raises(ConnectionLost, match="the client was closed"):
            call.result(20)
    with pytest.raises(ClosedError, match="closed"):
        client.invoke(server.address, ROUTE("t"))
    with pytest.raises(ClosedError, match="closed"):
        client.oneway(server.address, ROUTE("t"))


def test_a_client_used_after_a_fork_says_so(
    server: Thread, client: BlockingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.invoke(server.address, ROUTE("t"))
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -1)
        with pytest.raises(ClosedError, match="forked"):
            client.invoke(server.address, ROUTE("t"))


def test_hooks_may_add_fields_and_see_answers(server: Thread) -> None:
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

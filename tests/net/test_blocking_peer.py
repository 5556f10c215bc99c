"""One connection that many threads use: who reads, who waits, what ends it."""

from __future__ import annotations

import itertools
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import LIST, ROUTE, ServerThread, too_long

from mqframe.core.codes import FLAG_RESPONSE
from mqframe.core.errors import CallTimeout, ConnectionLost, TooMuchInFlight
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings


def test_many_threads_share_one_connection(
    server: ServerThread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    def call(n: int) -> bool:
        answer = client.invoke(server.address, ROUTE(f"t{n}"), b"x" * n)
        return answer.ext == {"topic": f"t{n}"} and len(answer.body) == n

    assert all(pool.map(call, range(2000)))
    assert len(server.server.peers) == 1
    assert client.endpoint.in_flight_requests == 0


def test_a_sleeper_gets_the_lead_when_the_leader_is_done(
    server: ServerThread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    waiting: list[Future[Frame]] = []
    for n in range(5):
        waiting.append(pool.submit(client.invoke, server.address, LIST(str(n)), timeout=120))
        server.wait_held()
    for n in (3, 0, 4, 1, 2):
        [call] = [c for c in server.held if c.frame.ext == {"namespace": str(n)}]
        server.call(call.reply, Reply(n))
        assert waiting[n].result(120).code == n


def test_calls_that_leave_together_are_answered_in_order(
    server: ServerThread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    requests = [LIST("0"), ROUTE("1"), LIST("2"), ROUTE("3")]
    together = pool.submit(client.invoke_all, server.address, requests, timeout=120)
    server.wait_held(2)
    alone = pool.submit(client.invoke, server.address, ROUTE("4"), timeout=120)
    assert alone.result(120).ext == {"topic": "4"}
    for call in reversed(server.held):
        server.call(call.reply, Reply(int(call.frame.ext["namespace"]) + 10))
    answers = together.result(120)
    assert [answer.code for answer in answers] == [10, 0, 12, 0]
    assert [answer.ext for answer in answers[1::2]] == [{"topic": "1"}, {"topic": "3"}]
    assert client.endpoint.in_flight_requests == 0
    assert client.invoke_all(server.address, []) == []


def test_calls_that_leave_together_fail_together(
    server: ServerThread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    requests = [ROUTE("0"), LIST("1"), ROUTE("2")]
    with pytest.raises(CallTimeout, match=r"GetKvlistByNamespace \(219\) within 0"):
        client.invoke_all(server.address, requests, timeout=0.5)
    server.wait_held()
    lost = pool.submit(client.invoke_all, server.address, requests, timeout=120)
    server.wait_held()
    [peer] = server.server.peers
    server.call(peer.close, "test")
    with pytest.raises(ConnectionLost):
        lost.result(120)
    assert client.endpoint.in_flight_requests == 0
    answers = client.invoke_all(server.address, [ROUTE("3"), ROUTE("4")], timeout=120)
    assert [answer.ext for answer in answers] == [{"topic": "3"}, {"topic": "4"}]


def test_no_more_leave_together_than_may_be_in_flight(server: ServerThread) -> None:
    client = BlockingClient(SystemClock(), NetSettings(in_flight_requests_max=2))
    with pytest.raises(TooMuchInFlight, match="2 requests wait"):
        client.invoke_all(server.address, [ROUTE("t")] * 3)
    assert client.endpoint.in_flight_requests == 0
    assert len(client.invoke_all(server.address, [ROUTE("t")] * 2)) == 2
    client.close()


def test_an_answer_that_does_not_come_in_time(
    server: ServerThread, client: BlockingClient, pool: ThreadPoolExecutor
) -> None:
    client.invoke(server.address, ROUTE("t"))
    first = pool.submit(client.invoke, server.address, LIST("1"), timeout=0.9)
    second = pool.submit(client.invoke, server.address, LIST("2"), timeout=0.6)
    for call in (first, second):
        with pytest.raises(CallTimeout, match=r"GetKvlistByNamespace \(219\) within 0"):
            call.result(120)
    server.wait_held(2)
    for held in server.held:
        server.call(held.reply, Reply())  # too late: ignored
    assert client.invoke(server.address, ROUTE("t")).code == 0
    assert client.endpoint.in_flight_requests == 0


def test_a_connection_over_which_nothing_came_since_a_call_is_closed_with_its_time(
    server: ServerThread, pool: ThreadPoolExecutor
) -> None:
    clock, lost = ManualClock(), []
    client = BlockingClient(clock, on_close=lost.append)
    client.invoke(server.address, ROUTE("t"))
    pull = pool.submit(client.invoke, server.address, LIST("pull"), timeout=30)
    server.wait_held()
    send = pool.submit(client.invoke, server.address, LIST("send"), timeout=3)
    several = pool.submit(client.invoke_all, server.address, [LIST("1"), LIST("2")], timeout=4)
    server.wait_held(3)
    clock.advance(3)
    with pytest.raises(CallTimeout):
        send.result(120)
    for call in (pull, several):
        with pytest.raises(ConnectionLost, match="it said nothing for 3 s") as problem:
            call.result(120)
        assert problem.value.maybe_stored
    assert lost == [server.address]
    assert client.endpoint.in_flight_requests == 0
    assert client.invoke(server.address, ROUTE("t")).code == 0

    heard = pool.submit(client.invoke, server.address, LIST("late"), timeout=3)
    server.wait_held()
    client.invoke(server.address, ROUTE("t"))
    clock.advance(3)
    with pytest.raises(CallTimeout):
        heard.result(120)
    assert lost == [server.address]
    client.close()


def test_a_request_of_which_not_a_byte_left_was_not_served(server: ServerThread) -> None:
    client = BlockingClient(ManualClock())
    client.invoke(server.address, ROUTE("t"))
    [peer] = client._peers.values()
    peer._socket.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionLost, match="Broken pipe") as problem:
        client.invoke(server.address, ROUTE("t"))
    assert not problem.value.maybe_stored
    client.close()


def test_a_server_that_said_a_wrong_length_once_is_connected_to_anew(pool: ThreadPoolExecutor) -> None:
    clock, lost, answered = ManualClock(), [], threading.Semaphore(0)
    client = BlockingClient(clock, on_close=lost.append)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"

        def serve() -> None:
            """Answer two connections, one after the other; the second answer says it is longer than it is."""
            answers = itertools.count()
            for _ in range(2):
                connection, _ = listener.accept()
                decoder = FrameDecoder()
                with connection:
                    while data := connection.recv(65536):
                        decoder.receive(data)
                        while (request := decoder.next_frame()) is not None:
                            answer = Frame(0, request.opaque, FLAG_RESPONSE)
                            wrong = next(answers) == 1
                            connection.sendall(too_long(answer) if wrong else encode_frame(answer))
                            answered.release()

        served = pool.submit(serve)
        try:
            assert client.invoke(address, ROUTE("t")).code == 0
            late = [pool.submit(client.invoke, address, LIST("send"), timeout=3) for _ in range(2)]
            for _ in range(3):
                assert answered.acquire(timeout=120)
            clock.advance(3)
            for call in late:
                with pytest.raises((CallTimeout, ConnectionLost)):
                    call.result(120)
            assert lost == [address]
            assert client.invoke(address, ROUTE("t")).code == 0
        finally:
            client.close()
            listener.shutdown(socket.SHUT_RDWR)
    served.result(120)


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
            client.invoke(address, ROUTE("t"), b"x" * 30_000_000, timeout=2.0)


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

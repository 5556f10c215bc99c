"""Connections of asyncio: turns, answers in time and late, slow and broken other sides."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import LIST, Raw, echo, serving

from mqframe.core.codes import FLAG_ONEWAY, FLAG_RESPONSE
from mqframe.core.errors import ConnectionLost
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.net.async_peer import TURN_SECONDS, AsyncPeer
from mqframe.net.budgets import ConnectionBudgets
from mqframe.net.endpoint import Endpoint
from mqframe.net.peer_group import PeerEvents, PeerGroup
from mqframe.net.server import Server
from mqframe.net.settings import NetSettings


async def test_answers_of_one_read_are_written_together_after_the_end_of_the_turn() -> None:
    events: list[str] = []

    def handler(call: Call) -> Reply:
        events.append(f"call {call.frame.opaque}")
        return Reply()

    async with serving({1: handler}, turn_end=lambda: events.append("end")) as (_, raw, _port):
        raw.send(Frame(1, 1), Frame(1, 2), Frame(1, 3))
        assert [(await raw.frame()).opaque for _ in range(3)] == [1, 2, 3]
        assert events == ["call 1", "call 2", "call 3", "end"]


async def test_a_large_answer_leaves_before_the_next_request_is_served() -> None:
    events: list[str] = []

    def handler(call: Call) -> Reply:
        events.append(f"call {call.frame.opaque}")
        return Reply(body=b"x" * (20_000 if call.frame.opaque == 2 else 10))

    async with serving({1: handler}, turn_end=lambda: events.append("end")) as (_, raw, _port):
        raw.send(*[Frame(1, number) for number in (1, 2, 3)])
        assert [(await raw.frame()).opaque for _ in range(3)] == [1, 2, 3]
        assert events == ["call 1", "call 2", "end", "call 3", "end"]


async def test_an_answer_given_at_the_end_of_the_turn_leaves_with_the_others() -> None:
    held: list[Call] = []

    def end() -> None:
        while held:
            held.pop().reply(Reply(body=[memoryview(b"late")]))

    async with serving({1: lambda call: held.append(call)}, turn_end=end) as (_, raw, _port):
        raw.send(Frame(1, 5))
        assert (await raw.frame()).body == b"late"


async def test_deferred_answers_come_in_any_order_and_only_once() -> None:
    held: list[Call] = []

    async with serving({1: lambda call: held.append(call), 2: echo}) as (_, raw, _port):
        raw.send(Frame(1, 1), Frame(1, 2), Frame(2, 3))
        assert (await raw.frame()).opaque == 3
        held[1].reply(Reply(body=bytearray(b"two")))
        held[0].reply(Reply(body=b"one"))
        assert [(await raw.frame()).body for _ in range(2)] == [b"two", b"one"]
        with pytest.raises(RuntimeError, match="answered already"):
            held[0].reply(Reply())


@pytest.mark.parametrize(
    "bad",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x00\x00\x01",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x06\x00\x00\x00\x02{]",
        b"\xff" * 64,
    ],
)
async def test_a_malformed_frame_closes_its_own_connection_and_no_other(
    bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "mqframe"):
        async with serving({1: echo}) as (server, raw, port):
            other = await Raw.open(port)
            other.send(Frame(1, 1))
            await other.frame()
            raw.send(Frame(1, 5), bad, Frame(1, 6))
            assert (await raw.frame()).opaque == 5
            assert await raw.closed() == b""
            other.send(Frame(1, 2))
            assert (await other.frame()).opaque == 2
            assert len(server.peers) == 1
            await other.close()
    assert caplog.text.count("malformed frame") == 1


async def test_requests_come_in_pieces() -> None:
    async with serving({1: echo}) as (_, raw, _port):
        data = encode_frame(Frame(1, 5, body=b"x" * 1000))
        for at in range(0, len(data), 97):
            raw.send(data[at : at + 97])
            await asyncio.sleep(0)
        assert (await raw.frame()).body == b"x" * 1000


async def test_a_peer_that_never_reads_is_not_read_from_and_then_closed() -> None:
    clock = ManualClock()
    served: list[int] = []
    settings = NetSettings(unsent_bytes_max=64 * 1024)

    def big(call: Call) -> Reply:
        served.append(call.frame.opaque)
        return Reply(body=b"x" * 500_000)

    server = Server({1: big, 2: echo}, clock, settings)
    port = await server.start("127.0.0.1", 0)
    lazy = socket.create_connection(("127.0.0.1", port))
    lazy.sendall(b"".join(encode_frame(Frame(1, n)) for n in range(1000)))
    await clock.aadvance(1)
    other = await Raw.open(port)
    other.send(Frame(2, 1))
    assert (await other.frame()).opaque == 1
    assert len(served) < 100
    [peer] = [p for p in server.peers if p.unsent_bytes]
    assert peer.unsent_bytes < 2_000_000
    await clock.aadvance(20)
    other.send(Frame(2, 2))
    assert (await other.frame()).opaque == 2
    assert peer in server.peers
    await clock.aadvance(15)
    assert peer not in server.peers
    other.send(Frame(2, 3))
    assert (await other.frame()).opaque == 3
    lazy.close()
    await other.close()
    await server.stop()


async def test_a_slow_reader_gets_all_answers_in_the_end() -> None:
    settings = NetSettings(unsent_bytes_max=64 * 1024)

    def big(call: Call) -> Reply:
        return Reply(body=b"x" * 300_000)

    async with serving({1: big}, settings=settings) as (_, raw, _port):
        raw.send(*(Frame(1, n) for n in range(60)))
        for _ in range(200):
            await asyncio.sleep(0)
        assert [(await raw.frame()).opaque for _ in range(60)] == list(range(60))


async def test_more_waiting_requests_than_allowed_are_refused_as_busy() -> None:
    held: list[Call] = []
    settings = NetSettings(in_flight_requests_max=2, in_flight_bytes_max=2000)
    async with serving({1: lambda call: held.append(call)}, settings=settings) as (_, raw, _port):
        raw.send(Frame(1, 1), Frame(1, 2), Frame(1, 3))
        busy = await raw.frame()
        assert (busy.code, busy.opaque) == (2, 3)
        held.pop(0).reply(Reply())
        assert (await raw.frame()).opaque == 1
        raw.send(Frame(1, 4, body=b"x" * 1500))
        held.pop(0).reply(Reply())
        assert (await raw.frame()).opaque == 2
        raw.send(Frame(1, 5, body=b"x" * 1500))
        assert ((await raw.frame()).code, len(held)) == (2, 1)


async def test_a_failing_end_of_turn_is_logged_and_the_answers_leave(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise OSError("disk")

    with caplog.at_level(logging.ERROR, "mqframe"):
        async with serving({1: echo}, turn_end=fail) as (_, raw, _port):
            raw.send(Frame(1, 1))
            assert (await raw.frame()).code == 0
    assert "end of turn failed" in caplog.text


async def test_answers_wait_for_what_the_end_of_their_turn_asks_for_and_no_other_connection_does() -> None:
    saved: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    served: list[int] = []
    parted: list[Call] = []

    def change(call: Call) -> Reply:
        served.append(call.frame.opaque)
        return Reply(body=[memoryview(b"of a map")])

    def end() -> asyncio.Future[bool] | None:
        return saved if served[-1:] == [1] else None

    handlers = {1: change, 2: echo, 3: parted.append}
    async with serving(handlers, turn_end=end) as (_, raw, port):
        raw.send(Frame(3, 7), Frame(1, 1), Frame(2, 2))
        other = await Raw.open(port)
        while served != [1]:
            await asyncio.sleep(0)
        served.append(0)
        raw.send(Frame(1, 3))
        other.send(Frame(2, 9))
        assert (await other.frame()).opaque == 9
        parted[0].reply(Reply(body=b"woken"))
        other.send(Frame(2, 10))
        assert (await other.frame()).opaque == 10
        assert served == [1, 0], "what came behind waits, too"
        saved.set_result(True)
        answers = [await raw.frame() for _ in range(4)]
        assert [answer.opaque for answer in answers] == [1, 2, 7, 3]
        assert answers[0].body == b"of a map"
        await other.close()


@pytest.mark.parametrize("stops", [False, True])
async def test_answers_whose_reason_is_given_up_never_leave(stops: bool) -> None:
    saved: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    served: list[Call] = []

    def change(call: Call) -> Reply:
        served.append(call)
        return Reply()

    async with serving({1: change}, turn_end=lambda: saved) as (server, raw, _port):
        raw.send(Frame(1, 1))
        while not served:
            await asyncio.sleep(0)
        if stops:
            await server.stop()
            saved.set_result(True)
        else:
            saved.cancel()
        assert await raw.closed() == b""


async def test_a_server_calls_its_peer_over_the_same_connection() -> None:
    async with serving({1: echo}) as (server, raw, _port):
        raw.send(Frame(1, 1))
        await raw.frame()
        [peer] = server.peers
        assert peer.address == "127.0.0.1:" + str(raw.writer.get_extra_info("sockname")[1])
        answer = peer.invoke(LIST("ns"), b"body")
        request = await raw.frame()
        assert (request.code, request.ext, request.body) == (219, {"namespace": "ns"}, b"body")
        # Both sides may use the same number at once: the response bit tells them apart.
        raw.send(Frame(1, request.opaque, body=b"mine"), Frame(0, request.opaque, 1, body=b"yours"))
        assert bytes((await answer).body) == b"yours"
        assert (await raw.frame()).body == b"mine"
        peer.oneway(LIST("other"))
        assert (await raw.frame()).flag == FLAG_ONEWAY


async def test_after_a_long_answer_the_others_are_served_first() -> None:
    order: list[str] = []

    def long(call: Call) -> Reply:
        order.append(f"long {call.frame.opaque}")
        asyncio.get_running_loop().call_soon(order.append, "others")
        return Reply(0, body=bytes(300_000))

    def short(call: Call) -> Reply:
        order.append(f"short {call.frame.opaque}")
        asyncio.get_running_loop().call_soon(order.append, "others")
        return Reply(0, body=bytes(30_000))

    async with serving({1: long, 2: short}) as (_, raw, _port):
        raw.send(*(Frame(1, n) for n in range(3)))
        answers = [await raw.frame() for _ in range(3)]
        raw.send(*(Frame(2, n) for n in range(2)))
        answers += [await raw.frame() for _ in range(2)]
    assert [len(answer.body) for answer in answers] == [300_000] * 3 + [30_000] * 2
    assert order[:6] == ["long 0", "others", "long 1", "others", "long 2", "others"]
    assert order[6:] == ["short 0", "short 1", "others", "others"]


async def test_after_a_long_turn_other_connections_are_served_before_the_rest() -> None:
    clock = ManualClock()
    served: list[int] = []

    def slow(call: Call) -> Reply:
        clock.advance(TURN_SECONDS / 2)
        served.append(call.frame.opaque)
        if call.frame.opaque == 1:
            asyncio.get_running_loop().call_soon(served.append, -1)
        return Reply()

    async with serving({1: slow}, clock) as (_, raw, _port):
        raw.send(*(Frame(1, number) for number in range(1, 6)))
        assert [(await raw.frame()).opaque for _ in range(5)] == [1, 2, 3, 4, 5]
    assert served == [1, 2, -1, 3, 4, 5]


@pytest.mark.parametrize(("worked", "counted"), [(3.0, TURN_SECONDS), (0.001, 0.001)])
async def test_what_is_left_of_a_read_queues_while_the_processor_serves_others_and_no_longer(
    worked: float, counted: float
) -> None:
    """Neither a stop of the process, without processor time, nor other work of the loop counts."""

    clock, processor = ManualClock(), [0.0]
    queued: list[tuple[str, float]] = []

    def slow(call: Call) -> Reply:
        queued.append((call.peer.address, call.queued))
        clock.advance(5.0)
        processor[0] += worked
        return Reply()

    limits = ConnectionBudgets(NetSettings(), clock)
    group = PeerGroup(clock, Endpoint(NetSettings(), {1: slow}, ()), PeerEvents(), limits)
    group.processor_seconds = lambda: processor[0]
    peers = [AsyncPeer(group, name) for name in "ab"]
    asyncio.get_running_loop().call_soon(peers[1].data_received, encode_frame(Frame(1, 9)))
    peers[0].data_received(encode_frame(Frame(1, 1)) + encode_frame(Frame(1, 2)))
    assert queued == [("a", 0.0)]
    while len(queued) < 3:
        await asyncio.sleep(0)
    assert [address for address, _ in queued] == ["a", "b", "a"]
    assert [seconds for _, seconds in queued] == pytest.approx([0, 0, counted])


class Leaving:
    """A side that sends without waiting, and is gone before that is read."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]

    def send(self, *frames: Frame) -> None:
        self._socket.sendall(b"".join(map(encode_frame, frames)))

    def leave(self, *frames: Frame, reset: bool) -> None:
        """Send `frames` and close, with a reset or in good order."""
        self.send(*frames)
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def asked_and_told() -> list[Frame]:
    asked = [Frame(1, number, body=bytes(500)) for number in range(1, 7)]
    return asked + [Frame(1, number, FLAG_ONEWAY, body=bytes(500)) for number in range(7, 17)]


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("slow", [False, True])
async def test_whatever_was_read_before_the_other_side_left_is_served(reset: bool, slow: bool) -> None:
    clock = ManualClock()
    events: list[int | str] = []

    def serve(call: Call) -> Reply:
        if slow:  # each in a turn of its own, so that the end is known before the last
            clock.advance(TURN_SECONDS)
        events.append(call.frame.opaque)
        return Reply(body=bytes(call.frame.body))

    options = {"on_close": lambda peer: events.append("closed")}
    async with serving({1: serve}, clock, **options) as (_, _raw, port):
        Leaving(port).leave(*asked_and_told(), reset=reset)
        while "closed" not in events:
            await asyncio.sleep(0)
        assert events == [*range(1, 17), "closed"]


@pytest.mark.parametrize("reset", [False, True])
async def test_what_was_unread_when_an_answer_broke_the_connection_is_served(reset: bool) -> None:
    saved: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    events: list[int | str] = []

    def serve(call: Call) -> Reply:
        events.append(call.frame.opaque)
        return Reply(body=bytes(call.frame.body))

    def end() -> asyncio.Future[bool] | None:
        return None if saved.done() else saved

    options = {"turn_end": end, "on_close": lambda peer: events.append("closed")}
    async with serving({1: serve}, **options) as (_, _raw, port):
        leaving = Leaving(port)
        leaving.send(Frame(1, 0))
        while not events:
            await asyncio.sleep(0)
        leaving.leave(*asked_and_told(), reset=reset)  # nothing is read until the answer may leave
        saved.set_result(True)
        while "closed" not in events:
            await asyncio.sleep(0)
        assert events == [*range(17), "closed"]


async def test_what_was_read_is_served_when_its_turn_comes_after_the_end() -> None:
    saved: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    events: list[int | str] = []

    def serve(call: Call) -> Reply:
        events.append(call.frame.opaque)
        return Reply(body=bytes(20_000))

    def end() -> asyncio.Future[bool] | None:
        return None if saved.done() else saved

    options = {"turn_end": end, "on_close": lambda peer: events.append("closed")}
    async with serving({1: serve}, **options) as (_, _raw, port):
        Leaving(port).leave(*asked_and_told(), reset=True)
        while not events:
            await asyncio.sleep(0)
        assert events == [1]
        saved.set_result(True)
        while "closed" not in events:
            await asyncio.sleep(0)
        assert events == [*range(1, 17), "closed"]


async def test_an_answer_that_came_before_the_other_side_left_is_taken() -> None:
    clock = ManualClock()

    def slow(call: Call) -> Reply:
        clock.advance(TURN_SECONDS)
        return Reply()

    async with serving({1: slow}, clock) as (server, _raw, port):
        leaving = Leaving(port)
        while len(server.peers) < 2:
            await asyncio.sleep(0)
        [peer] = [each for each in server.peers if each.address.endswith(f":{leaving.port}")]
        first, second = peer.invoke(LIST("a")), peer.invoke(LIST("b"))
        # The server counts its requests from 1 on.
        leaving.leave(*asked_and_told(), Frame(0, 1, FLAG_RESPONSE), reset=False)
        assert (await first).code == 0
        with pytest.raises(ConnectionLost):
            await second


async def test_what_this_side_closed_is_not_served_any_more() -> None:
    clock = ManualClock()
    served: list[int] = []

    def slow(call: Call) -> Reply:
        clock.advance(TURN_SECONDS)
        served.append(call.frame.opaque)
        call.peer.close("enough")
        return Reply()

    async with serving({1: slow}, clock) as (server, raw, _port):
        raw.send(*(Frame(1, number) for number in range(3)))
        await raw.closed()
        while server.peers:
            await asyncio.sleep(0)
        assert served == [0]

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from grpc_wire import Wire, message
from h2.errors import ErrorCodes
from h2.events import SettingsAcknowledged
from h2.settings import SettingCodes
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import Method
from mqframe_grpc.transport.connection import TURN_BYTES, TURN_CALLS
from mqframe_grpc.transport.frames import DATA, GOAWAY, HEADERS, PREFACE, PRIORITY, frame_head
from mqframe_grpc.transport.status import GrpcError, GrpcStatus

MINUTE = 60.0


async def test_a_client_that_pings_is_answered_for_ever() -> None:
    wire = Wire(signals_max=30)
    peer = wire.connect()
    held = peer.call("Held", b"x")
    for _ in range(300):
        peer.http.ping(b"12345678")
        await wire.pass_time(10.0)
    assert (peer.pongs, peer.farewell) == (300, None)
    wire.release(b"x")
    await wire.settle()
    assert peer.answers[held].messages == [b"x"]


async def test_pings_that_go_with_answers_are_no_flood() -> None:
    wire = Wire(signals_max=30)
    peer = wire.connect()
    for _ in range(50):
        number = peer.call("Many", b"10:1000")
        for _ in range(8):
            peer.http.ping(b"12345678")
        await wire.settle()
        assert peer.answers[number].status == 0
    assert peer.farewell is None


@pytest.mark.parametrize(("piece", "asked"), [(16384, b"490:10000"), (100, b"3:10000")])
async def test_windows_that_go_with_answers_are_no_flood(piece: int, asked: bytes) -> None:
    """All in one second, hundreds of them: a client that opens both windows for whatever it got."""
    wire = Wire(signals_max=100)
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: piece})
    peer.credits = False
    number = peer.call("Many", asked)
    for _ in range(400):
        await wire.settle()
        if peer.answers[number].ended:
            break
        peer.http.increment_flow_control_window(piece)
        peer.http.increment_flow_control_window(piece, number)
    assert peer.answers[number].status == 0
    assert peer.farewell is None


async def test_frames_of_no_meaning_are_passed_over() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.send_raw(frame_head(5, PRIORITY, 0, 7) + b"\0\0\0\7\1")  # a stream that depends on itself
    peer.send_raw(frame_head(3, PRIORITY, 0, 7) + b"\0\0\0")
    for kind in (0x0A, 0x10, 0xFF):
        peer.send_raw(frame_head(4, kind, 0xFF, 9) + b"abcd")
    number = peer.call("Echo", b"x")
    peer.http.prioritize(number, weight=5)
    await wire.settle()
    assert peer.answers[number].messages == [b"x"]
    assert peer.farewell is None


async def test_settings_are_acknowledged() -> None:
    wire = Wire()
    peer = wire.connect()
    for size in range(5):
        peer.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 70_000 + size})
    await wire.settle()
    assert peer.count(SettingsAcknowledged) >= 5


@pytest.mark.parametrize(
    "raw",
    [
        frame_head(0, DATA, 0, 0),
        frame_head(0, DATA, 0, 99),
        frame_head(1, HEADERS, 4, 2) + b"\x88",
        frame_head(7, GOAWAY, 0, 0) + b"1234567",
        frame_head(8, GOAWAY, 0, 1) + b"12345678",
        frame_head(1 << 20, DATA, 0, 1),
        frame_head(4, 5, 4, 1) + b"\0\0\0\2",
        b"\0" * 9 + b"GET / HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_may_not_be_ends_the_connection_and_all_its_calls(raw: bytes) -> None:
    wire = Wire()
    peer, other = wire.connect(), wire.connect()
    held = peer.call("Held", b"x")
    await wire.settle()
    peer.send_raw(raw)
    peer.push()
    await wire.settle()
    assert peer.closed
    assert peer.farewell not in (None, ErrorCodes.NO_ERROR)
    assert peer.answers[held].status == GrpcStatus.UNAVAILABLE
    assert wire.cancelled == [b"x"]
    number = other.call("Echo", b"y")
    await wire.settle()
    assert other.answers[number].messages == [b"y"]
    assert (len(wire.server.connections), wire.at_rest()) == (1, True)


@pytest.mark.parametrize("raw", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x80\1", PREFACE + b"\0" * 9])
async def test_who_speaks_something_else_is_sent_away(raw: bytes) -> None:
    wire = Wire()
    peer = wire.connect(greet=False)
    peer.http.clear_outbound_data_buffer()
    peer.connection.data_received(raw)
    await wire.settle()
    assert peer.closed
    assert peer.farewell == ErrorCodes.PROTOCOL_ERROR


async def test_bytes_come_as_they_like() -> None:
    wire = Wire()
    peer = wire.connect(greet=False)
    number, both = peer.call("Echo", b"x" * 50), peer.call("Both", b"a", b"b")
    while peer.push(1):
        pass
    await wire.settle()
    assert peer.answers[number].messages == [b"x" * 50]
    assert peer.answers[both].messages == [b"a", b"b"]


async def test_a_client_that_sends_no_more_is_gone() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.call("Held", b"x")
    await wire.settle()
    peer.connection.eof_received()
    await wire.settle()
    assert (wire.cancelled, peer.closed) == ([b"x"], True)
    assert wire.at_rest()


async def test_what_is_closed_from_below_is_gone() -> None:
    """As TLS does when the other side ends the session: what is under way comes to nothing."""
    wire = Wire()
    peer, other = wire.connect(), wire.connect()
    for each in (peer, other):
        each.transport.stuck = True
        each.call("Echo", b"waits")
        each.call("Held", b"x")
        each.headers("Listens")
    await wire.settle()
    for each in (peer, other):
        each.transport.close()
    assert not peer.closed
    peer.connection.data_received(b"whatever")
    other.connection.close()
    wire.release(b"x")
    await wire.settle()
    for call in wire.calls:
        with pytest.raises(GrpcError):
            await call.send(m.Resource(name="late"))
    assert (peer.connection.calls, other.connection.calls) == (0, 0)
    peer.transport.abort()
    other.transport.abort()
    await wire.settle()
    assert wire.at_rest()


@pytest.mark.parametrize("waits", [True, False])
async def test_what_is_served_may_end_its_own_connection(waits: bool) -> None:
    wire = Wire()
    peer = wire.connect()

    async def serve(call: Any, request: Any) -> Any:
        peer.connection.abort()
        if waits:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                wire.cancelled.append(b"own")
                raise
        return request

    wire.server.methods["/t/Own"] = Method(serve, m.Resource)  # type: ignore[index]
    peer.call("Own", b"x")
    peer.call("Echo", b"y")
    await wire.settle()
    assert (wire.begun, wire.cancelled) == ([], [b"own"] if waits else [])
    assert repr(peer.connection) == "<GrpcConnection 10.0.0.9:5000>"
    assert wire.at_rest()


async def test_nothing_is_heard_after_the_end() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.call("Echo", b"x")
    peer.connection.abort()
    peer.connection.data_received(peer.http.data_to_send())
    await wire.settle()
    assert wire.begun == []
    assert wire.at_rest()


# Turns.


async def test_a_client_that_sends_much_leaves_turns_to_others() -> None:
    wire = Wire()
    busy, other = wire.connect(), wire.connect()
    number = busy.call("Echo", b"z" * 1_000_000)
    small = other.call("Echo", b"s")
    busy.push()
    assert not busy.transport.reading
    other.push()
    assert wire.begun == [b"s"]  # though it came later
    await wire.settle()
    assert busy.answers[number].messages == [b"z" * 1_000_000]
    assert other.answers[small].messages == [b"s"]
    assert busy.transport.reading


async def test_many_small_frames_are_much_as_well() -> None:
    wire = Wire()
    busy = wire.connect()
    await wire.settle()
    for n in range(500):
        busy.http.ping(b"%08d" % n)
    busy.push()
    busy.pull()
    assert 10 < busy.pongs < 200
    await wire.settle()
    assert busy.pongs == 500


async def test_of_many_calls_the_first_are_answered_before_others_are_looked_at() -> None:
    wire = Wire()
    busy = wire.connect()
    numbers = [busy.call("Echo", b"%d" % n) for n in range(100)]
    busy.push()
    busy.pull()
    assert [number for number in numbers if busy.answers[number].ended] == numbers[: TURN_CALLS - 1]
    assert busy.transport.reading
    numbers += [busy.call("Echo", b"%d" % n) for n in range(100, 150)]
    busy.push()  # behind what waits
    assert len(wire.begun) == TURN_CALLS - 1
    await wire.settle()
    assert wire.begun == [b"%d" % n for n in range(150)]
    assert all(busy.answers[number].messages == [b"%d" % n] for n, number in enumerate(numbers))


async def test_no_more_is_read_while_much_waits_to_be_looked_at() -> None:
    wire = Wire()
    busy = wire.connect()
    for n in range(2 * TURN_CALLS + 4):
        busy.call("Echo", b"%d" % n)
    busy.push()
    assert busy.transport.reading
    last = busy.call("Echo", b"z" * (TURN_BYTES + 1))
    busy.push()
    assert not busy.transport.reading
    await wire.settle()
    assert busy.answers[last].messages == [b"z" * (TURN_BYTES + 1)]
    assert busy.transport.reading
    assert wire.at_rest()


async def test_what_is_unpacked_is_much_as_well() -> None:
    import gzip

    wire = Wire()
    busy = wire.connect()
    body = gzip.compress(m.Resource(name="0" * 2_000_000).SerializeToString())
    for _ in range(5):
        number = busy.headers("Echo", grpc_encoding="gzip")
        busy.data(number, b"\1" + len(body).to_bytes(4, "big") + body, end=True)
    busy.push()
    assert len(wire.begun) == 0 or len(wire.begun) == 1
    await wire.settle()
    assert len(wire.begun) == 5


async def test_nothing_is_read_while_nothing_is_taken() -> None:
    """Whoever does not read answers is asked nothing more: what waits for it does not grow."""
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    peer.http.increment_flow_control_window(1 << 30)
    await wire.settle()
    peer.transport.stuck = True
    for _ in range(20):
        peer.call("Many", b"1:100000")
    await wire.settle()
    waiting = peer.transport.get_write_buffer_size()
    for _ in range(500):
        peer.http.ping(b"12345678")
        peer.call("Nothing", b"x")
    await wire.settle()
    assert peer.transport.get_write_buffer_size() == waiting
    peer.transport.stuck = False
    peer.transport.drain()
    await wire.settle()
    assert peer.pongs == 500
    assert all(answer.ended for answer in peer.answers.values())
    assert wire.at_rest()


async def test_a_client_that_does_not_read_is_not_looked_at_while_much_of_it_waits() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    peer.http.increment_flow_control_window(1 << 30)
    await wire.settle()
    peer.transport.stuck = True
    for _ in range(300):
        peer.call("Many", b"1:20000")
    peer.push()  # several turns' worth, in one piece
    await wire.settle()
    begun = len(wire.begun)
    assert begun < 300
    assert wire.server.partial_bytes > 0
    peer.transport.stuck = False
    peer.transport.drain()
    await wire.settle()
    assert len(wire.begun) == 300
    assert wire.at_rest()


async def test_all_of_the_connection_s_window_is_given_back() -> None:
    wire = Wire()
    peer = wire.connect()
    for _ in range(20):
        peer.call("Echo", b"z" * 4_000_000)
        await wire.settle()
    assert peer.http.outbound_flow_control_window > 11 << 20
    assert wire.begun[-1] == b"z" * 4_000_000


# Ends.


async def test_a_client_that_says_farewell_gets_its_answers() -> None:
    wire = Wire()
    peer = wire.connect()
    held, half = peer.call("Held", b"x"), peer.headers("Echo")
    await wire.settle()
    peer.send_raw(frame_head(8, GOAWAY, 0, 0) + bytes(8))
    await wire.settle()
    assert not peer.closed
    peer.data(half, message(b"rest"), end=True)
    wire.release(b"x")
    await wire.settle()
    assert peer.answers[held].messages == [b"x"]
    assert peer.answers[half].messages == [b"rest"]
    assert peer.closed


async def test_a_client_that_says_farewell_and_has_nothing_open_is_let_go() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.http.close_connection()
    await wire.settle()
    assert peer.closed
    assert wire.server.connections == set()


async def test_what_is_closed_says_so_to_all_calls() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    numbers = [peer.call("Held", b"x"), peer.call("Many", b"3:90000"), peer.call("Both", b"y", end=False)]
    await wire.settle()
    peer.connection.close()
    peer.connection.close()
    await wire.settle()
    assert [peer.answers[number].status for number in numbers] == [GrpcStatus.UNAVAILABLE] * 3
    assert (peer.farewell, peer.last_served) == (ErrorCodes.NO_ERROR, numbers[-1])
    assert sorted(wire.cancelled) == [b"3:90000", b"both", b"x"]
    assert wire.at_rest()


async def test_a_connection_without_a_call_is_closed_when_nobody_needs_it() -> None:
    wire = Wire(idle_seconds=120.0)
    peer = wire.connect()
    number = peer.call("Echo", b"x")
    await wire.settle()
    for _ in range(10):
        peer.http.ping(b"12345678")  # which is no call
        await wire.pass_looks(11.25)
    assert peer.farewell is None
    await wire.pass_looks(15.0)
    assert (peer.farewell, peer.last_served, peer.closed) == (ErrorCodes.NO_ERROR, number, True)


async def test_a_call_that_crosses_the_farewell_is_not_served() -> None:
    wire = Wire(idle_seconds=120.0)
    peer = wire.connect()
    await wire.settle()
    peer.reads = False
    await wire.pass_looks(120.0)
    assert not peer.closed
    number = peer.call("Echo", b"x")
    peer.push()
    peer.reads = True
    await wire.settle()
    assert peer.farewell == ErrorCodes.NO_ERROR
    assert peer.last_served < number
    assert (peer.answers[number].fields, wire.begun) == ({}, [])
    await wire.pass_looks(4.0)
    assert peer.closed


async def test_calls_keep_a_connection() -> None:
    wire = Wire(idle_seconds=120.0)
    peer = wire.connect()
    for n in range(30):
        peer.call("Echo", b"%d" % n)
        await wire.pass_looks(15.0)
    assert peer.farewell is None
    open_for_long = peer.call("Both", b"x", end=False)
    for _ in range(60):
        await wire.pass_looks(30.0)
    assert (peer.farewell, peer.answers[open_for_long].messages) == (None, [b"x"])
    assert peer.pings > 20


async def test_a_client_that_answers_nothing_is_gone() -> None:
    wire = Wire(idle_seconds=120.0)
    peer = wire.connect()
    peer.call("Held", b"x")
    await wire.settle()
    peer.reads = False
    await wire.pass_looks(116.0)
    assert not peer.closed
    await wire.pass_looks(8.0)
    assert (peer.closed, wire.cancelled) == (True, [b"x"])
    assert wire.at_rest()


async def test_a_client_that_reads_nothing_is_closed() -> None:
    wire = Wire(stalled_seconds=30.0)
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    peer.http.increment_flow_control_window(1 << 30)
    await wire.settle()
    peer.transport.stuck = True
    peer.call("Many", b"9:100000")
    await wire.pass_looks(26.0)
    assert not peer.closed
    await wire.pass_looks(8.0)
    assert peer.closed
    assert wire.at_rest()


async def test_a_client_that_reads_slowly_is_not() -> None:
    wire = Wire(stalled_seconds=30.0)
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    peer.http.increment_flow_control_window(1 << 30)
    await wire.settle()
    peer.transport.stuck = True
    number = peer.call("Many", b"9:100000")
    for _ in range(20):
        await wire.pass_looks(26.0)
        peer.transport.drain(100_000)
    await wire.settle()
    assert peer.answers[number].status == 0
    assert len(peer.answers[number].messages) == 9


async def test_one_that_is_closed_but_does_not_read_is_gone_in_the_end() -> None:
    wire = Wire(stalled_seconds=30.0)
    peer = wire.connect()
    await wire.settle()
    peer.transport.stuck = True
    peer.call("Echo", b"x")
    peer.send_raw(frame_head(0, DATA, 0, 0))
    await wire.settle()
    assert (peer.transport.is_closing(), peer.closed) == (True, False)
    await wire.pass_looks(34.0)
    assert peer.closed
    assert wire.server.connections == set()


async def test_one_that_says_nothing_is_closed() -> None:
    wire = Wire()
    peer = wire.connect(greet=False)
    peer.http.clear_outbound_data_buffer()
    await wire.pass_looks(132.0)
    assert peer.closed


async def test_an_error_of_our_own_ends_one_connection() -> None:
    def serve(call: Any, request: Any) -> Any:
        raise ValueError("no coroutine at all")

    wire = Wire()
    peer, other = wire.connect(), wire.connect()
    wire.server.methods["/t/Own"] = Method(serve, m.Resource)  # type: ignore[index]
    peer.call("Own", b"x")
    await wire.settle()
    assert (peer.closed, peer.farewell) == (True, ErrorCodes.INTERNAL_ERROR)
    number = other.call("Echo", b"x")
    await wire.settle()
    assert other.answers[number].messages == [b"x"]
    assert wire.at_rest()


async def test_there_is_no_room_for_another() -> None:
    wire = Wire(connections_max=2)
    first = wire.connect()
    wire.connect()
    third = wire.connect(greet=False)
    await wire.settle()
    assert third.closed
    assert len(wire.server.connections) == 2
    first.vanish()
    await wire.settle()
    fourth = wire.connect()
    number = fourth.call("Echo", b"x")
    await wire.settle()
    assert fourth.answers[number].messages == [b"x"]


def test_one_that_was_never_opened_can_be_closed() -> None:
    from mqframe_grpc.transport.connection import GrpcConnection

    connection = GrpcConnection(Wire().server)
    connection.close()
    connection.abort()
    assert (connection.certificate, connection.calls) == ("", 0)

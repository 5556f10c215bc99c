"""Clients that mean harm: each gets an answer or is closed, holds little, and leaves turns to others."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from grpc_wire import Peer, Wire, message
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hpack import Encoder
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES_MAX,
    HEADERS,
    PING,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame_head,
)
from mqframe_grpc.transport.status import GrpcStatus

CALM = ErrorCodes.ENHANCE_YOUR_CALM
MIB = 1 << 20
_READ_BYTES = 256 << 10


def frame(kind: int, body: bytes = b"", flags: int = 0, number: int = 0) -> bytes:
    return frame_head(len(body), kind, flags, number) + body


def block(encoder: Encoder, **fields: str) -> bytes:
    head = {":method": "POST", ":scheme": "http", ":path": "/t/Held", "content-type": "application/grpc"}
    return encoder.encode([*(head | fields).items()])


def open_raw(encoder: Encoder, number: int, flags: int = END_HEADERS, **fields: str) -> bytes:
    return frame(HEADERS, block(encoder, **fields), flags, number)


@contextmanager
def memory_within(most: int) -> Iterator[None]:
    """What is done takes no more memory at any time."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most


async def attack(wire: Wire, peer: Peer, raw: bytes) -> None:
    """Send `raw`, as much at a time as a socket gives, while another client makes calls."""
    other = wire.connect()
    peer.push()
    peer.bare = True
    for start in range(0, len(raw), _READ_BYTES):
        if peer.transport.is_closing():
            break
        assert peer.transport.reading
        number = other.call("Echo", b"o")
        peer.connection.data_received(raw[start : start + _READ_BYTES])
        other.push()
        other.pull()
        assert other.answers[number].messages == [b"o"], "another client has to wait"
        await wire.settle()
    other.vanish()
    await wire.settle()


# Header fields.


async def test_more_header_fields_than_are_read() -> None:
    wire = Wire()
    peer = wire.connect()
    await attack(wire, peer, open_raw(Encoder(), 1, **{f"x{n}": "y" * 50 for n in range(200)}))
    assert (peer.closed, peer.farewell) == (True, CALM)


async def test_few_bytes_that_stand_for_many_header_fields() -> None:
    """A field of 4 KB is put into the table once, and named again and again."""
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    first = open_raw(encoder, 1, bomb="b" * 3900)
    again = frame(HEADERS, block(encoder) + bytes([0x80 | 62]) * 16_000, END_HEADERS, 3)
    with memory_within(2 * MIB):
        await attack(wire, peer, first + again)
    assert (peer.closed, peer.farewell) == (True, CALM)


async def test_as_many_header_fields_as_are_read_again_and_again() -> None:
    """Calls are opened and given up at once; each time the table makes 16 KB of 20 bytes."""
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    raw = [open_raw(encoder, 1, bomb="b" * 3900), frame(RST_STREAM, b"\0\0\0\x08", 0, 1)]
    for number in range(3, 20_001, 2):
        raw.append(frame(HEADERS, block(encoder) + bytes([0x80 | 62]) * 3, END_HEADERS, number))
        raw.append(frame(RST_STREAM, b"\0\0\0\x08", 0, number))
    with memory_within(8 * MIB):
        await attack(wire, peer, b"".join(raw))
    assert (peer.closed, peer.farewell) == (True, CALM)
    assert wire.at_rest()


async def test_calls_that_stay_open_with_all_header_fields_that_are_read() -> None:
    """What is much of them is counted, over all connections."""
    wire = Wire(partial_bytes_max=5 * MIB)
    much = block(Encoder(), **{"x-much": "y" * 12_000})  # which leaves nothing in the table
    peers = []
    for _ in range(3):
        peer = wire.connect()
        raw = (frame(HEADERS, much, END_HEADERS, number) for number in range(1, 501, 2))
        await attack(wire, peer, b"".join(raw))
        peers.append(peer)
    assert peers[0].closed
    assert wire.server.partial_bytes <= 5 * MIB


@pytest.mark.parametrize("size", [0, 1, 100])
async def test_header_fields_that_never_end(size: int) -> None:
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    raw = open_raw(encoder, 1, flags=0) + frame(CONTINUATION, b"\0" * size, 0, 1) * 20_000
    await attack(wire, peer, raw)
    assert peer.closed
    assert peer.farewell in (CALM, ErrorCodes.PROTOCOL_ERROR)


@pytest.mark.parametrize(
    "changes",
    [
        b"\x3f\xe2\x1f",  # larger than may be: 4097
        b"\x3f\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # a number without end
        b"\xff" * 30,
        b"\x7f" + b"\xff" * 10,
        b"\x82\x20",  # after a field
    ],
)
async def test_tricks_with_the_table(changes: bytes) -> None:
    wire = Wire()
    peer = wire.connect()
    await attack(wire, peer, frame(HEADERS, changes, END_HEADERS, 1))
    assert peer.closed
    assert peer.farewell not in (None, ErrorCodes.NO_ERROR, ErrorCodes.INTERNAL_ERROR)


async def test_a_table_that_grows_and_shrinks_all_the_time() -> None:
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    raw = b"\x20\x3f\xe1\x1f" * 2000 + block(encoder)
    await attack(wire, peer, frame(HEADERS, raw, END_HEADERS, 1))
    assert not peer.closed  # foolish, but short
    assert peer.connection.calls == 1


# Floods.


def pings(_: int) -> bytes:
    return frame(PING, b"12345678")


def empty_settings(_: int) -> bytes:
    return frame(SETTINGS)


def windows_of_all_calls(turn: int) -> bytes:
    return frame(SETTINGS, b"\0\4" + (1000 + turn % 2).to_bytes(4, "big"))


def acknowledgements(_: int) -> bytes:
    return frame(SETTINGS, b"", 1)


def small_windows(_: int) -> bytes:
    return frame(WINDOW_UPDATE, b"\0\0\0\1")


def small_windows_of_a_call(_: int) -> bytes:
    return frame(WINDOW_UPDATE, b"\0\0\0\1", 0, 1)


def empty_data(_: int) -> bytes:
    return frame(DATA, b"", 0, 1)


def padding_alone(_: int) -> bytes:
    return frame(DATA, b"\1\0", 8, 1)


def priorities(_: int) -> bytes:
    return frame(PRIORITY, b"\0\0\0\0\1", 0, 1)


def unknown_frames(_: int) -> bytes:
    return frame(77, b"")


def resets_of_nothing(turn: int) -> bytes:
    return frame(RST_STREAM, b"\0\0\0\x08", 0, 1_000_001 + 2 * turn)


FLOODS = [
    pings,
    empty_settings,
    windows_of_all_calls,
    acknowledgements,
    small_windows,
    small_windows_of_a_call,
    empty_data,
    padding_alone,
    priorities,
    unknown_frames,
    resets_of_nothing,
]


@pytest.mark.parametrize("kind", FLOODS)
async def test_frames_that_carry_nothing(kind: Callable[[int], bytes]) -> None:
    wire = Wire()
    peer = wire.connect()
    raw = open_raw(Encoder(), 1) + b"".join(kind(turn) for turn in range(3000))
    with memory_within(4 * MIB):
        await attack(wire, peer, raw)
    assert peer.closed
    assert peer.farewell in (CALM, ErrorCodes.PROTOCOL_ERROR)
    assert wire.at_rest()


async def test_signals_between_small_requests() -> None:
    """What carries something lets some pass, not any number."""
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    raw = []
    for number in range(1, 200, 2):
        raw += [open_raw(encoder, number), frame(DATA, b"\0", END_STREAM, number), pings(0) * 50]
    await attack(wire, peer, b"".join(raw))
    assert (peer.closed, peer.farewell) == (True, CALM)


async def test_calls_that_are_cancelled_at_once() -> None:
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    body = message(b"x")
    raw = []
    for number in range(1, 10_001, 2):
        raw += [open_raw(encoder, number), frame(DATA, body, END_STREAM, number)]
        raw += [frame(RST_STREAM, b"\0\0\0\x08", 0, number)]
    await attack(wire, peer, b"".join(raw))
    assert (peer.closed, peer.farewell) == (True, CALM)
    assert wire.begun.count(b"x") == len(wire.cancelled) == 1001
    assert wire.at_rest()


async def test_calls_that_are_cancelled_as_fast_as_may_be() -> None:
    """A thousand in a second are as many as are taken; none of them is kept."""
    wire = Wire()
    peer = wire.connect()
    for _ in range(3):
        for _ in range(900):
            peer.cancel(peer.call("Held", b"x"))
        await wire.settle()
        await wire.pass_time(1.0)
    assert (peer.closed, peer.connection.calls) == (False, 0)
    assert len(wire.cancelled) == 2700
    assert not peer.connection._http.streams
    assert wire.at_rest()


async def test_calls_that_the_server_is_made_to_reset() -> None:
    """By windows that overflow, instead of by resets of the client."""
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    raw = []
    for number in range(1, 10_001, 2):
        raw += [open_raw(encoder, number), frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff", 0, number)]
    await attack(wire, peer, b"".join(raw))
    assert (peer.closed, peer.farewell) == (True, CALM)
    assert wire.at_rest()


async def test_calls_beyond_those_that_may_be_open() -> None:
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    raw = b"".join(open_raw(encoder, number) for number in range(1, 10_001, 2))
    await attack(wire, peer, raw)
    assert (peer.closed, peer.farewell) == (True, CALM)
    assert wire.at_rest()


async def test_a_thousand_calls_of_many_that_do_nothing() -> None:
    wire = Wire()
    peer = wire.connect()
    with memory_within(16 * MIB):
        for _ in range(1000):
            peer.headers("Both")
        await wire.settle()
        other = wire.connect()
        number = other.call("Echo", b"x")
        await wire.settle()
        assert other.answers[number].messages == [b"x"]
    assert peer.connection.calls == 1000
    peer.vanish()
    await wire.settle()
    assert len(wire.cancelled) == 1000
    assert wire.at_rest()


async def test_data_for_calls_that_are_over() -> None:
    wire = Wire()
    peer = wire.connect()
    encoder = Encoder()
    raw = open_raw(encoder, 1, **{":path": "/t/Nothing"}) + frame(DATA, b"x", 0, 1) * 3000
    await attack(wire, peer, raw)
    assert peer.closed
    assert peer.farewell == CALM


# Windows.


async def test_windows_that_overflow_end_a_call_or_the_connection() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Held", b"x")
    peer.send_raw(frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff", 0, number))
    await wire.settle()
    assert peer.answers[number].reset == ErrorCodes.FLOW_CONTROL_ERROR
    assert (wire.cancelled, peer.closed) == ([b"x"], False)
    peer.send_raw(frame(WINDOW_UPDATE, b"\x7f\xff\xff\xff"))
    await wire.settle()
    assert (peer.closed, peer.farewell) == (True, ErrorCodes.FLOW_CONTROL_ERROR)


async def test_more_data_than_there_is_room_for() -> None:
    wire = Wire(message_bytes_max=1000)
    peer = wire.connect()
    number = peer.headers("Listens")
    peer.push()
    await attack(wire, peer, frame(DATA, message(b"x" * 900) * 18, 0, number) * 5)
    assert (peer.closed, peer.farewell) == (True, ErrorCodes.FLOW_CONTROL_ERROR)


async def test_answers_for_which_there_is_never_room() -> None:
    """They wait, a piece of each, until their time is over; the server is made to prepare no more."""
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    numbers = [peer.call("Many", b"1000:60000", grpc_timeout="3S") for _ in range(100)]
    await wire.settle()
    assert wire.server.unsent_bytes < 100 * (64 << 10) * 2
    await wire.pass_time(3.0)
    assert all(peer.answers[number].status == GrpcStatus.DEADLINE_EXCEEDED for number in numbers)
    assert wire.at_rest()


async def test_answers_that_are_taken_byte_by_byte() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    numbers = [peer.call("Many", b"1:60000") for _ in range(20)]
    await wire.settle()
    raw = b"".join(frame(WINDOW_UPDATE, b"\0\0\0\1", 0, number) for number in numbers) * 500
    await attack(wire, peer, raw)
    assert not peer.closed  # each moves something
    assert [len(peer.answers[number].raw) for number in numbers] == [500] * 20


# Messages.


async def test_messages_that_unpack_to_a_thousand_times_as_much() -> None:
    wire = Wire()
    peer = wire.connect()
    body = gzip.compress(b"\0" * 50_000_000)
    numbers = []
    for _ in range(10):
        number = peer.headers("Echo", grpc_encoding="gzip")
        peer.data(number, b"\1" + len(body).to_bytes(4, "big") + body, end=True)
        numbers.append(number)
    with memory_within(20 * MIB):
        await wire.settle()
    assert all(peer.answers[number].status == GrpcStatus.RESOURCE_EXHAUSTED for number in numbers)
    assert wire.at_rest()


async def test_packed_messages_that_nobody_receives() -> None:
    """They are counted as what they were unpacked to, and the connection that holds most is closed."""
    wire = Wire(partial_bytes_max=20 * MIB)
    peer = wire.connect()
    body = gzip.compress(m.Resource(name="0" * 4_000_000).SerializeToString())
    number = peer.headers("Listens", grpc_encoding="gzip")
    for _ in range(50):
        peer.data(number, b"\1" + len(body).to_bytes(4, "big") + body)
    with memory_within(40 * MIB):
        await wire.settle()
    assert peer.closed
    assert wire.at_rest()


async def test_messages_that_come_drop_by_drop() -> None:
    wire = Wire(partial_bytes_max=3 * MIB)
    slow = [wire.connect() for _ in range(4)]
    for peer in slow:
        for _ in range(10):
            number = peer.headers("Echo")
            peer.data(number, message(b"x" * 200_000)[:100_000])
        await wire.settle()
    assert [peer.closed for peer in slow] == [True, True, False, False]
    assert wire.server.partial_bytes <= 3 * MIB
    number = slow[3].call("Echo", b"y")
    await wire.settle()
    assert slow[3].answers[number].messages == [b"y"]


async def test_frames_that_never_end() -> None:
    """A head promises 16 KB; what came of it is counted."""
    wire = Wire(partial_bytes_max=1 * MIB)
    peers = [wire.connect() for _ in range(100)]
    for peer in peers:
        peer.send_raw(frame_head(FRAME_BYTES_MAX, DATA, 0, 1) + b"\0" * (FRAME_BYTES_MAX - 1))
    await wire.settle()
    assert wire.server.partial_bytes <= 1 * MIB
    assert sum(peer.closed for peer in peers) > 30


# Readers.


async def test_pings_of_one_that_reads_nothing() -> None:
    wire = Wire(signals_max=1 << 30)
    peer = wire.connect()
    await wire.settle()
    peer.transport.stuck = True
    peer.reads = False
    with memory_within(4 * MIB):
        raw = frame(PING, b"12345678") * 3000
        for _ in range(20):
            if peer.transport.reading:
                peer.connection.data_received(raw)
            await wire.settle()
    assert peer.transport.get_write_buffer_size() < 200_000
    assert not peer.transport.reading


async def test_large_answers_of_those_that_read_nothing() -> None:
    wire = Wire(unsent_bytes_max=4 * MIB)
    slow = []
    for _ in range(8):
        peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
        peer.http.increment_flow_control_window(1 << 30)
        await wire.settle()
        peer.transport.stuck = True
        for _ in range(3):
            peer.call("Many", b"5:400000")
        slow.append(peer)
        await wire.settle()
    assert wire.server.unsent_bytes <= 4 * MIB
    assert slow[0].closed
    assert not slow[-1].closed
    other = wire.connect()
    number = other.call("Echo", b"x")
    await asyncio.sleep(0)
    await wire.settle()
    assert other.answers[number].messages == [b"x"]

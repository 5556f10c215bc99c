from __future__ import annotations

import pytest
from grpc_wire import Peer, Wire, answer_name
from h2.events import DataReceived
from h2.settings import SettingCodes
from mqframe_grpc.transport.call import ROOM_BYTES
from mqframe_grpc.transport.leaving import WRITE_BYTES, error_block
from mqframe_grpc.transport.status import GrpcError, GrpcStatus

WINDOW = 65535
"""Of a client that says nothing else, for each call and for all of them."""


def names(count: int, size: int) -> list[bytes]:
    return [answer_name(number, size).encode() for number in range(count)]


def frames(peer: Peer, number: int) -> list[int]:
    """Sizes of the pieces that came for a call."""
    return [len(e.data) for e in peer.events if isinstance(e, DataReceived) and e.stream_id == number]


async def test_head_answers_and_end_come_in_order() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Many", b"3:10")
    await wire.settle()
    kinds = [type(event).__name__ for event in peer.events if getattr(event, "stream_id", 0) == number]
    assert kinds == [
        "ResponseReceived",
        "DataReceived",
        "DataReceived",
        "DataReceived",
        "TrailersReceived",
        "StreamEnded",
    ]
    assert peer.answers[number].messages == names(3, 10)
    assert peer.answers[number].status == 0
    assert wire.at_rest()


async def test_a_call_without_answers_is_its_end_alone() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Refuses", b"")
    await wire.settle()
    answer = peer.answers[number]
    assert answer.trailers_only
    assert (answer.status, answer.text, answer.raw) == (3, "says no: 50 %25, %C3%BC", b"")


async def test_answers_wait_for_the_room_of_their_call() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    peer.http.increment_flow_control_window(10_000_000)
    number = peer.call("Many", b"1:100000")
    await wire.settle()
    assert len(peer.answers[number].raw) == WINDOW
    assert wire.server.unsent_bytes == 100_000 + 5 + 4 - WINDOW  # four of the message's field
    other = peer.call("Echo", b"x")  # which nothing holds up
    peer.http.increment_flow_control_window(10, number)
    await wire.settle()
    assert len(peer.answers[number].raw) == WINDOW + 10
    assert peer.answers[other].messages == [b"x"]
    assert peer.answers[number].status is None
    peer.http.increment_flow_control_window(100_000, number)
    await wire.settle()
    assert peer.answers[number].messages == names(1, 100_000)
    assert peer.answers[number].status == 0
    assert wire.at_rest()


async def test_calls_share_the_room_of_their_connection() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 24})
    peer.credits = False
    numbers = [peer.call("Many", b"1:100000") for _ in range(4)]
    await wire.settle()
    assert sum(len(peer.answers[number].raw) for number in numbers) == WINDOW
    before = [len(peer.answers[number].raw) for number in numbers]
    peer.http.increment_flow_control_window(120_000)
    await wire.settle()
    got = [len(peer.answers[number].raw) - a for number, a in zip(numbers, before, strict=True)]
    assert sum(got) == 120_000
    assert max(got) - min(got) <= 16384  # in turn, frame by frame
    peer.http.increment_flow_control_window(1_000_000)
    await wire.settle()
    assert all(peer.answers[number].messages == names(1, 100_000) for number in numbers)
    assert wire.at_rest()


async def test_windows_may_shrink_below_nothing_and_grow_again() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    peer.http.increment_flow_control_window(10_000_000)
    number = peer.call("Many", b"1:100000")
    await wire.settle()
    peer.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1000})
    peer.http.increment_flow_control_window(WINDOW - 1000, number)
    await wire.settle()
    assert len(peer.answers[number].raw) == WINDOW
    peer.http.increment_flow_control_window(1, number)
    await wire.settle()
    assert len(peer.answers[number].raw) == WINDOW + 1
    peer.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100_000})
    await wire.settle()
    assert peer.answers[number].messages == names(1, 100_000)


async def test_windows_of_nothing_at_first() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    number = peer.call("Echo", b"x")
    await wire.settle()
    assert peer.answers[number].raw == b""
    assert peer.answers[number].fields[":status"] == "200"
    peer.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100})
    await wire.settle()
    assert peer.answers[number].messages == [b"x"]


async def test_pieces_are_as_long_as_the_client_takes_them_but_not_endless() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.MAX_FRAME_SIZE: 1 << 20, SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
    peer.http.increment_flow_control_window(1 << 20)
    small = peer.call("Many", b"1:40000")
    large = peer.call("Many", b"1:100000")
    await wire.settle()
    assert frames(peer, small) == [40_000 + 5 + 4]
    assert max(frames(peer, large)) == 32 << 10
    assert peer.answers[large].messages == names(1, 100_000)


async def test_large_answers_leave_a_part_at_a_time() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    peer.http.increment_flow_control_window(1 << 30)
    number = peer.call("Many", b"1:4000000")
    peer.push()
    first = len(peer.transport.arrived)
    assert WRITE_BYTES <= first < 3 * WRITE_BYTES
    await wire.settle()
    assert peer.answers[number].messages == names(1, 4_000_000)


async def test_what_serves_waits_for_the_client_to_read() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    number = peer.call("Many", b"100:10000")
    await wire.settle()
    assert wire.done == []
    assert wire.calls[0].is_full
    assert wire.calls[0].waiting_bytes <= ROOM_BYTES + 10_100
    peer.http.increment_flow_control_window(10_000_000)
    for _ in range(17):
        assert wire.done == []
        peer.http.increment_flow_control_window(50_000, number)
        await wire.settle()
    peer.http.increment_flow_control_window(500_000, number)
    await wire.settle()
    assert wire.done == [b"100:10000"]
    assert peer.answers[number].messages == names(100, 10_000)
    assert wire.at_rest()


async def test_a_client_that_does_not_read_at_all_holds_what_was_written_and_no_more() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    peer.http.increment_flow_control_window(1 << 30)
    await wire.settle()
    peer.transport.stuck = True
    numbers = [peer.call("Many", b"100:100000") for _ in range(3)]
    await wire.settle()
    assert peer.transport.get_write_buffer_size() <= 3 * WRITE_BYTES
    assert not peer.transport.reading
    waiting = sum(call.waiting_bytes for call in wire.calls)
    assert wire.server.unsent_bytes == waiting + peer.transport.get_write_buffer_size()
    peer.transport.stuck = False
    peer.transport.drain()
    await wire.settle()
    assert all(peer.answers[number].messages == names(100, 100_000) for number in numbers)
    assert wire.at_rest()


@pytest.mark.parametrize("rpc", ["Many", "Both"])
async def test_what_waits_of_a_cancelled_call_is_forgotten(rpc: str) -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    number = peer.call(rpc, b"9:30000" if rpc == "Many" else b"x" * 300_000, end=rpc == "Many")
    await wire.settle()
    assert wire.server.unsent_bytes > 0
    peer.cancel(number)
    await wire.settle()
    assert len(wire.cancelled) == 1
    assert wire.at_rest()


async def test_a_call_that_cannot_leave_does_not_wait_twice() -> None:
    wire = Wire()
    peer = wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
    peer.credits = False
    for _ in range(50):
        number = peer.call("Many", b"2:60000")
        await wire.settle()
        peer.cancel(number)
        await wire.settle()
    leaving = peer.connection._leaving
    assert (len(leaving._ready), len(leaving._waiting), leaving.waiting_bytes) == (0, 0, 0)
    assert wire.at_rest()


def test_an_error_is_told_within_bounds() -> None:
    assert len(error_block(GrpcError(GrpcStatus.INTERNAL, "\u20ac" * 100_000))) < 4000

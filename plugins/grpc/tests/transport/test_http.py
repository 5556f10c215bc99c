from __future__ import annotations

from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingReceived,
    RequestReceived,
    ResponseReceived,
    StreamReset,
)
from h2.settings import SettingCodes
from mqframe_grpc.transport.fields import block_of, status_block
from mqframe_grpc.transport.frames import (
    DATA,
    END_STREAM,
    PADDED,
    WINDOW_UPDATE,
    FrameCutter,
    HttpBroken,
    HttpFrame,
    frame_head,
)
from mqframe_grpc.transport.http import WINDOW_BYTES, Http
from mqframe_grpc.transport.limits import GrpcLimits

REQUEST = [(":method", "POST"), (":path", "/t"), (":scheme", "http"), (":authority", "s")]
OK = status_block(200)


class Pair:
    """A server's side, and h2 as its client."""

    def __init__(self, **limits: Any) -> None:
        self.http = Http(GrpcLimits(**limits))
        self.client = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.client.initiate_connection()
        self._cutter = FrameCutter(1 << 20)

    def to_server(self) -> list[Any]:
        self._cutter.add(self.client.data_to_send())
        found: list[Any] = []
        while (frame := self._cutter.take()) is not None:
            if frame.kind == WINDOW_UPDATE:
                assert self.http.opened(frame)
            elif frame.kind == DATA:
                found += self.http.data_came(frame)
            else:
                found += self.http.receive(frame.raw)
        return found

    def to_client(self) -> list[Any]:
        return self.client.receive_data(bytes(self.http.take()))

    def both_ways(self) -> None:
        for _ in range(3):
            self.to_server()
            self.to_client()

    def open(self, *, end: bool = False) -> int:
        number = self.client.get_next_available_stream_id()
        self.client.send_headers(number, REQUEST, end_stream=end)
        assert isinstance(self.to_server()[0], RequestReceived)
        return number


def one(events: list[Any], kind: type[Any]) -> Any:
    [found] = [each for each in events if isinstance(each, kind)]
    return found


def test_the_client_is_told_what_it_may_send() -> None:
    pair = Pair(message_bytes_max=1 << 20, headers_bytes_max=5000, calls_max=77)
    pair.both_ways()
    told = pair.client.remote_settings
    assert told.initial_window_size == (1 << 20) + (1 << 16)
    assert told.max_header_list_size == 5000
    assert told.max_concurrent_streams == 77
    assert told.max_frame_size == 1 << 14
    assert pair.client.outbound_flow_control_window == WINDOW_BYTES + 65535
    number = pair.open()
    assert pair.client.local_flow_control_window(number) == (1 << 20) + (1 << 16)


def test_windows_have_a_most() -> None:
    pair = Pair(message_bytes_max=3 << 30)
    pair.both_ways()
    assert pair.client.remote_settings.initial_window_size == (1 << 31) - 1


def test_what_leaves_is_what_clients_expect() -> None:
    pair = Pair()
    pair.both_ways()
    first, second = pair.open(end=True), pair.open()
    pair.http.headers(first, OK)
    pair.http.data(first, b"abc")
    pair.http.headers(first, block_of([("grpc-status", "0")]), end=True)
    pair.http.forget(first)
    pair.http.headers(second, OK, end=True)
    pair.http.reset(second, ErrorCodes.NO_ERROR)
    assert pair.http.sent == 4
    assert pair.http.pending
    events = pair.to_client()
    assert [(each.stream_id, each.headers) for each in events if isinstance(each, ResponseReceived)] == [
        (first, [(":status", "200")]),
        (second, [(":status", "200")]),
    ]
    assert one(events, DataReceived).data == b"abc"
    assert not pair.http.pending


def test_what_leaves_takes_room() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    other = pair.open()
    pair.http.headers(number, OK)
    assert pair.http.room(number) == 16384  # in one frame
    for _ in range(3):
        pair.http.data(number, b"x" * 16384)
    assert (pair.http.room(number), pair.http.window) == (16383, 16383)
    pair.http.data(number, b"x" * 16383)
    assert (pair.http.room(number), pair.http.room(other), pair.http.window) == (0, 0, 0)
    pair.to_client()
    pair.client.increment_flow_control_window(100)
    pair.to_server()
    assert (pair.http.room(number), pair.http.room(other), pair.http.window) == (0, 100, 100)
    pair.client.increment_flow_control_window(50, number)
    pair.to_server()
    assert pair.http.room(number) == 50
    pair.client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 10})
    pair.to_server()
    assert pair.http.room(number) == 50 + 10 - 65535
    assert pair.http.room(other) == 10


def test_a_frame_is_as_long_as_the_client_says() -> None:
    pair = Pair()
    pair.client.update_settings({SettingCodes.MAX_FRAME_SIZE: 1 << 20})
    pair.both_ways()
    assert pair.http.room(pair.open()) == 65535


def test_room_is_given_back() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    pair.client.send_data(number, b"x" * 1000)
    assert one(pair.to_server(), DataReceived).data == b"x" * 1000
    before = pair.client.outbound_flow_control_window, pair.client.local_flow_control_window(number)
    pair.http.give_back(1000, number)
    pair.http.give_back(600)
    pair.to_client()
    assert pair.client.outbound_flow_control_window == before[0] + 600
    assert pair.client.local_flow_control_window(number) == before[1] + 1000


def test_a_stream_is_reset() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    pair.http.reset(number, ErrorCodes.REFUSED_STREAM)
    event = one(pair.to_client(), StreamReset)
    assert (event.stream_id, event.error_code) == (number, ErrorCodes.REFUSED_STREAM)


def test_what_has_ended_is_not_reset() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    pair.http.reset(number, ErrorCodes.CANCEL)
    pair.to_client()
    pair.http.reset(number, ErrorCodes.CANCEL)
    pair.http.reset(99, ErrorCodes.CANCEL)
    pair.http.forget(99)
    assert not pair.http.pending


def test_what_was_under_way_to_a_stream_that_was_reset_is_no_offence() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    pair.http.reset(number, ErrorCodes.NO_ERROR)
    pair.client.send_data(number, b"x" * 1000)
    assert pair.to_server() == []
    pair.client.increment_flow_control_window(5, number)
    pair.client.reset_stream(number)
    assert pair.to_server() == []
    assert pair.open()


def test_what_comes_for_a_stream_that_was_reset_is_counted_all_the_same() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    pair.http.reset(number, ErrorCodes.NO_ERROR)
    before = pair.http.granted
    pair.client.send_data(number, b"x" * 1000, pad_length=7)
    assert pair.to_server() == []
    assert pair.http.granted == before - 1008 == pair.client.outbound_flow_control_window


def test_signs_of_life_and_farewells() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    pair.http.ping()
    pair.http.go_away(ErrorCodes.ENHANCE_YOUR_CALM)
    events = pair.to_client()
    assert isinstance(events[0], PingReceived)
    told = one(events, ConnectionTerminated)
    assert (told.error_code, told.last_stream_id) == (ErrorCodes.ENHANCE_YOUR_CALM, number)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (frame_head(5, 6, 0, 0) + b"12345", ErrorCodes.FRAME_SIZE_ERROR),  # a ping of five bytes
        (frame_head(6, 4, 0, 0) + b"\0\4\xff\xff\xff\xff", ErrorCodes.FLOW_CONTROL_ERROR),  # initial window
        (frame_head(5, 4, 0, 0) + b"\0\4\0\0\0", ErrorCodes.FRAME_SIZE_ERROR),
        (frame_head(1, 1, 4, 2) + b"\x88", ErrorCodes.PROTOCOL_ERROR),  # a stream of the server
        (frame_head(1, 1, 4, 1) + b"\xff", ErrorCodes.PROTOCOL_ERROR),  # half a number
        (frame_head(1, 1, 4, 1) + b"\xfe", ErrorCodes.PROTOCOL_ERROR),  # no such field
        (frame_head(4, 5, 4, 1) + b"\0\0\0\2", ErrorCodes.PROTOCOL_ERROR),  # a promise by a client
    ],
)
def test_what_may_not_be_ends_the_connection(raw: bytes, code: ErrorCodes) -> None:
    pair = Pair()
    pair.both_ways()
    with pytest.raises(HttpBroken) as caught:
        pair.http.receive(raw)
    assert isinstance(caught.value.code, ErrorCodes)
    assert caught.value.code in (code, ErrorCodes.PROTOCOL_ERROR)
    assert str(caught.value)
    assert not pair.http.pending


def window(number: int, more: bytes) -> HttpFrame:
    return HttpFrame(WINDOW_UPDATE, 0, number, len(more), frame_head(len(more), 8, 0, number) + more)


@pytest.mark.parametrize(
    ("number", "more", "code"),
    [
        (9, b"\0\0\0\1", ErrorCodes.PROTOCOL_ERROR),  # which never began
        (2, b"\0\0\0\1", ErrorCodes.PROTOCOL_ERROR),  # one of the server's
        (1, b"\0\0\0\0", ErrorCodes.PROTOCOL_ERROR),
        (0, b"\0\0\0\0", ErrorCodes.PROTOCOL_ERROR),
        (0, b"\x80\0\0\0", ErrorCodes.PROTOCOL_ERROR),  # the reserved bit says nothing
        (0, b"\x7f\xff\xff\xff", ErrorCodes.FLOW_CONTROL_ERROR),
        (0, b"\0\0\1", ErrorCodes.FRAME_SIZE_ERROR),
        (1, b"\0\0\0\0\1", ErrorCodes.FRAME_SIZE_ERROR),
    ],
)
def test_windows_that_may_not_be_end_the_connection(number: int, more: bytes, code: ErrorCodes) -> None:
    pair = Pair()
    pair.both_ways()
    assert pair.open() == 1
    with pytest.raises(HttpBroken) as caught:
        pair.http.opened(window(number, more))
    assert caught.value.code is code


def test_a_window_that_overflows_ends_its_stream() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    assert pair.http.opened(window(number, (2**31 - 1 - 65535).to_bytes(4, "big")))
    assert not pair.http.opened(window(number, b"\0\0\0\1"))
    event = one(pair.to_client(), StreamReset)
    assert (event.stream_id, event.error_code) == (number, ErrorCodes.FLOW_CONTROL_ERROR)
    assert pair.http.opened(window(number, b"\0\0\0\1"))  # which was under way


def test_windows_of_streams_that_are_over_say_nothing() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open(end=True)
    pair.http.headers(number, OK, end=True)
    pair.http.forget(number)
    assert pair.http.opened(window(number, b"\x7f\xff\xff\xff"))


def data(number: int, body: bytes, flags: int = 0) -> HttpFrame:
    return HttpFrame(DATA, flags, number, len(body), frame_head(len(body), 0, flags, number) + body)


@pytest.mark.parametrize(
    ("body", "came"),
    [
        (b"\0abc", b"abc"),
        (b"\2abc\0\0", b"abc"),
        (b"\0", b""),
        (b"\3\0\0\0", b""),
        (b"\xff" + b"p" * 255, b""),
    ],
)
def test_padding_is_taken_off_and_counted(body: bytes, came: bytes) -> None:
    pair = Pair()
    pair.both_ways()
    number, before = pair.open(), pair.http.granted
    event = one(pair.http.data_came(data(number, body, PADDED)), DataReceived)
    assert (event.data, event.flow_controlled_length) == (came, len(body))
    assert pair.http.granted == before - len(body)


@pytest.mark.parametrize(
    ("number", "body", "flags", "code"),
    [
        (0, b"x", 0, ErrorCodes.PROTOCOL_ERROR),
        (9, b"x", 0, ErrorCodes.PROTOCOL_ERROR),  # which never began
        (2, b"x", 0, ErrorCodes.PROTOCOL_ERROR),  # one of the server's
        (1, b"", PADDED, ErrorCodes.PROTOCOL_ERROR),
        (1, b"\3ab", PADDED, ErrorCodes.PROTOCOL_ERROR),  # padding longer than the frame
        (1, b"x" * 70_000, 0, ErrorCodes.FLOW_CONTROL_ERROR),  # more than the call has room for
    ],
)
def test_data_that_may_not_be_ends_the_connection(
    number: int, body: bytes, flags: int, code: ErrorCodes
) -> None:
    pair = Pair(message_bytes_max=100)
    pair.both_ways()
    assert pair.open() == 1
    with pytest.raises(HttpBroken) as caught:
        pair.http.data_came(data(number, body, flags))
    assert caught.value.code is code


def test_more_data_than_the_connection_has_room_for_ends_it() -> None:
    pair = Pair(message_bytes_max=100 << 20)
    pair.both_ways()
    number = pair.open()
    while pair.http.granted:
        pair.http.data_came(data(number, b"x" * min(pair.http.granted, 1 << 20)))
    with pytest.raises(HttpBroken) as caught:
        pair.http.data_came(data(number, b"x"))
    assert caught.value.code is ErrorCodes.FLOW_CONTROL_ERROR


def test_data_after_the_end_resets_its_stream() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open()
    assert len(pair.http.data_came(data(number, b"x", END_STREAM))) == 2
    [event] = pair.http.data_came(data(number, b"y"))
    assert isinstance(event, StreamReset)
    assert not event.remote_reset
    assert one(pair.to_client(), StreamReset).error_code == ErrorCodes.STREAM_CLOSED
    assert pair.http.data_came(data(number, b"z")) == []
    assert not pair.http.pending


def test_a_content_length_is_kept_to() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.client.get_next_available_stream_id()
    pair.client.send_headers(number, [*REQUEST, ("content-length", "3")])
    pair.to_server()
    with pytest.raises(HttpBroken, match="InvalidBodyLengthError"):
        pair.http.data_came(data(number, b"abcd"))


def test_what_nobody_expected_ends_the_connection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair()

    def fail(_: object, data: bytes) -> None:
        raise KeyError(len(data))

    monkeypatch.setattr(H2Connection, "receive_data", fail)
    with pytest.raises(HttpBroken, match="KeyError: 3") as caught:
        pair.http.receive(b"abc")
    assert caught.value.code is ErrorCodes.INTERNAL_ERROR


def test_streams_that_are_over_are_forgotten() -> None:
    pair = Pair()
    pair.both_ways()
    for _ in range(3000):
        number = pair.open()
        pair.client.reset_stream(number)
        pair.to_server()
    judge = pair.http._h2
    assert len(judge.streams) < 200
    assert len(judge._closed_streams) <= 1024


def test_a_client_decides_not_how_large_a_table_is() -> None:
    pair = Pair()
    pair.both_ways()
    for size in range(100):
        pair.client.update_settings({SettingCodes.HEADER_TABLE_SIZE: 4096 + size})
        pair.to_server()
    number = pair.open()
    pair.http.headers(number, OK + block_of([("a", "b" * 1000)]), end=True)
    assert one(pair.to_client(), ResponseReceived).headers[0] == (":status", "200")
    assert pair.client.decoder.header_table_size == 0

from __future__ import annotations

from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingAckReceived,
    PingReceived,
    ResponseReceived,
    SettingsAcknowledged,
    StreamReset,
)
from h2.settings import SettingCodes
from mqframe_grpc.transport.fields import block_of, status_block
from mqframe_grpc.transport.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    PING,
    PRIORITIZED,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    FrameCutter,
    HttpBroken,
    HttpFrame,
)
from mqframe_grpc.transport.http import ANSWER_HEAD, ANSWER_OK, WINDOW_BYTES, Http
from mqframe_grpc.transport.limits import GrpcLimits
from mqframe_grpc.transport.streams import Data, Fields, HttpStream

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
        """What came of what the client has sent: fields, data, streams that it gave up."""
        self._cutter.add(self.client.data_to_send())
        found: list[Any] = []
        while (frame := self._cutter.take()) is not None:
            came = self.take(frame)
            if isinstance(came, Fields | Data | HttpStream):
                found.append(came)
        return found

    def take(self, frame: HttpFrame) -> Any:
        http = self.http
        take = {
            HEADERS: http.fields_came,
            CONTINUATION: http.fields_came,
            DATA: http.data_came,
            RST_STREAM: http.reset_came,
            SETTINGS: http.settings_came,
            PING: http.ping_came,
            WINDOW_UPDATE: http.opened,
        }
        return take[frame.kind](frame)

    def to_client(self) -> list[Any]:
        return self.client.receive_data(bytes(self.http.take()))

    def both_ways(self) -> None:
        for _ in range(3):
            self.to_server()
            self.to_client()

    def open(self, *, end: bool = False) -> HttpStream:
        number = self.client.get_next_available_stream_id()
        self.client.send_headers(number, REQUEST, end_stream=end)
        [came] = self.to_server()
        assert (came.stream.number, came.opens, came.fields) == (number, True, REQUEST)
        assert came.stream.half_closed is end
        assert isinstance(came.stream, HttpStream)
        return came.stream


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
    stream = pair.open()
    assert pair.client.local_flow_control_window(stream.number) == (1 << 20) + (1 << 16) == stream.granted


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
    pair.http.reset(second.number, ErrorCode.NO_ERROR)
    assert pair.http.sent == 4
    assert pair.http.pending
    assert pair.http.streams == {}
    events = pair.to_client()
    assert [(each.stream_id, each.headers) for each in events if isinstance(each, ResponseReceived)] == [
        (first.number, [(":status", "200")]),
        (second.number, [(":status", "200")]),
    ]
    assert one(events, DataReceived).data == b"abc"
    assert not pair.http.pending


def test_whole_answers_are_what_their_parts_are() -> None:
    whole, parts = Pair(), Pair()
    for pair in (whole, parts):
        pair.both_ways()
        for body in (b"first", b"", b"z" * 16384):
            stream = pair.open(end=True)
            if pair is whole:
                pair.http.answer(stream, body)
            else:
                pair.http.headers(stream, ANSWER_HEAD)
                pair.http.data(stream, body)
                pair.http.headers(stream, ANSWER_OK, end=True)
            assert stream.room == 65535 - len(body)
    assert whole.http.sent == parts.http.sent == 9
    assert whole.http.window == parts.http.window == 65535 - 5 - 16384
    assert whole.http.take() == parts.http.take()


def test_what_leaves_takes_room() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    other = pair.open()
    pair.http.headers(stream, OK)
    assert pair.http.room(stream) == 16384  # in one frame
    for _ in range(3):
        pair.http.data(stream, b"x" * 16384)
    assert (pair.http.room(stream), pair.http.window) == (16383, 16383)
    pair.http.data(stream, b"x" * 16383)
    assert (pair.http.room(stream), pair.http.room(other), pair.http.window) == (0, 0, 0)
    pair.to_client()
    pair.client.increment_flow_control_window(100)
    pair.to_server()
    assert (pair.http.room(stream), pair.http.room(other), pair.http.window) == (0, 100, 100)
    pair.client.increment_flow_control_window(50, stream.number)
    pair.to_server()
    assert pair.http.room(stream) == 50
    pair.client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 10})
    pair.to_server()
    assert pair.http.room(stream) == 50 + 10 - 65535
    assert pair.http.room(other) == 10
    assert pair.open().room == 10


def test_a_frame_is_as_long_as_the_client_says() -> None:
    pair = Pair()
    pair.client.update_settings({SettingCodes.MAX_FRAME_SIZE: 1 << 20})
    pair.both_ways()
    assert pair.http.room(pair.open()) == 65535


def test_room_is_given_back() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.client.send_data(stream.number, b"x" * 1000)
    assert pair.to_server() == [(stream, b"x" * 1000, 1000)]
    before = pair.client.outbound_flow_control_window, pair.client.local_flow_control_window(stream.number)
    assert before == (pair.http.granted, stream.granted)
    pair.http.give_back(1000, stream)
    pair.http.give_back(600)
    pair.to_client()
    assert pair.client.outbound_flow_control_window == before[0] + 600 == pair.http.granted
    assert pair.client.local_flow_control_window(stream.number) == before[1] + 1000 == stream.granted


def test_a_stream_is_reset() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.http.reset(stream.number, ErrorCode.REFUSED_STREAM)
    event = one(pair.to_client(), StreamReset)
    assert (event.stream_id, event.error_code) == (stream.number, ErrorCode.REFUSED_STREAM)


def test_what_has_ended_is_not_reset() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.http.reset(stream.number, ErrorCode.CANCEL)
    pair.to_client()
    pair.http.reset(stream.number, ErrorCode.CANCEL)
    pair.http.reset(99, ErrorCode.CANCEL)
    pair.http.forget(stream)
    assert not pair.http.pending


def test_a_stream_that_the_client_gives_up_is_over() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.client.reset_stream(stream.number)
    assert pair.to_server() == [stream]
    assert pair.http.streams == {}
    assert pair.take(HttpFrame(RST_STREAM, 0, stream.number, bytes(4))) is None
    assert not pair.http.pending


def test_what_was_under_way_to_a_stream_that_was_reset_is_no_offence() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.http.reset(stream.number, ErrorCode.NO_ERROR)
    pair.client.send_data(stream.number, b"x" * 1000)
    assert pair.to_server() == []
    pair.client.increment_flow_control_window(5, stream.number)
    pair.client.send_headers(stream.number, [("a", "b")], end_stream=True)
    assert pair.to_server() == []
    assert pair.take(HttpFrame(RST_STREAM, 0, stream.number, bytes(4))) is None
    assert not pair.http.misled
    assert pair.open()


def test_what_comes_for_a_stream_that_was_reset_is_counted_all_the_same() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.http.reset(stream.number, ErrorCode.NO_ERROR)
    before = pair.http.granted
    pair.client.send_data(stream.number, b"x" * 1000, pad_length=7)
    assert pair.to_server() == []
    assert pair.http.granted == before - 1008 == pair.client.outbound_flow_control_window


def test_fields_of_a_stream_that_was_reset_are_remembered_all_the_same() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.http.reset(stream.number, ErrorCode.NO_ERROR)
    pair.client.send_headers(stream.number, [("some", "thing")], end_stream=True)
    assert pair.to_server() == []
    number = pair.client.get_next_available_stream_id()
    pair.client.send_headers(number, [*REQUEST, ("some", "thing")])  # by its place in the table
    [came] = pair.to_server()
    assert came.fields == [*REQUEST, ("some", "thing")]


def test_signs_of_life_and_farewells() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.http.ping()
    pair.http.go_away(ErrorCode.ENHANCE_YOUR_CALM)
    events = pair.to_client()
    assert isinstance(events[0], PingReceived)
    told = one(events, ConnectionTerminated)
    assert (told.error_code, told.last_stream_id) == (ErrorCode.ENHANCE_YOUR_CALM, stream.number)


def test_pings_are_answered() -> None:
    pair = Pair()
    pair.both_ways()
    pair.client.ping(b"12345678")
    pair.to_server()
    assert one(pair.to_client(), PingAckReceived).ping_data == b"12345678"
    pair.take(HttpFrame(PING, ACK, 0, b"mqframe?"))
    assert not pair.http.pending


def test_settings_are_heeded_and_acknowledged() -> None:
    pair = Pair()
    pair.both_ways()
    pair.client.update_settings({SettingCodes.MAX_FRAME_SIZE: 20_000, SettingCodes.ENABLE_PUSH: 0})
    pair.to_server()
    acknowledged = one(pair.to_client(), SettingsAcknowledged)
    assert acknowledged.changed_settings[SettingCodes.MAX_FRAME_SIZE].new_value == 20_000
    assert pair.http.room(pair.open()) == 20_000


def test_trailers_end_a_stream() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    pair.client.send_headers(stream.number, [("a", "b")], end_stream=True)
    assert pair.to_server() == [(stream, [("a", "b")], 34, False)]
    assert stream.half_closed


def test_fields_may_come_in_pieces() -> None:
    pair = Pair()
    pair.both_ways()
    block = pair.client.encoder.encode(REQUEST)
    assert pair.take(HttpFrame(HEADERS, END_STREAM, 1, block[:3])) is None
    assert pair.take(HttpFrame(CONTINUATION, 0, 1, block[3:5])) is None
    came = pair.take(HttpFrame(CONTINUATION, END_HEADERS, 1, block[5:]))
    assert (came.fields, came.opens, came.stream.half_closed) == (REQUEST, True, True)


@pytest.mark.parametrize(
    ("flags", "before", "after"),
    [
        (PADDED, b"\2", b"\0\0"),
        (PRIORITIZED, b"\0\0\0\0\1", b""),
        (PADDED | PRIORITIZED, b"\1\0\0\0\0\1", b"\0"),
    ],
)
def test_padding_and_priorities_are_no_fields(flags: int, before: bytes, after: bytes) -> None:
    pair = Pair()
    pair.both_ways()
    block = pair.client.encoder.encode(REQUEST)
    came = pair.take(HttpFrame(HEADERS, END_HEADERS | flags, 1, before + block + after))
    assert came.fields == REQUEST
    assert pair.take(HttpFrame(HEADERS, flags, 3, before + block[:3] + after)) is None
    assert pair.take(HttpFrame(CONTINUATION, END_HEADERS, 3, block[3:])).fields == REQUEST


def fields(number: int, block: bytes = b"\x83", flags: int = 0) -> HttpFrame:
    return HttpFrame(HEADERS, END_HEADERS | flags, number, block)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (HttpFrame(PING, 0, 0, b"12345"), ErrorCode.FRAME_SIZE_ERROR),
        (HttpFrame(PING, 0, 1, b"12345678"), ErrorCode.PROTOCOL_ERROR),
        (HttpFrame(SETTINGS, 0, 0, b"\0\4\x80\0\0\0"), ErrorCode.FLOW_CONTROL_ERROR),  # first window
        (HttpFrame(SETTINGS, 0, 0, b"\0\4\0\0\0"), ErrorCode.FRAME_SIZE_ERROR),
        (HttpFrame(SETTINGS, 0, 0, b"\0\2\0\0\0\2"), ErrorCode.PROTOCOL_ERROR),
        (HttpFrame(SETTINGS, 0, 0, b"\0\5\0\0\x3f\xff"), ErrorCode.PROTOCOL_ERROR),  # frames too short
        (HttpFrame(SETTINGS, 0, 0, b"\0\5\1\0\0\0"), ErrorCode.PROTOCOL_ERROR),  # too long
        (HttpFrame(SETTINGS, 0, 1, b""), ErrorCode.PROTOCOL_ERROR),
        (HttpFrame(SETTINGS, ACK, 0, bytes(6)), ErrorCode.FRAME_SIZE_ERROR),
        (fields(2), ErrorCode.PROTOCOL_ERROR),  # a stream of the server
        (fields(0), ErrorCode.STREAM_CLOSED),
        (fields(3, b"\xff"), ErrorCode.COMPRESSION_ERROR),  # half a number
        (fields(3, b"\xfe"), ErrorCode.COMPRESSION_ERROR),  # no such field
        (fields(3, b"\5\x83", PADDED), ErrorCode.PROTOCOL_ERROR),
        (fields(3, b"\0\0\0\0", PRIORITIZED), ErrorCode.PROTOCOL_ERROR),
        (fields(1), ErrorCode.PROTOCOL_ERROR),  # trailers that end nothing
        (HttpFrame(RST_STREAM, 0, 1, bytes(3)), ErrorCode.FRAME_SIZE_ERROR),
        (HttpFrame(RST_STREAM, 0, 0, bytes(4)), ErrorCode.PROTOCOL_ERROR),
        (HttpFrame(RST_STREAM, 0, 9, bytes(4)), ErrorCode.PROTOCOL_ERROR),  # which never began
        (HttpFrame(RST_STREAM, 0, 2, bytes(4)), ErrorCode.PROTOCOL_ERROR),
    ],
)
def test_what_may_not_be_ends_the_connection(frame: HttpFrame, code: ErrorCode) -> None:
    pair = Pair()
    pair.both_ways()
    assert pair.open().number == 1
    with pytest.raises(HttpBroken) as caught:
        pair.take(frame)
    assert caught.value.code is code
    assert str(caught.value)
    assert not pair.http.pending


def test_fields_after_the_end_are_an_offence() -> None:
    pair = Pair()
    pair.both_ways()
    stream, other = pair.open(end=True), pair.open(end=True)
    pair.http.headers(stream, OK, end=True)
    pair.http.forget(stream)
    with pytest.raises(HttpBroken) as caught:
        pair.take(fields(stream.number, flags=END_STREAM))
    assert caught.value.code is ErrorCode.STREAM_CLOSED
    pair.http.take()
    assert pair.take(fields(other.number, flags=END_STREAM)) is None  # it is not answered yet
    assert (pair.http.misled, pair.http.streams) == (True, {})
    assert one(pair.to_client(), StreamReset).error_code == ErrorCode.STREAM_CLOSED


def window(number: int, more: bytes) -> HttpFrame:
    return HttpFrame(WINDOW_UPDATE, 0, number, more)


@pytest.mark.parametrize(
    ("number", "more", "code"),
    [
        (9, b"\0\0\0\1", ErrorCode.PROTOCOL_ERROR),  # which never began
        (2, b"\0\0\0\1", ErrorCode.PROTOCOL_ERROR),  # one of the server's
        (1, b"\0\0\0\0", ErrorCode.PROTOCOL_ERROR),
        (0, b"\0\0\0\0", ErrorCode.PROTOCOL_ERROR),
        (0, b"\x80\0\0\0", ErrorCode.PROTOCOL_ERROR),  # the reserved bit says nothing
        (0, b"\x7f\xff\xff\xff", ErrorCode.FLOW_CONTROL_ERROR),
        (0, b"\0\0\1", ErrorCode.FRAME_SIZE_ERROR),
        (1, b"\0\0\0\0\1", ErrorCode.FRAME_SIZE_ERROR),
    ],
)
def test_windows_that_may_not_be_end_the_connection(number: int, more: bytes, code: ErrorCode) -> None:
    pair = Pair()
    pair.both_ways()
    assert pair.open().number == 1
    with pytest.raises(HttpBroken) as caught:
        pair.http.opened(window(number, more))
    assert caught.value.code is code


def test_a_window_that_overflows_ends_its_stream() -> None:
    pair = Pair()
    pair.both_ways()
    number = pair.open().number
    assert pair.http.opened(window(number, (2**31 - 1 - 65535).to_bytes(4, "big")))
    assert not pair.http.opened(window(number, b"\0\0\0\1"))
    event = one(pair.to_client(), StreamReset)
    assert (event.stream_id, event.error_code) == (number, ErrorCode.FLOW_CONTROL_ERROR)
    assert pair.http.opened(window(number, b"\0\0\0\1"))  # which was under way


def test_windows_of_streams_that_are_over_say_nothing() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open(end=True)
    pair.http.headers(stream, OK, end=True)
    pair.http.forget(stream)
    assert pair.http.opened(window(stream.number, b"\x7f\xff\xff\xff"))


def data(number: int, body: bytes, flags: int = 0) -> HttpFrame:
    return HttpFrame(DATA, flags, number, body)


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
    stream, before = pair.open(), pair.http.granted
    assert pair.http.data_came(data(stream.number, body, PADDED)) == (stream, came, len(body))
    assert pair.http.granted == before - len(body)


@pytest.mark.parametrize(
    ("number", "body", "flags", "code"),
    [
        (0, b"x", 0, ErrorCode.PROTOCOL_ERROR),
        (9, b"x", 0, ErrorCode.PROTOCOL_ERROR),  # which never began
        (2, b"x", 0, ErrorCode.PROTOCOL_ERROR),  # one of the server's
        (1, b"", PADDED, ErrorCode.PROTOCOL_ERROR),
        (1, b"\3ab", PADDED, ErrorCode.PROTOCOL_ERROR),  # padding longer than the frame
        (1, b"x" * 70_000, 0, ErrorCode.FLOW_CONTROL_ERROR),  # more than the call has room for
    ],
)
def test_data_that_may_not_be_ends_the_connection(
    number: int, body: bytes, flags: int, code: ErrorCode
) -> None:
    pair = Pair(message_bytes_max=100)
    pair.both_ways()
    assert pair.open().number == 1
    with pytest.raises(HttpBroken) as caught:
        pair.http.data_came(data(number, body, flags))
    assert caught.value.code is code


def test_more_data_than_the_connection_has_room_for_ends_it() -> None:
    pair = Pair(message_bytes_max=100 << 20)
    pair.both_ways()
    number = pair.open().number
    while pair.http.granted:
        pair.http.data_came(data(number, b"x" * min(pair.http.granted, 1 << 20)))
    with pytest.raises(HttpBroken) as caught:
        pair.http.data_came(data(number, b"x"))
    assert caught.value.code is ErrorCode.FLOW_CONTROL_ERROR


def test_data_after_the_end_resets_its_stream() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    assert pair.http.data_came(data(stream.number, b"x", END_STREAM)) == (stream, b"x", 1)
    assert stream.half_closed
    assert pair.http.data_came(data(stream.number, b"y")) is None
    assert (pair.http.misled, pair.http.streams) == (True, {})
    assert one(pair.to_client(), StreamReset).error_code == ErrorCode.STREAM_CLOSED
    pair.http.misled = False
    assert pair.http.data_came(data(stream.number, b"z")) is None
    assert (pair.http.misled, pair.http.pending) == (False, 0)


def test_data_of_a_stream_that_is_over_is_answered_by_a_reset() -> None:
    pair = Pair()
    pair.both_ways()
    stream = pair.open(end=True)
    pair.http.answer(stream, b"m")
    pair.http.forget(stream)
    pair.http.take()
    for misled in (True, False):
        pair.http.misled = False
        assert pair.http.data_came(data(stream.number, b"y")) is None
        assert pair.http.misled is misled
        assert len(pair.http.take()) == (13 if misled else 0)


@pytest.mark.parametrize(
    ("said", "sent"), [("3", [b"abcd"]), ("3", [b"ab", b"cd"]), ("3", [b"ab", None]), ("0", [b"a"])]
)
def test_a_content_length_is_kept_to(said: str, sent: list[bytes | None]) -> None:
    """`None`: the end. `OpenCalls` has read what is said."""
    pair = Pair()
    pair.both_ways()
    stream = pair.open()
    stream.missing = int(said)
    frames = [data(stream.number, each or b"", 0 if each else END_STREAM) for each in sent]
    for frame in frames[:-1]:
        pair.http.data_came(frame)
    with pytest.raises(HttpBroken, match="content-length") as caught:
        pair.http.data_came(frames[-1])
    assert caught.value.code is ErrorCode.PROTOCOL_ERROR


def test_trailers_come_after_all_that_was_to_come() -> None:
    for size in (2, 3):
        pair = Pair()
        pair.both_ways()
        stream = pair.open()
        stream.missing = 3
        pair.http.data_came(data(stream.number, b"x" * size))
        if size == 3:
            assert pair.take(fields(stream.number, flags=END_STREAM)).stream is stream
            continue
        with pytest.raises(HttpBroken, match="content-length"):
            pair.take(fields(stream.number, flags=END_STREAM))


def test_streams_that_are_over_are_forgotten() -> None:
    pair = Pair()
    pair.both_ways()
    for _ in range(3000):
        stream = pair.open()
        pair.client.reset_stream(stream.number)
        pair.to_server()
    assert pair.http.streams == {}
    assert len(pair.http._reset) == 2048
    assert stream.number in pair.http._reset


def test_a_client_decides_not_how_large_a_table_is() -> None:
    pair = Pair()
    pair.both_ways()
    for size in range(100):
        pair.client.update_settings({SettingCodes.HEADER_TABLE_SIZE: 4096 + size})
        pair.to_server()
    stream = pair.open()
    pair.http.headers(stream, OK + block_of([("a", "b" * 1000)]), end=True)
    assert one(pair.to_client(), ResponseReceived).headers[0] == (":status", "200")
    assert pair.client.decoder.header_table_size == 0

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest
from grpc_wire import Wire, message
from h2.errors import ErrorCodes
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import UNREAD_MAX, GrpcCall, Method
from mqframe_grpc.transport.frames import END_HEADERS, HEADERS, frame_head
from mqframe_grpc.transport.messages import framed
from mqframe_grpc.transport.status import GrpcStatus

CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = (
    GrpcStatus.CANCELLED,
    GrpcStatus.DEADLINE_EXCEEDED,
    GrpcStatus.RESOURCE_EXHAUSTED,
    GrpcStatus.UNIMPLEMENTED,
    GrpcStatus.INTERNAL,
)


async def test_a_call_is_answered() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Echo", b"x", x_mq_client_id="c@1", grpc_timeout="3S")
    await wire.settle()
    answer = peer.answers[number]
    assert (answer.messages, answer.status, answer.ended, answer.reset) == ([b"x"], 0, True, None)
    [call] = wire.calls
    assert call.metadata["x-mq-client-id"] == "c@1"
    assert call.deadline == wire.clock.monotonic() + 3
    assert (call.address, call.certificate) == ("10.0.0.9:5000", "client.example")
    assert (len(peer.connection._calls), wire.clock.timers) == (0, 0)
    assert wire.at_rest()


async def test_many_calls_at_once_are_each_answered() -> None:
    wire = Wire()
    peer = wire.connect()
    numbers = {peer.call("Echo", b"%d" % n): n for n in range(300)}
    held = {peer.call("Held", b"h%d" % n): n for n in range(200)}
    await wire.settle()
    assert peer.connection.calls == 200
    for n in reversed(range(200)):
        wire.release(b"h%d" % n)
    await wire.settle()
    assert all(peer.answers[number].messages == [b"%d" % n] for number, n in numbers.items())
    assert all(peer.answers[number].messages == [b"h%d" % n] for number, n in held.items())
    assert wire.at_rest()


async def test_a_request_is_served_once_the_client_has_ended_it() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Echo")
    for piece in (message(b"xyz")[:3], message(b"xyz")[3:7], message(b"xyz")[7:]):
        peer.data(number, piece)
        await wire.settle()
    assert wire.begun == []
    assert wire.server.partial_bytes == len(message(b"xyz")) - 5  # it is a message by now
    peer.data(number, b"", end=True)
    await wire.settle()
    assert peer.answers[number].messages == [b"xyz"]
    assert wire.at_rest()


async def test_an_empty_request_is_one() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Echo")
    peer.data(number, framed(b""), end=True)
    await wire.settle()
    assert peer.answers[number].messages == [b""]


async def test_padding_is_no_part_of_a_request() -> None:
    wire = Wire(message_bytes_max=1000)
    peer = wire.connect()
    number = peer.headers("Echo")
    raw = message(b"y" * 900)
    for place in range(len(raw)):  # a hundred times as much padding as the window of a call has
        peer.data(number, raw[place : place + 1], end=place == len(raw) - 1, padding=255)
        if place % 10 == 0:
            await wire.settle()
    await wire.settle()
    assert peer.answers[number].messages == [b"y" * 900]
    assert wire.at_rest()


@pytest.mark.parametrize("size", [4 << 20, (5 << 20) - 5])
async def test_long_requests_come_whole(size: int) -> None:
    wire = Wire()
    peer = wire.connect()
    numbers = [peer.call("Echo", b"z" * size) for _ in range(3)]
    peer.http.increment_flow_control_window(1 << 25)
    for number in numbers:
        peer.http.increment_flow_control_window(1 << 25, number)
    await wire.settle()
    assert all(peer.answers[number].messages == [b"z" * size] for number in numbers)
    assert wire.at_rest()


async def test_a_packed_request_is_read() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Echo", grpc_encoding="gzip")
    body = gzip.compress(m.Resource(name="x" * 1000).SerializeToString())
    peer.data(number, b"\1" + len(body).to_bytes(4, "big") + body, end=True)
    await wire.settle()
    assert peer.answers[number].messages == [b"x" * 1000]


@pytest.mark.parametrize(
    ("rpc", "body", "status", "text"),
    [
        ("Echo", None, INTERNAL, "the request is missing"),
        ("Echo", b"", INTERNAL, "the request is missing"),
        ("Echo", b"\0\0\0", INTERNAL, "a request was cut off"),
        ("Echo", message(b"x")[:-1], INTERNAL, "a request was cut off"),
        ("Echo", message(b"x") + b"\0", INTERNAL, "a request was cut off"),
        ("Echo", message(b"x") * 2, INTERNAL, "a second request in a call of one"),
        ("Echo", framed(b"\xff\xff"), INTERNAL, "the request cannot be read"),
        ("Echo", b"\0\xff\xff\xff\xff", RESOURCE_EXHAUSTED, "a message of 4294967295 bytes"),
        ("Echo", b"\1\0\0\0\1x", INTERNAL, "packs none"),
        ("Fails", message(b"x"), INTERNAL, "ValueError: not this one"),
        ("Nothing", message(b"x"), UNIMPLEMENTED, "Method not found: t/Nothing"),
        ("Both", message(b"x")[:-1], INTERNAL, "a request was cut off"),
        ("Both", b"\0\xff\xff\xff\xff", RESOURCE_EXHAUSTED, "a message of"),
    ],
)
async def test_what_cannot_be_served_is_told(
    rpc: str, body: bytes | None, status: GrpcStatus, text: str
) -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers(rpc, end=body is None)
    if body is not None:
        peer.data(number, body, end=True)
    await wire.settle()
    answer = peer.answers[number]
    assert (answer.status, answer.reset) == (status, None)
    assert text in answer.text
    assert wire.done == []
    assert wire.at_rest()
    other = peer.call("Echo", b"still there")
    await wire.settle()
    assert peer.answers[other].messages == [b"still there"]


async def test_what_is_packed_in_no_known_way_is_told_what_is() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Echo", grpc_encoding="snappy")
    peer.data(number, b"\1\0\0\0\1x", end=True)
    await wire.settle()
    assert peer.answers[number].status == UNIMPLEMENTED


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"content_type": "text/html"}, "415"), ({":method": "GET"}, "405"), ({"content_type": ""}, "415")],
)
@pytest.mark.parametrize("end", [True, False])
async def test_what_is_no_grpc_is_told_so(fields: dict[str, str], status: str, end: bool) -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Echo", end=end, **fields)
    await wire.settle()
    answer = peer.answers[number]
    assert (answer.fields, answer.ended) == ({":status": status}, True)
    assert answer.reset == (None if end else ErrorCodes.NO_ERROR)


async def test_a_request_that_is_malformed_is_reset() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.http.config.validate_outbound_headers = False
    number = peer.headers("Echo", **{":status": "200"})
    await wire.settle()
    assert peer.answers[number].reset == ErrorCodes.PROTOCOL_ERROR


async def test_a_client_is_told_to_send_no_more_of_what_was_answered() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Nothing")
    await wire.settle()
    assert peer.answers[number].status == UNIMPLEMENTED
    assert peer.answers[number].reset == ErrorCodes.NO_ERROR
    number = peer.headers("Echo")
    peer.data(number, b"\0\xff\xff\xff\xff")
    await wire.settle()
    assert peer.answers[number].status == RESOURCE_EXHAUSTED
    assert peer.answers[number].reset == ErrorCodes.NO_ERROR
    assert wire.at_rest()


async def test_trailers_of_a_client_end_its_side() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Echo", b"x", end=False)
    peer.http.send_headers(number, [("a", "b")], end_stream=True)
    await wire.settle()
    assert peer.answers[number].messages == [b"x"]
    both = peer.call("Both", b"y", end=False)
    peer.http.send_headers(both, [("a", "b")], end_stream=True)
    await wire.settle()
    assert (peer.answers[both].messages, peer.answers[both].status) == ([b"y"], 0)


# Calls of many requests.


async def test_a_call_goes_both_ways() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Both")
    await wire.settle()
    for name in (b"a", b"b", b"c"):
        peer.data(number, message(name))
        await wire.settle()
    assert peer.answers[number].messages == [b"a", b"b", b"c"]
    assert not peer.answers[number].ended
    peer.data(number, b"", end=True)
    await wire.settle()
    assert (peer.answers[number].status, wire.done) == (0, [b"both"])
    assert wire.at_rest()


async def test_a_call_without_any_request_ends_well() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Both", end=True)
    await wire.settle()
    assert (peer.answers[number].status, peer.answers[number].raw) == (0, b"")


async def test_requests_wait_until_they_are_received_and_are_counted() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Listens")
    for n in range(UNREAD_MAX):
        peer.data(number, message(b"%d" % n))
    await wire.settle()
    assert wire.server.partial_bytes > UNREAD_MAX * 100
    wire.go.set()
    await wire.settle()
    assert wire.begun == [b"%d" % n for n in range(UNREAD_MAX)]
    assert wire.at_rest()


async def test_too_many_requests_that_nobody_receives_end_a_call() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Listens")
    for n in range(UNREAD_MAX + 1):
        peer.data(number, message(b"%d" % n))
    await wire.settle()
    assert peer.answers[number].status == RESOURCE_EXHAUSTED
    assert wire.at_rest()


async def test_a_client_sends_as_much_as_is_received() -> None:
    """Nothing gets lost of a long call's window: neither prefixes, nor padding, nor what packing saves."""
    wire = Wire(message_bytes_max=1000)
    peer = wire.connect()
    number = peer.headers("Both", grpc_encoding="gzip")
    raw = m.Resource(name="n" * 900).SerializeToString()
    body = gzip.compress(raw)
    packed = b"\1" + len(body).to_bytes(4, "big") + body
    window = peer.http.local_flow_control_window(number)
    sent = 0
    for turn in range(400):
        for data in (framed(raw), packed, framed(b"")):
            peer.data(number, data, padding=turn % 3 or None)
            sent += len(data) + (turn % 3 + 1 if turn % 3 else 0)
        await wire.settle()
        assert peer.http.local_flow_control_window(number) > 1005  # there is room for a message at any time
    assert sent > 5 * window
    assert peer.opened(number) <= sent
    assert len(peer.answers[number].messages) == 1200


async def test_a_client_does_not_send_more_than_is_received() -> None:
    wire = Wire(message_bytes_max=100_000)
    peer = wire.connect()
    number = peer.headers("Listens")
    while peer.http.local_flow_control_window(number) > 50_100:
        peer.data(number, message(b"x" * 50_000))
        await wire.settle()
    assert peer.opened(number) == 0
    assert 100_000 < wire.server.partial_bytes < 200_000
    wire.go.set()
    await wire.settle()
    assert peer.opened(number) > 80_000
    assert wire.server.partial_bytes == 0


# Cancelling.


async def test_a_client_cancels_before_it_has_sent_all() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Echo")
    peer.data(number, message(b"x" * 1000)[:500])
    await wire.settle()
    assert wire.server.partial_bytes == 500
    peer.cancel(number)
    await wire.settle()
    assert (wire.begun, peer.connection.calls) == ([], 0)
    assert wire.at_rest()


async def test_a_client_cancels_in_the_very_turn_in_which_it_calls() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Held", b"x")
    peer.cancel(number)
    await wire.settle()
    assert (wire.begun, wire.cancelled) == ([b"x"], [b"x"])
    assert peer.answers[number].status is None
    assert wire.at_rest()


async def test_a_client_cancels_what_is_being_served() -> None:
    wire = Wire()
    peer = wire.connect()
    number, other = peer.call("Held", b"x", grpc_timeout="3S"), peer.call("Held", b"y")
    await wire.settle()
    assert (wire.server.in_work_bytes, wire.clock.timers) == (6, 1)
    peer.cancel(number)
    await wire.settle()
    assert wire.cancelled == [b"x"]
    assert wire.clock.timers == 0
    wire.release(b"y")
    await wire.settle()
    assert peer.answers[other].messages == [b"y"]
    assert wire.at_rest()


async def test_a_client_cancels_a_call_of_many() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Both", b"a", end=False)
    await wire.settle()
    peer.data(number, message(b"b")[:3])
    peer.cancel(number)
    await wire.settle()
    assert wire.cancelled == [b"both"]
    assert wire.at_rest()


async def test_a_client_cancels_what_was_answered() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Echo", b"x")
    peer.push()
    peer.cancel(number)
    await wire.settle()
    other = peer.call("Echo", b"y")
    await wire.settle()
    assert peer.answers[other].messages == [b"y"]


async def test_a_connection_that_is_lost_cancels_all() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    for rpc, name in (("Held", b"x"), ("Both", b"y"), ("Many", b"9:50000"), ("Echo", b"z" * 100)):
        peer.call(rpc, name, end=rpc != "Both", grpc_timeout="3S")
    half = peer.headers("Echo")
    peer.data(half, b"\0\0")
    await wire.settle()
    peer.vanish()
    await wire.settle()
    assert sorted(wire.cancelled) == [b"9:50000", b"both", b"x"]
    assert (wire.clock.timers, len(wire.server.connections)) == (0, 0)
    assert wire.at_rest()


async def test_sending_to_a_call_that_is_gone_is_no_success() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    number = peer.headers("Listens")
    await wire.settle()
    [call] = wire.calls
    tasks = [asyncio.ensure_future(call.send(m.Resource(name="x" * 200_000))) for _ in range(3)]
    await wire.settle()
    assert not any(task.done() for task in tasks)
    peer.cancel(number)
    await wire.settle()
    assert {type(task.exception()).__name__ for task in tasks} == {"GrpcError"}
    assert wire.at_rest()


# Deadlines.


async def test_a_call_that_takes_too_long_is_ended() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Held", b"x", grpc_timeout="3S")
    await wire.pass_time(2.9)
    assert peer.answers[number].status is None
    await wire.pass_time(0.1)
    assert peer.answers[number].status == DEADLINE_EXCEEDED
    assert (wire.cancelled, wire.clock.timers) == ([b"x"], 0)
    assert wire.at_rest()


async def test_a_call_that_ends_in_time_is_not_timed_any_more() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Held", b"x", grpc_timeout="3S")
    await wire.settle()
    wire.release(b"x")
    await wire.settle()
    assert wire.clock.timers == 0
    await wire.pass_time(5.0)
    assert (peer.answers[number].messages, peer.answers[number].status) == ([b"x"], 0)


async def test_a_request_that_does_not_come_in_time_is_ended() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.headers("Echo", grpc_timeout="500m")
    peer.data(number, message(b"x" * 100)[:50])
    await wire.pass_time(0.5)
    answer = peer.answers[number]
    assert (answer.status, answer.reset) == (DEADLINE_EXCEEDED, ErrorCodes.NO_ERROR)
    assert wire.at_rest()


async def test_answers_that_are_not_read_in_time_are_let_go() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    peer.http.increment_flow_control_window(1 << 20)
    done = peer.call("Many", b"1:100000", grpc_timeout="3S")
    waits = peer.call("Many", b"50:100000", grpc_timeout="3S")
    await wire.pass_time(2.0)
    assert wire.done == [b"1:100000"]  # but the client does not know
    assert wire.server.unsent_bytes > 0
    await wire.pass_time(1.0)
    for number in (done, waits):
        assert peer.answers[number].status == DEADLINE_EXCEEDED
    assert wire.at_rest()


async def test_a_call_of_many_has_its_time_as_well() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Both", b"x", end=False, grpc_timeout="3S")
    await wire.pass_time(3.0)
    assert (peer.answers[number].status, wire.cancelled) == (DEADLINE_EXCEEDED, [b"both"])
    assert wire.at_rest()


@pytest.mark.parametrize("timeout", ["0S", "0n"])
async def test_no_time_at_all_is_over(timeout: str) -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Echo", b"x", grpc_timeout=timeout)
    await wire.settle()
    assert (peer.answers[number].status, wire.begun) == (DEADLINE_EXCEEDED, [])


@pytest.mark.parametrize("timeout", ["99999999H", "5184000S", "99999999M"])
async def test_an_endless_time_is_none(timeout: str) -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Held", b"x", grpc_timeout=timeout)
    await wire.settle()
    assert wire.clock.timers == 0
    wire.release(b"x")
    await wire.settle()
    assert peer.answers[number].messages == [b"x"]


async def test_what_cannot_be_told_a_time_is_told_so() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Echo", b"x", grpc_timeout="soon")
    await wire.settle()
    assert peer.answers[number].status == INTERNAL
    assert "'soon' is no time" in peer.answers[number].text


# What serves.


def served(wire: Wire, serve: Any, *, both_ways: bool = False) -> None:
    wire.server.methods["/t/Own"] = Method(serve, m.Resource, both_ways=both_ways)  # type: ignore[index]


async def test_what_is_cancelled_from_within_is_told() -> None:
    async def at_once(call: GrpcCall, request: Any) -> None:
        raise asyncio.CancelledError

    async def later(call: GrpcCall, request: Any) -> None:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    wire = Wire()
    peer = wire.connect()
    for serve in (at_once, later):
        served(wire, serve)
        number = peer.call("Own", b"x")
        await wire.settle()
        assert peer.answers[number].status == CANCELLED
    assert wire.at_rest()


async def test_what_fails_later_is_told() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Refuses", b"later")
    await wire.settle()
    wire.release(b"later")
    await wire.settle()
    assert (peer.answers[number].status, peer.answers[number].text) == (3, "says no: 50 %25, %C3%BC")


async def test_what_answers_with_something_else_fails() -> None:
    async def serve(call: GrpcCall, request: Any) -> Any:
        if request.name:
            await asyncio.sleep(0)
        return "no message"

    wire = Wire()
    peer = wire.connect()
    served(wire, serve)
    numbers = [peer.call("Own", name) for name in (b"", b"later")]
    await wire.settle()
    assert [peer.answers[number].status for number in numbers] == [INTERNAL, INTERNAL]
    assert wire.at_rest()


async def test_what_sends_after_the_end_is_not_heard() -> None:
    sent = []

    async def serve(call: GrpcCall, request: Any) -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            call.send_now(request)
            try:
                await call.send(request)
            except Exception as problem:
                sent.append(str(problem))
        return request

    wire = Wire()
    peer = wire.connect()
    served(wire, serve)
    number = peer.call("Own", b"x", grpc_timeout="1S")
    await wire.pass_time(1.0)
    assert sent == ["the call has ended"]
    assert (peer.answers[number].status, peer.answers[number].raw) == (DEADLINE_EXCEEDED, b"")
    assert wire.at_rest()


async def test_what_fails_after_its_end_harms_nobody() -> None:
    async def serve(call: GrpcCall, request: Any) -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise ValueError("late")

    wire = Wire()
    peer = wire.connect()
    served(wire, serve)
    peer.cancel(peer.call("Own", b"x"))
    await wire.settle()
    number = peer.call("Echo", b"y")
    await wire.settle()
    assert peer.answers[number].messages == [b"y"]
    assert wire.at_rest()


async def test_a_call_of_many_may_end_before_the_client_does() -> None:
    async def serve(call: GrpcCall) -> Any:
        await call.receive()
        return m.Resource(name="enough")

    wire = Wire()
    peer = wire.connect()
    served(wire, serve, both_ways=True)
    number = peer.call("Own", b"x", end=False)
    await wire.settle()
    answer = peer.answers[number]
    assert (answer.messages, answer.status, answer.reset) == ([b"enough"], 0, ErrorCodes.NO_ERROR)
    assert wire.at_rest()


async def test_nobody_wants_more_of_what_has_ended() -> None:
    async def serve(call: GrpcCall) -> Any:
        await call.receive()
        return m.Resource(name="y" * 100_000)

    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    peer.http.increment_flow_control_window(1 << 20)
    served(wire, serve, both_ways=True)
    number = peer.call("Own", b"x", end=False)
    await wire.settle()
    assert peer.answers[number].status is None  # its end waits for room
    peer.data(number, message(b"more" * 100))
    await wire.settle()
    assert wire.server.partial_bytes == 0
    peer.data(number, b"\xff", end=True)
    peer.http.increment_flow_control_window(1 << 20, number)
    await wire.settle()
    assert (peer.answers[number].status, peer.answers[number].reset) == (0, None)
    assert wire.at_rest()


async def test_what_may_not_come_for_a_call_ends_it() -> None:
    """Header fields after its end, say: it is reset, and the connection goes on."""
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Held", b"x")
    await wire.settle()
    peer.send_raw(frame_head(1, HEADERS, END_HEADERS, number) + b"\x82")
    await wire.settle()
    assert peer.answers[number].reset == ErrorCodes.STREAM_CLOSED
    assert (wire.cancelled, peer.closed) == ([b"x"], False)
    assert wire.at_rest()


# Bounds.


async def test_calls_beyond_those_that_may_be_open_are_refused_unseen() -> None:
    wire = Wire(calls_max=3)
    peer = wire.connect()
    await wire.settle()
    peer.http.remote_settings[3] = 100  # as one that was not told yet
    peer.http.remote_settings.acknowledge()
    numbers = [peer.call("Held", b"%d" % n) for n in range(5)]
    await wire.settle()
    assert [peer.answers[number].reset for number in numbers[3:]] == [ErrorCodes.REFUSED_STREAM] * 2
    for n in range(3):
        wire.release(b"%d" % n)
    await wire.settle()
    assert [peer.answers[number].messages for number in numbers[:3]] == [[b"0"], [b"1"], [b"2"]]
    number = peer.call("Echo", b"again")
    await wire.settle()
    assert peer.answers[number].messages == [b"again"]
    assert wire.begun == [b"0", b"1", b"2", b"again"]


async def test_too_much_in_work_is_refused_call_by_call() -> None:
    wire = Wire(partial_bytes_max=100_000)
    peer = wire.connect()
    names = [b"%d" % n + b"." * 40_000 for n in range(3)]
    numbers = [peer.call("Held", name) for name in names]
    await wire.settle()
    assert [peer.answers[number].status for number in numbers] == [None, None, RESOURCE_EXHAUSTED]
    wire.release(names[0])
    await wire.settle()
    again = peer.call("Echo", names[2])
    await wire.settle()
    assert peer.answers[again].messages == [names[2]]
    wire.release(names[1])
    await wire.settle()
    assert wire.at_rest()


async def test_one_large_request_may_always_be_in_work() -> None:
    wire = Wire(partial_bytes_max=1000)
    peer = wire.connect()
    number = peer.call("Echo", b"x" * 5000)
    await wire.settle()
    assert peer.answers[number].status is None or peer.answers[number].messages == [b"x" * 5000]


async def test_header_fields_that_take_much_are_counted() -> None:
    wire = Wire()
    peer = wire.connect()
    number = peer.call("Held", b"x", grpc_trace="y" * 10_000)
    await wire.settle()
    assert 6_000 < wire.server.partial_bytes < 16_000
    peer.cancel(number)
    await wire.settle()
    assert wire.at_rest()


async def test_answers_that_nobody_reads_end_their_call_alone() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    peer.http.increment_flow_control_window(1 << 20)
    number, held = peer.call("Many", b"2:90000"), peer.call("Held", b"x")
    for _ in range(4):
        await wire.pass_looks(26.25)
        peer.http.ping(b"12345678")
    assert peer.answers[number].status is None
    await wire.pass_looks(18.75)
    assert peer.answers[number].status == CANCELLED
    wire.release(b"x")
    await wire.settle()
    assert peer.answers[held].messages == [b"x"]
    assert wire.at_rest()


async def test_answers_that_are_read_slowly_are_all_read() -> None:
    wire = Wire()
    peer = wire.connect()
    peer.credits = False
    peer.http.increment_flow_control_window(1 << 20)
    number = peer.call("Many", b"1:70000")
    for _ in range(3):
        await wire.pass_looks(100.0)
        assert peer.answers[number].status is None
        peer.http.increment_flow_control_window(1000, number)
    peer.http.increment_flow_control_window(10_000, number)
    await wire.settle()
    assert peer.answers[number].status == 0

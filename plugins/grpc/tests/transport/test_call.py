from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import ROOM_BYTES, UNREAD_BYTES, UNREAD_MAX, CallHead, GrpcCall, Method
from mqframe_grpc.transport.messages import IncomingMessages, framed
from mqframe_grpc.transport.status import GrpcError, GrpcStatus
from mqframe_grpc.transport.streams import HttpStream


class Carrier:
    """Keeps what is to leave. `full`: whether all of it waits; `taken_bytes`: what may be sent again."""

    address = "10.0.0.9:5000"
    certificate = "client.example"

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.full = False
        self.taken_bytes = 0

    def send(self, call: GrpcCall, data: bytes) -> None:
        self.sent.append(data)
        if self.full:
            call.waiting_bytes = ROOM_BYTES + 1

    def taken(self, call: GrpcCall, size: int) -> None:
        self.taken_bytes += size


async def serve(call: Any, request: Any) -> None: ...


def begun(carrier: Carrier | None = None) -> GrpcCall:
    head = CallHead(Method(serve, m.Resource, both_ways=True), {"x": "y"}, 5.0)
    return GrpcCall(carrier or Carrier(), HttpStream(1, 0, 0), head, IncomingMessages("identity", 1000))


def answer(name: str) -> m.Resource:
    return m.Resource(name=name)


def raw(name: str) -> bytes:
    return answer(name).SerializeToString()


async def test_it_says_who_calls() -> None:
    call = begun()
    assert (call.address, call.certificate) == ("10.0.0.9:5000", "client.example")
    assert (call.metadata, call.deadline) == ({"x": "y"}, 5.0)


async def test_what_has_room_is_sent_at_once() -> None:
    call = begun(carrier := Carrier())
    await call.send(answer("a"))
    call.send_now(answer("b"))
    assert carrier.sent == [framed(raw("a")), framed(raw("b"))]
    assert not call.is_full


async def test_sending_waits_while_the_client_does_not_read() -> None:
    call = begun(carrier := Carrier())
    carrier.full = True
    tasks = [asyncio.ensure_future(call.send(answer(name))) for name in "ab"]
    await asyncio.sleep(0)
    assert call.is_full
    call.has_room()  # somewhat, but not enough
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)
    call.waiting_bytes = ROOM_BYTES
    call.has_room()
    assert await asyncio.gather(*tasks) == [None, None]


async def test_a_call_that_ends_while_it_waits_for_room_is_cancelled() -> None:
    call = begun(carrier := Carrier())
    carrier.full = True
    tasks = [asyncio.ensure_future(call.send(answer(name))) for name in "ab"]
    await asyncio.sleep(0)
    call.ended = True
    call.let_go()
    for task in tasks:
        with pytest.raises(GrpcError) as caught:
            await task
        assert caught.value.status is GrpcStatus.CANCELLED


async def test_one_sender_that_is_cancelled_does_not_hold_another() -> None:
    call = begun(carrier := Carrier())
    carrier.full = True
    first, second = (asyncio.ensure_future(call.send(answer(name))) for name in "ab")
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    assert not second.done()
    call.waiting_bytes = 0
    call.has_room()
    await second
    assert first.cancelled()


async def test_nothing_is_sent_after_the_end() -> None:
    call = begun(carrier := Carrier())
    call.ended = True
    with pytest.raises(GrpcError) as caught:
        await call.send(answer("a"))
    assert caught.value.status is GrpcStatus.CANCELLED
    call.send_now(answer("b"))
    assert carrier.sent == []


async def test_an_answer_that_ended_the_call_was_not_sent() -> None:
    call = begun(carrier := Carrier())

    def fall(call: GrpcCall, data: bytes) -> None:  # as when the connection is shed by what it holds
        call.ended = True

    carrier.send = fall  # type: ignore[method-assign]
    with pytest.raises(GrpcError):
        await call.send(answer("a"))


async def test_requests_come_in_order_and_are_given_back_as_they_came() -> None:
    call = begun(carrier := Carrier())
    assert call.arrived(raw("a"), 100)
    assert call.arrived(raw("b"), 7)
    assert call.held_bytes == 2 * UNREAD_BYTES + len(raw("a") + raw("b"))
    call.no_more()
    assert [(await call.receive()).name, (await call.receive()).name] == ["a", "b"]
    assert (await call.receive(), await call.receive()) == (None, None)
    assert carrier.taken_bytes == 107
    assert call.held_bytes == 0


async def test_receiving_waits() -> None:
    call = begun()
    tasks = [asyncio.ensure_future(call.receive()) for _ in range(3)]
    await asyncio.sleep(0)
    call.arrived(raw("a"), 1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [task.done() for task in tasks] == [True, False, False]
    call.no_more()
    assert [each and each.name for each in await asyncio.gather(*tasks)] == ["a", None, None]


async def test_receiving_ends_with_the_call() -> None:
    call = begun()
    task = asyncio.ensure_future(call.receive())
    await asyncio.sleep(0)
    call.arrived(raw("a"), 1)
    call.ended = True
    call.let_go()
    with pytest.raises(GrpcError) as caught:
        await task
    assert caught.value.status is GrpcStatus.CANCELLED
    assert call.held_bytes == 0


async def test_too_many_requests_do_not_wait() -> None:
    call = begun()
    assert all(call.arrived(b"", 5) for _ in range(UNREAD_MAX))
    assert not call.arrived(b"", 5)


async def test_a_request_that_cannot_be_read_is_taken_all_the_same() -> None:
    call = begun(carrier := Carrier())
    call.arrived(b"\xff\xff", 7)
    with pytest.raises(DecodeError):
        await call.receive()
    assert (carrier.taken_bytes, call.held_bytes) == (7, 0)


async def test_what_it_holds_is_all_that_came_for_it() -> None:
    call = begun()
    call.head_bytes = 10
    call.incoming.feed(b"\0\0\0")
    call.request = b"12345"
    assert call.held_bytes == 18
    call.let_go()
    assert call.held_bytes == 10

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import ROUTE, Doubling, Raw, echo, run, serving

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.errors import BodyError, HeaderError, MessageError, Refusal
from mqframe.core.requests.fields import NoHeader, decode_fields
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame, HeaderForm
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.server import Server


def answers(handler: Callable[[Call], Any], request: Frame | None = None) -> Frame:
    async def scenario() -> Frame:
        async with serving({1: handler}) as (_, raw, _port):
            raw.send(request or Frame(1, 7, ext={"topic": "t"}, body=b"b"))
            return await raw.frame()

    return run(scenario)


def test_an_answer_has_the_number_of_its_request_and_json_headers() -> None:
    request = Frame(1, 77, ext={"a": "1"}, body=b"hello", form=HeaderForm.ROCKETMQ)
    assert answers(echo, request) == Frame(0, 77, 1, None, {"a": "1"}, b"hello", form=HeaderForm.JSON)


def test_fields_come_from_header_and_text_and_parts_of_bodies_are_joined() -> None:
    def handler(call: Call) -> Reply:
        wanted = decode_fields(call.frame.ext, ROUTE)
        return Reply(5, wanted, ext={"x": "y"}, remark="r", body=[b"ab", memoryview(b"cd"), bytearray(b"e")])

    assert answers(handler) == Frame(5, 7, 1, "r", {"topic": "t", "x": "y"}, b"abcde")


@pytest.mark.parametrize(
    ("problem", "code", "remark"),
    [
        (Refusal(16, "not yours"), 16, "not yours"),
        (HeaderError("queueId is missing"), 1, "queueId is missing"),
        (BodyError("no JSON"), 1, "no JSON"),
        (MessageError("empty body"), 13, "empty body"),
        (RuntimeError("a bug"), 1, "RuntimeError: a bug"),
    ],
)
def test_what_a_handler_raises_is_answered(problem: Exception, code: int, remark: str) -> None:
    def now(call: Call) -> Reply:
        raise problem

    async def later(call: Call) -> Reply:
        await asyncio.sleep(0)
        raise problem

    for handler in (now, later):
        answer = answers(handler)
        assert (answer.code, answer.remark) == (code, remark)


def test_missing_and_wrong_fields_are_named_to_the_caller() -> None:
    def handler(call: Call) -> Reply:
        return Reply(header=decode_fields(call.frame.ext, ROUTE))

    answer = answers(handler, Frame(1, 7))
    assert answer.code == 1
    assert "GetRouteinfoByTopic" in (answer.remark or "")
    assert "`topic`" in (answer.remark or "")


def test_unknown_codes_are_answered_as_such() -> None:
    answer = answers(echo, Frame(4711, 9))
    assert (answer.code, answer.opaque, answer.flag) == (3, 9, 1)
    assert "4711" in (answer.remark or "")


async def test_one_way_requests_are_served_without_an_answer() -> None:
    seen: list[bool] = []

    async def later(call: Call) -> Reply:
        seen.append(call.oneway)
        return Reply()

    def now(call: Call) -> Reply:
        seen.append(call.oneway)
        return Reply()

    async with serving({1: now, 2: later, 3: echo}) as (_, raw, _port):
        raw.send(Frame(1, 1, FLAG_ONEWAY), Frame(2, 2, FLAG_ONEWAY), Frame(99, 2, FLAG_ONEWAY), Frame(3, 3))
        assert (await raw.frame()).opaque == 3
        assert seen == [True, True]


class Watch(RpcHook):
    name = "watch"

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int | None]] = []

    def before(self, address: str, request: Frame) -> None:
        self.seen.append(("before", request.code, None))
        if request.code == 2:
            raise Refusal(16, "hook says no")
        if request.code == 3:
            raise ValueError("a faulty hook")

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        self.seen.append(("after", request.code, answer.code if answer else None))


async def test_hooks_see_requests_and_answers_and_may_refuse() -> None:
    watch = Watch()
    async with serving({1: echo, 2: echo, 3: echo}, rpc_hooks=[watch]) as (_, raw, _port):
        raw.send(Frame(1, 1), Frame(2, 2), Frame(3, 3), Frame(1, 4, FLAG_ONEWAY), Frame(99, 5))
        codes = [(await raw.frame()).code for _ in range(4)]
        assert codes == [0, 16, 0, 3]
        assert watch.seen == [
            ("before", 1, None),
            ("after", 1, 0),
            ("before", 2, None),
            ("after", 2, 16),
            ("before", 3, None),
            ("after", 3, 0),
            ("before", 1, None),
            ("after", 1, None),
            ("before", 99, None),
            ("after", 99, 3),
        ]


async def test_hooks_may_exchange_bodies_of_requests_and_of_answers() -> None:
    async with serving({1: echo, 2: later}, rpc_hooks=[Doubling()]) as (_, raw, _port):
        raw.send(Frame(1, 1, body=b"a"), Frame(2, 2, body=b"b"))
        assert {(frame.opaque, frame.body) for frame in [await raw.frame(), await raw.frame()]} == {
            (1, b"aaaa"),
            (2, b"bbbb"),
        }


async def later(call: Call) -> Reply:
    await asyncio.sleep(0)
    return Reply(body=[bytes(call.frame.body)])


async def test_it_listens_on_several_addresses_and_ipv6() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    server = Server({1: echo}, ManualClock())
    first = await server.start("127.0.0.1", 0)
    second = await server.start("[::1]", 0)
    old = await Raw.open(first)
    new = Raw(*await asyncio.open_connection("::1", second))
    for raw in (old, new):
        raw.send(Frame(1, 1))
        await raw.frame()
    assert {peer.address.rpartition(":")[0] for peer in server.peers} == {"127.0.0.1", "[::1]"}
    await server.stop()
    assert await old.closed() == await new.closed() == b""
    await old.close()
    await new.close()


def test_an_empty_answer_has_no_fields() -> None:
    assert Reply().fields() is None
    assert Reply(header=NoHeader()).fields() == {}

"""Answers of handlers in one loop: at once, by return value, by an awaitable, by `call.reply` later."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import ROUTE

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Handler, Reply
from mqframe.core.wire.frame import Frame
from mqframe.net.async_serving import AsyncServing
from mqframe.net.budgets import ConnectionBudgets
from mqframe.net.endpoint import Endpoint
from mqframe.net.peer_group import PeerEvents, PeerGroup
from mqframe.net.settings import NetSettings


class Asker:
    """The peer of the calls. `codes`: what it was answered."""

    address = "10.0.0.1:5"

    def __init__(self, handler: Handler) -> None:
        self.endpoint = Endpoint(NetSettings(), {1: handler}, ())
        limits = ConnectionBudgets(self.endpoint.settings, ManualClock())
        self.group = PeerGroup(ManualClock(), self.endpoint, PeerEvents(), limits)
        self.requests = AsyncServing(self.group)
        self.codes: list[int] = []

    def answer(self, call: Call, reply: Reply) -> None:
        self.requests.answered(call, reply)
        self.codes.append(reply.code)

    def ask(self) -> Call:
        call = Call(Frame(1, body=b"four"), cast("Peer", self), 0.0)
        self.requests.take(call)
        return call


def later(reply: Reply) -> Any:
    async def serve(call: Call) -> Reply:
        await asyncio.sleep(0)
        return reply

    return serve


async def test_an_answer_that_is_there_is_given_at_once() -> None:
    for answer in (Reply(), ROUTE("t")):
        asker = Asker(lambda call, answer=answer: answer)  # type: ignore[misc]
        assert asker.ask().answered
        assert (asker.codes, asker.endpoint.held_bytes) == ([0], 0)


async def test_an_answer_that_comes_later_is_counted_until_then() -> None:
    asker = Asker(later(Reply(7)))
    call = asker.ask()
    assert (asker.codes, asker.endpoint.held_bytes, call.answered) == ([], 4, False)
    for _ in range(3):
        await asyncio.sleep(0)
    assert (asker.codes, asker.endpoint.held_bytes, call.answered) == ([7], 0, True)
    held: list[Call] = []
    asker = Asker(held.append)
    asker.ask()
    assert asker.endpoint.held_bytes == 4
    held[0].reply(Reply(9))
    assert (asker.codes, asker.endpoint.held_bytes) == ([9], 0)


async def test_an_error_is_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def bug(call: Call) -> Reply:
        raise RuntimeError("a bug")

    asker = Asker(bug)
    asker.ask()
    await asyncio.sleep(0)
    assert asker.codes == [ResponseCode.SYSTEM_ERROR]
    assert caplog.text.count("request failed") == 1


async def test_what_answers_itself_is_not_answered_again() -> None:
    ends: list[str] = []

    async def never() -> Reply:
        ends.append("began")
        return Reply(2)

    def serve(call: Call) -> Any:
        call.reply(Reply(1))
        return never()

    asker = Asker(serve)
    asker.ask()
    await asyncio.sleep(0)
    assert (asker.codes, ends) == ([1], [])


async def test_what_is_under_way_ends_with_the_group() -> None:
    asker = Asker(later(Reply()))
    asker.ask()
    await asker.group.stop("the server stops")
    assert asker.codes == []

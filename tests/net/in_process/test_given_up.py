"""What was asked is given up when its answer is there already, or comes in that turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from net.in_process.clients import Client, served

from mqframe.core.requests.serving import Call, Reply
from mqframe.hooks.interfaces import answered_meanwhile


async def given_up(asked: asyncio.Task[Any]) -> Reply | None:
    """How a task that is cancelled ends: with the answer that came meanwhile, or without."""
    with pytest.raises(asyncio.CancelledError) as raised:
        await asked
    return answered_meanwhile(raised.value)


@pytest.mark.parametrize("first", ["answered", "cancelled"])
async def test_an_answer_of_the_turn_in_which_it_is_given_up_is_not_lost(first: str) -> None:
    calls: list[Call] = []
    mapped = bytearray(b"view")
    async with served({1: calls.append}) as place:
        peer = place.requests.connect(Client())
        asked = asyncio.ensure_future(place.ask(peer))
        await place.settle()
        reply = Reply(7, body=memoryview(mapped))
        steps = [lambda: calls[0].reply(reply), asked.cancel]
        for step in steps if first == "answered" else reversed(steps):
            step()
        mapped[:] = b"!!!!"
        found = await given_up(asked)
        assert found is not None
        assert (found.code, found.body) == (7, b"view")


@pytest.mark.parametrize("held", [False, True])
async def test_so_is_one_that_waits_for_what_it_says_to_be_saved(*, held: bool) -> None:
    calls: list[Call] = []

    def handler(call: Call) -> Reply | None:
        calls.append(call)
        return None if held else Reply(7, body=b"x")

    async with served({1: handler}) as place:
        peer = place.requests.connect(Client())
        place.until = asyncio.get_running_loop().create_future()
        asked = asyncio.ensure_future(place.ask(peer))
        await place.settle()
        if held:
            calls[0].reply(Reply(7, body=b"x"))
        assert not asked.done()
        asked.cancel()
        found = await given_up(asked)
        assert found is not None
        assert (found.code, found.body) == (7, b"x")


async def test_what_was_not_answered_is_let_go() -> None:
    calls: list[Call] = []
    told: list[str] = []

    def handler(call: Call) -> None:
        calls.append(call)
        call.on_cancel = lambda: told.append("let go")

    async with served({1: handler}) as place:
        peer = place.requests.connect(Client())
        asked = asyncio.ensure_future(place.ask(peer))
        await place.settle()
        asked.cancel()
        assert await given_up(asked) is None
        assert told == ["let go"]


async def test_a_time_out_is_one_though_there_is_an_answer() -> None:
    async with served({1: lambda call: Reply(7)}) as place:
        peer = place.requests.connect(Client())
        place.until = asyncio.get_running_loop().create_future()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.0):
                await place.ask(peer)

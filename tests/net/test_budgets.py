"""What all connections of a server may take together."""

from __future__ import annotations

import asyncio
import re

from mqframe_testing.manual_clock import ManualClock
from peers import Raw, echo, serving

from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.net.budgets import ConnectionBudgets
from mqframe.net.heap import WORTH_BYTES
from mqframe.net.settings import NetSettings

MIB = 1 << 20


async def until(condition: object, turns: int = 100_000) -> None:
    """Let the loop turn until `condition()` holds."""
    for _ in range(turns):
        if condition():  # type: ignore[operator]
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came")


async def test_a_new_connection_beyond_the_most_takes_the_place_of_the_idlest() -> None:
    clock = ManualClock()
    settings = NetSettings(connections_max=3)
    async with serving({1: echo}, clock, settings=settings) as (server, oldest, port):
        second, busy = await Raw.open(port), await Raw.open(port)
        for raw in (oldest, second, busy):
            raw.send(Frame(1, 1))
            await raw.frame()
        refused = await Raw.open(port)
        assert await refused.closed() == b""  # nobody is idle for long enough
        await clock.aadvance(40)
        for raw in (second, busy):
            raw.send(Frame(1, 2))
            await raw.frame()
        await clock.aadvance(30)
        new = await Raw.open(port)
        new.send(Frame(1, 3))
        assert (await new.frame()).opaque == 3
        assert await oldest.closed() == b""
        second.send(Frame(1, 4))
        assert (await second.frame()).opaque == 4
        assert len(server.peers) == 3
        counters = server.counters()
        assert counters["budget.connections.used"] == counters["budget.connections.max"] == "3"
        assert counters["budget.connections.refused"] == "1"
        assert counters["budget.connections.closedIdle"] == "1"
        for raw in (second, busy, new, refused):
            await raw.close()


def test_refused_connections_are_told_once_a_minute_and_none_is_left_out(caplog) -> None:
    clock = ManualClock()
    budgets = ConnectionBudgets(NetSettings(connections_max=1), clock)
    budgets.arriving = (object(),)
    counts = []
    for _ in range(6):
        caplog.clear()
        for _ in range(3):
            assert budgets.is_full({})
        budgets.tell()
        lines = re.findall(r"connections refused(?: count=(\d+))? most=1", caplog.text)
        counts.append([int(n or 1) for n in lines])
        clock.advance(15)
    assert counts == [[1], [], [], [], [12], []]
    caplog.clear()
    budgets.tell(last=True)
    assert "connections refused count=5 most=1" in caplog.text, "at the stop the rest is told"


class Holder:
    """A connection that holds something. `ended`: why it had to go."""

    unsent_bytes = 0
    last_used = 0.0

    def __init__(self, address: str) -> None:
        self.address = address
        self.ended: list[str] = []

    def shed(self, reason: str) -> None:
        self.ended.append(reason)


def test_connections_that_take_too_much_are_told_once_a_minute(caplog) -> None:
    clock = ManualClock()
    budgets = ConnectionBudgets(NetSettings(half_frames_bytes_max=8 * MIB), clock)
    strangers = [Holder(f"10.0.0.{number}:1") for number in range(32)]
    for each in strangers:
        budgets.half_frame(each, MIB)
    assert [bool(each.ended) for each in strangers] == [True] * 24 + [False] * 8
    assert "net.half_frames_bytes_max" in strangers[0].ended[0]
    assert re.findall(r"connections closed.*peer='(\S+)'", caplog.text) == [strangers[0].address]
    clock.advance(60)
    budgets.tell()
    assert re.findall(r"connections closed count=(\d+)", caplog.text) == ["23"]


def test_that_much_was_freed_is_known_once() -> None:
    budgets = ConnectionBudgets(NetSettings(), ManualClock())
    one, other = Holder("one"), Holder("other")
    budgets.half_frame(one, WORTH_BYTES // 2)
    budgets.half_frame(other, WORTH_BYTES // 2)
    assert not budgets.freed_much()
    budgets.half_frame(one, 0)
    assert not budgets.freed_much()
    budgets.half_frame(other, 0)
    assert budgets.freed_much()
    assert not budgets.freed_much()
    budgets.half_frame(one, WORTH_BYTES // 2)
    budgets.half_frame(one, 0)
    assert not budgets.freed_much()


async def test_half_frames_of_all_connections_have_one_limit_and_the_oldest_goes() -> None:
    settings = NetSettings(half_frames_bytes_max=2 * MIB)
    async with serving({1: echo}, settings=settings) as (server, whole, port):
        half = encode_frame(Frame(1, 5, body=b"x" * (4 * MIB)))[:MIB]
        first, second, third = [await Raw.open(port) for _ in range(3)]
        for raw in (first, second, third):
            raw.send(half[: 900 * 1024])
            await raw.writer.drain()
            used = int(server.counters()["budget.halfFrames.used"])
            await until(lambda at=used: server.counters()["budget.halfFrames.used"] != str(at))
        assert await first.closed() == b""
        whole.send(Frame(1, 1, body=b"x"))
        assert (await whole.frame()).body == b"x"
        assert server.counters()["budget.halfFrames.refused"] == "1"
        await until(lambda: int(server.counters()["budget.halfFrames.used"]) >= 1800 * 1024)
        await second.close()
        await until(lambda: int(server.counters()["budget.halfFrames.used"]) <= 900 * 1024)
        await third.close()
        await until(lambda: server.counters()["budget.halfFrames.used"] == "0")
        await first.close()


async def test_unread_answers_of_all_connections_have_one_limit_and_the_oldest_goes() -> None:
    def large(call: Call) -> Reply:
        return Reply(body=b"x" * (4 * MIB))

    settings = NetSettings(answers_bytes_max=30 * MIB, unsent_bytes_max=16 * MIB)
    async with serving({1: large, 2: echo}, settings=settings) as (server, whole, port):
        lazy = []
        for _ in range(5):
            raw = await Raw.open(port)
            raw.send(*(Frame(1, number) for number in range(4)))
            lazy.append(raw)
            await until(
                lambda: len([p for p in server.peers if p.unsent_bytes > 8 * MIB]) >= min(len(lazy), 2)
            )
        await until(lambda: int(server.counters()["budget.answers.refused"]) >= 2)
        assert int(server.counters()["budget.answers.used"]) <= 30 * MIB
        whole.send(Frame(2, 1, body=b"x"))
        assert (await whole.frame()).body == b"x"
        assert len(await lazy[0].closed()) < 16 * MIB
        for raw in lazy:
            raw.writer.transport.abort()


async def test_bodies_of_requests_that_wait_have_one_limit_over_all_connections() -> None:
    held: list[Call] = []

    def hold(call: Call) -> None:
        held.append(call)

    settings = NetSettings(held_bytes_max=MIB)
    async with serving({1: hold, 2: echo}, settings=settings) as (server, first, port):
        second = await Raw.open(port)
        first.send(Frame(1, 1, body=b"x" * 600_000))
        await until(lambda: held)
        second.send(Frame(1, 2, body=b"x" * 600_000))
        answer = await second.frame()
        assert answer.code == 2
        assert answer.remark == (
            "600000 bytes of requests wait for their answers, of all connections (net.held_bytes_max); "
            "send again later"
        )
        second.send(Frame(2, 3))
        assert (await second.frame()).code == 0
        assert server.counters()["budget.heldBytes.used"] == "600000"
        held[0].reply(Reply())
        assert (await first.frame()).opaque == 1
        assert server.counters()["budget.heldBytes.used"] == "0"
        second.send(Frame(1, 4, body=b"x" * 600_000))
        await until(lambda: len(held) == 2)
        await second.close()


async def test_headers_and_bodies_of_text_have_limits() -> None:
    settings = NetSettings(header_bytes_max=64 * 1024)
    async with serving({1: echo}, settings=settings) as (_server, raw, _port):
        raw.send(Frame(1, 1, ext={"a": "x" * 60_000}))
        assert (await raw.frame()).code == 0
        raw.send(Frame(1, 2, ext={"a": "x" * 70_000}))
        assert await raw.closed() == b""


async def test_a_closed_connection_with_held_requests_gives_their_bytes_back() -> None:
    held: list[Call] = []
    async with serving({1: lambda call: held.append(call)}) as (server, _raw, port):
        other = await Raw.open(port)
        other.send(Frame(1, 1, body=b"x" * 1000))
        await until(lambda: held)
        await other.close()
        await until(lambda: len(server.peers) == 1)
        held[0].reply(Reply())
        assert server.counters()["budget.heldBytes.used"] == "0"

"""Reads that wait: until they may be served, until their time is over, until nobody wants them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqframe_quotas.held_reads import HeldRead, HeldReads
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import Refusal
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame


class OneClient:
    """A connection that keeps what it is answered."""

    address = "10.0.0.1:1234"

    def __init__(self) -> None:
        self.answers: list[tuple[int, str | None]] = []

    def answer(self, call: Call, reply: Reply) -> None:
        self.answers.append((reply.code, reply.remark))


class Waiting:
    """One read, which is held; `waits`: what it is told when it asks how long it has to wait still."""

    def __init__(self, waits: list[float], serve: Callable[[], Any] | None = None, most: float = 2.0) -> None:
        self.clock, self.peer = ManualClock(), OneClient()
        self.call = Call(Frame(11), self.peer, 0.0)  # type: ignore[arg-type]
        self.reads = HeldReads(self.clock)
        self.given_up = 0
        serve = serve or (lambda: Reply(0, remark="served"))
        self.reads.hold(
            HeldRead(
                self.call, waits[0], most, iter(waits[1:]).__next__, serve,
                lambda: Reply(20, remark="again"), self._give_up,
            )
        )  # fmt: skip

    def _give_up(self) -> None:
        self.given_up += 1

    async def pass_time(self, seconds: float) -> list[tuple[int, str | None]]:
        await self.clock.aadvance(seconds)
        return self.peer.answers


async def test_it_is_served_when_it_may_be() -> None:
    one = Waiting([0.5, 0.3, 0.0])
    assert one.call.waited
    assert await one.pass_time(0.7) == []
    assert len(one.reads) == 1
    assert await one.pass_time(0.2) == [(0, "served")]
    assert (len(one.reads), one.given_up, one.clock.timers) == (0, 0, 0)


async def test_its_time_ends_before_it_may_be_served() -> None:
    one = Waiting([1.5, 1.0, 0.5])
    assert await one.pass_time(1.9) == []
    assert await one.pass_time(0.2) == [(20, "again")]
    assert len(one.reads) == 0


async def test_a_read_that_is_served_later_still_is_answered_once() -> None:
    async def read() -> Reply:
        return Reply(0, remark="from a thread")

    assert await Waiting([0.5, 0.0], read).pass_time(0.5) == [(0, "from a thread")]
    assert await Waiting([0.5, 0.0], lambda: None).pass_time(5.0) == []


async def test_a_refusal_is_its_answer() -> None:
    def refuse() -> Reply:
        raise Refusal(17, "no such topic")

    assert await Waiting([0.5, 0.0], refuse).pass_time(0.5) == [(17, "no such topic")]


async def test_nobody_wants_it_any_more() -> None:
    closed, cancelled = Waiting([0.5, 0.0]), Waiting([0.5, 0.0])
    closed.reads.forget(OneClient())  # type: ignore[arg-type]
    await closed.pass_time(0.0)
    assert len(closed.reads) == 1
    closed.reads.forget(closed.peer)  # type: ignore[arg-type]
    assert cancelled.call.on_cancel is not None
    cancelled.call.on_cancel()
    for one in (closed, cancelled):
        assert await one.pass_time(5.0) == []
        assert (len(one.reads), one.given_up, one.clock.timers) == (0, 1, 0)


async def test_all_are_answered_where_the_ports_close() -> None:
    one = Waiting([0.5, 0.0])
    await one.pass_time(0.1)
    one.reads.answer_all()
    assert one.peer.answers == [(20, "again")]
    assert await one.pass_time(5.0) == [(20, "again")]
    another = Waiting([0.5, 0.0])
    another.reads.cancel()
    assert await another.pass_time(5.0) == []


async def test_whoever_waits_looks_again_when_quotas_change() -> None:
    one = Waiting([1.5, 0.0])
    await one.pass_time(0.1)
    one.reads.look()
    assert await one.pass_time(0.0) == [(0, "served")]

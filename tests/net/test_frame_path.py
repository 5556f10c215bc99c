"""Requests that are served before their frames are taken apart, and those behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import Raw, echo, serving

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.errors import FrameError
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.async_peer import TURN_SECONDS, AsyncPeer
from mqframe.net.budgets import ConnectionBudgets
from mqframe.net.endpoint import Endpoint
from mqframe.net.frame_path import AlikeRequests, FramesServed, HoldingPeer
from mqframe.net.peer_group import PeerEvents, PeerGroup
from mqframe.net.settings import NetSettings

SHORT, LONG = 7, 8


class Short:
    """Serves frames of the code `SHORT`, up to the first of another one; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.peers: set[str] = set()
        self.refuses = False

    def may_take(self, data: bytes, start: int) -> bool:
        return data.startswith(b'{"code":%d,' % SHORT, start + 8)

    def take(self, data: bytes, start: int, peer: Peer, received: float) -> FramesServed | None:
        data = data[start:]
        self.asked.append(data)
        self.peers.add(peer.address)
        decoder = FrameDecoder()
        decoder.receive(data)
        size, answers, count = 0, b"", 0
        while (frame := whole(decoder)) is not None and frame.code == SHORT and not self.refuses:
            size = len(data) - decoder.unread_bytes
            answers += (
                encode_frame(Frame(0, frame.opaque, 1, "short")) if not frame.flag & FLAG_ONEWAY else b""
            )
            count += 1
        return FramesServed(size, answers, [AlikeRequests(SHORT, 0, count)]) if count else None


class Late(Short):
    """As `Short`, but what it answers has to wait for `answer`."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[bytes, Callable[[bytes, int], None]]] = []

    def take(self, data: bytes, start: int, peer: Peer, received: float) -> FramesServed | None:
        found = super().take(data, start, peer, received)
        if found is None:
            return None
        answers = found.answers
        assert isinstance(answers, bytes)
        return found._replace(answers=lambda take: self._waiting.append((answers, take)))

    def answer(self, code: int = 0) -> None:
        for answers, take in self._waiting:
            take(answers, code)
        self._waiting.clear()


class Holding(Short):
    """As `Short`, but it holds all that there is room for until `answer`."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Call] = []

    def take(self, data: bytes, start: int, peer: HoldingPeer, received: float) -> FramesServed | None:  # type: ignore[override]
        data = data[start:]
        self.asked.append(data)
        decoder = FrameDecoder()
        decoder.receive(data)
        size = 0
        while peer.is_free(0) and (frame := whole(decoder)) is not None:
            call = Call(frame, peer, received)
            call.waited = True
            peer.hold(call)
            self.held.append(call)
            size = len(data) - decoder.unread_bytes
        return FramesServed(size, b"", [], unhurried=True) if size else None

    def answer(self) -> None:
        for call in self.held:
            assert isinstance(call.peer, AsyncPeer)
            call.peer.answer_whole(call, encode_frame(Frame(0, call.frame.opaque, 1, "held")))
        self.held.clear()


def whole(decoder: FrameDecoder) -> Frame | None:
    try:
        return decoder.next_frame()
    except FrameError:
        return None


def long(call: Call) -> Reply:
    return Reply(remark="long")


async def remarks(raw: Raw, count: int) -> list[tuple[int, str | None]]:
    frames = [await raw.frame() for _ in range(count)]
    return [(frame.opaque, frame.remark) for frame in frames]


async def test_what_is_taken_is_answered_before_the_rest_of_the_read_in_one_turn() -> None:
    path, ends = Short(), []
    async with serving({SHORT: long, LONG: long}, turn_end=lambda: ends.append(1)) as (server, raw, _):
        server.shorten(path)
        raw.send(
            Frame(SHORT, 1), Frame(SHORT, 2, FLAG_ONEWAY), Frame(SHORT, 3), Frame(LONG, 4), Frame(SHORT, 5)
        )
        assert await remarks(raw, 4) == [(1, "short"), (3, "short"), (4, "long"), (5, "short")]
        assert len(ends) == 1
        assert path.peers == {peer.address for peer in server.peers}


async def test_behind_what_it_leaves_it_is_offered_what_it_may_serve() -> None:
    """As often as it serves something, and no more once it did not."""
    path = Short()
    frames = [
        Frame(LONG, 1),
        Frame(LONG, 2),
        Frame(SHORT, 3),
        Frame(LONG, 4),
        Frame(SHORT, 5),
        Frame(SHORT, 6),
    ]
    rest = [encode_frame(each) for each in frames]
    async with serving({SHORT: long, LONG: long}) as (server, raw, _):
        server.shorten(path)
        raw.send(*frames)
        assert await remarks(raw, 6) == [
            (1, "long"), (2, "long"), (3, "short"), (4, "long"), (5, "short"), (6, "short")
        ]  # fmt: skip
        assert path.asked == [b"".join(rest), b"".join(rest[2:]), b"".join(rest[4:])]
        path.asked.clear()
        path.refuses = True
        raw.send(Frame(LONG, 7), Frame(SHORT, 8), Frame(LONG, 9), Frame(SHORT, 10))
        assert await remarks(raw, 4) == [(7, "long"), (8, "long"), (9, "long"), (10, "long")]
        assert len(path.asked) == 2


async def test_what_waited_for_the_turns_of_others_is_left_to_handlers() -> None:
    """They know for how long it waited."""
    clock, processor, path = ManualClock(), [0.0], Short()
    served: list[tuple[str, int, float]] = []

    def slow(call: Call) -> Reply:
        served.append((call.peer.address, call.frame.opaque, call.queued))
        clock.advance(1.0)
        processor[0] += 1.0
        return Reply()

    limits = ConnectionBudgets(NetSettings(), clock)
    group = PeerGroup(clock, Endpoint(NetSettings(), {SHORT: slow, LONG: slow}, ()), PeerEvents(), limits)
    group.processor_seconds, group.frame_path = (lambda: processor[0]), path
    peers = [AsyncPeer(group, name) for name in "ab"]
    asyncio.get_running_loop().call_soon(peers[1].data_received, encode_frame(Frame(LONG, 9)))
    frames = [Frame(LONG, 1), Frame(LONG, 2), Frame(SHORT, 3)]
    peers[0].data_received(b"".join(map(encode_frame, frames)))
    while len(served) < 4:
        await asyncio.sleep(0)
    assert served == [("a", 1, 0), ("b", 9, 0), ("a", 2, TURN_SECONDS), ("a", 3, TURN_SECONDS)]
    assert len(path.asked) == 2, "once with each read"


async def test_nothing_is_asked_for_what_it_leaves_and_it_is_asked_again_with_the_next_read() -> None:
    path = Short()
    async with serving({SHORT: long, LONG: long}) as (server, raw, _):
        server.shorten(path)
        raw.send(Frame(LONG, 1))
        assert await remarks(raw, 1) == [(1, "long")]
        raw.send(Frame(SHORT, 2))
        assert await remarks(raw, 1) == [(2, "short")]
        assert path.asked == [encode_frame(Frame(LONG, 1)), encode_frame(Frame(SHORT, 2))]


class Turns(list[int]):
    """Stands for a `BusyPoll`: how many requests came with each read after which more may be near."""

    turn = list[int].append


async def test_the_next_request_is_not_looked_for_where_it_is_not_near() -> None:
    class Unhurried(Short):
        def take(self, data: bytes, start: int, peer: Peer, received: float) -> FramesServed | None:
            found = super().take(data, start, peer, received)
            return found and found._replace(unhurried=True)

    for path, expected in ((Short(), [1, 2, 1]), (Unhurried(), [1])):
        async with serving({SHORT: long, LONG: long}) as (server, raw, _):
            server._group.busy_poll = turns = Turns()
            server.shorten(path)
            raw.send(Frame(SHORT, 1))
            assert await remarks(raw, 1) == [(1, "short")]
            raw.send(Frame(SHORT, 2), Frame(LONG, 3))
            assert await remarks(raw, 2) == [(2, "short"), (3, "long")]
            raw.send(Frame(SHORT, 4))
            assert await remarks(raw, 1) == [(4, "short")]
            assert turns == expected


@pytest.mark.parametrize("cut", [1, 3, 4, 7, 8, 30])
async def test_a_frame_in_two_reads_is_put_together_for_it(cut: int) -> None:
    path, whole = Short(), encode_frame(Frame(SHORT, 2, ext={"a": "b"}))
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(path)
        raw.send(Frame(SHORT, 1), whole[:cut])
        assert await remarks(raw, 1) == [(1, "short")]
        raw.send(whole[cut:], Frame(SHORT, 3))
        assert await remarks(raw, 2) == [(2, "short"), (3, "short")]
        assert path.asked[-1] == whole + encode_frame(Frame(SHORT, 3))


async def test_a_long_frame_under_way_is_not_put_together_again_and_again() -> None:
    path = Short()
    whole = encode_frame(Frame(SHORT, 1, body=b"x" * 50_000))
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(path)
        for at in range(0, len(whole), 1000):
            raw.send(whole[at : at + 1000])
            await raw.writer.drain()
            await asyncio.sleep(0)
        assert await remarks(raw, 1) == [(1, "short")]
        assert path.asked[-1] == whole
        assert sum(map(len, path.asked)) <= 2 * len(whole)


@pytest.mark.parametrize("seen", ["guard", "hook", "other handlers"])
async def test_it_is_left_out_where_others_have_to_see_requests(seen: str) -> None:
    path = Short()
    hooks = [RpcHook()] if seen == "hook" else []
    async with serving({SHORT: long}, rpc_hooks=hooks) as (server, raw, _):
        if seen == "guard":
            server.admit(lambda call: None)
        server.shorten(path)
        if seen == "other handlers":
            server.replace({SHORT: echo})
        raw.send(Frame(SHORT, 1, remark=None))
        assert (await raw.frame()).opaque == 1
        assert not path.asked


@pytest.mark.parametrize("does", [False, True])
async def test_it_is_left_out_once_a_guard_comes_but_where_it_does_as_that(does: bool) -> None:
    path, seen = Short(), []
    async with serving({SHORT: long, LONG: long}) as (server, raw, _):
        server.shorten(path)
        server.admit(lambda call: seen.append(call.frame.code), lambda asked: does and asked is path)
        raw.send(Frame(SHORT, 1), Frame(LONG, 2))
        assert await remarks(raw, 2) == [(1, "short" if does else "long"), (2, "long")]
        assert (len(path.asked), seen) == ((1, [LONG]) if does else (0, [SHORT, LONG]))


async def test_it_is_left_out_where_it_fails_to_do_as_the_guard() -> None:
    def failing(path: object) -> bool:
        raise RuntimeError("by design")

    path = Short()
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(path)
        with pytest.raises(RuntimeError, match="by design"):
            server.admit(lambda call: None, failing)
        raw.send(Frame(SHORT, 1))
        assert await remarks(raw, 1) == [(1, "long")]
        assert not path.asked


async def test_it_is_left_out_once_a_guard_comes() -> None:
    path = Short()
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(path)
        server.admit(lambda call: None)
        raw.send(Frame(SHORT, 1))
        assert await remarks(raw, 1) == [(1, "long")]
        assert not path.asked


async def test_nothing_goes_it_while_too_much_waits() -> None:
    path, held = Short(), []
    settings = NetSettings(in_flight_requests_max=1)
    async with serving({SHORT: long, LONG: held.append}, settings=settings) as (server, raw, _):
        server.shorten(path)
        raw.send(Frame(LONG, 1))
        raw.send(Frame(SHORT, 2))
        refused = await raw.frame()
        assert (refused.opaque, refused.code) == (2, 2)
        held[0].reply(Reply(remark="late"))
        assert await remarks(raw, 1) == [(1, "late")]
        raw.send(Frame(SHORT, 3))
        assert await remarks(raw, 1) == [(3, "short")]


async def test_answers_that_wait_leave_others_alone() -> None:
    path = Late()
    async with serving({SHORT: long, LONG: long}) as (server, raw, _):
        server.shorten(path)
        latencies = server.measure()
        raw.send(Frame(SHORT, 1), Frame(SHORT, 2), Frame(LONG, 3))
        assert await remarks(raw, 1) == [(3, "long")]
        path.answer(11)
        assert await remarks(raw, 2) == [(1, "short"), (2, "short")]
        counts = {
            (labels[1], labels[2]): sum(value.counts)  # type: ignore[union-attr]
            for labels, value in latencies.family().series
        }
        assert counts == {("7", "slave_not_available"): 2, ("8", "success"): 1}


async def test_requests_whose_answers_wait_count_against_the_limit() -> None:
    path = Late()
    settings = NetSettings(in_flight_requests_max=2)
    async with serving({SHORT: long}, settings=settings) as (server, raw, _):
        server.shorten(path)
        raw.send(Frame(SHORT, 1), Frame(SHORT, 2))
        while not path.asked:
            await asyncio.sleep(0)
        raw.send(Frame(SHORT, 3))
        refused = await raw.frame()
        assert (refused.opaque, refused.code) == (3, 2)
        path.answer()
        assert await remarks(raw, 2) == [(1, "short"), (2, "short")]
        raw.send(Frame(SHORT, 4))
        while path.asked[-1] != encode_frame(Frame(SHORT, 4)):
            await asyncio.sleep(0)
        path.answer()
        assert await remarks(raw, 1) == [(4, "short")]


async def test_requests_that_it_holds_count_against_the_limit_until_it_answers_them() -> None:
    path = Holding()
    settings = NetSettings(in_flight_requests_max=2)
    async with serving({SHORT: long}, settings=settings) as (server, raw, _):
        server.shorten(path)
        latencies = server.measure()
        raw.send(Frame(SHORT, 1), Frame(SHORT, 2), Frame(SHORT, 3))
        refused = await raw.frame()
        assert (refused.opaque, refused.code) == (3, 2), "it had no room for this one"
        assert [call.frame.opaque for call in path.held] == [1, 2]
        path.answer()
        assert await remarks(raw, 2) == [(1, "held"), (2, "held")]
        raw.send(Frame(SHORT, 4))
        while not path.held:
            await asyncio.sleep(0)
        [call] = path.held
        path.answer()
        assert await remarks(raw, 1) == [(4, "held")]
        with pytest.raises(RuntimeError, match="answered already"):
            call.reply(Reply())
        counts = {labels[1:4]: sum(value.counts) for labels, value in latencies.family().series}  # type: ignore[union-attr]
        assert counts == {("7", "success", "true"): 3, ("7", "system_busy", "false"): 1}


async def test_what_it_held_may_be_answered_by_others() -> None:
    path = Holding()
    async with serving({SHORT: long}, settings=NetSettings(in_flight_requests_max=1)) as (server, raw, _):
        server.shorten(path)
        for opaque in (1, 2):
            raw.send(Frame(SHORT, opaque))
            while not path.held:
                await asyncio.sleep(0)
            path.held.pop().reply(Reply(remark="other"))
            assert await remarks(raw, 1) == [(opaque, "other")]


async def test_nothing_is_sent_for_what_it_held_once_the_connection_closed() -> None:
    path = Holding()
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(path)
        raw.send(Frame(SHORT, 1))
        while not path.held:
            await asyncio.sleep(0)
        [peer] = server.peers
        peer.close("the test closes it")
        path.answer()
        assert await raw.closed() == b""


async def test_answers_that_come_after_the_connection_closed_are_dropped() -> None:
    path = Late()
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(path)
        raw.send(Frame(SHORT, 1))
        while not path.asked:
            await asyncio.sleep(0)
        [peer] = server.peers
        peer.close("the test closes it")
        assert await raw.closed() == b""
        path.answer()


async def test_its_requests_are_measured_with_the_others() -> None:
    async with serving({SHORT: long, LONG: long}) as (server, raw, _):
        server.shorten(Short())
        latencies = server.measure()
        raw.send(Frame(SHORT, 1), Frame(SHORT, 2), Frame(LONG, 3))
        await remarks(raw, 3)
        counts = {labels[1]: sum(value.counts) for labels, value in latencies.family().series}  # type: ignore[union-attr]
        assert counts == {"7": 2, "8": 1}


async def test_a_malformed_frame_behind_ends_the_connection_after_the_answers() -> None:
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(Short())
        raw.send(Frame(SHORT, 1), b"GET / HTTP/1.1\r\n\r\n")
        assert await remarks(raw, 1) == [(1, "short")]
        assert await raw.closed() == b""


async def test_what_came_before_the_end_is_served_by_it() -> None:
    path = Short()
    async with serving({SHORT: long}) as (server, raw, _):
        server.shorten(path)
        raw.send(Frame(SHORT, 1))
        raw.writer.write_eof()
        assert await remarks(raw, 1) == [(1, "short")]
        assert await raw.closed() == b""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock
from peers import CLUSTER, LIST, ROUTE, Doubling, Raw, too_long

from mqframe.core.codes import FLAG_RESPONSE
from mqframe.core.errors import (
    CallTimeout,
    ClosedError,
    ConnectError,
    ConnectionLost,
    HeaderError,
    TooMuchInFlight,
)
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock
from mqframe.net.server import Server
from mqframe.net.settings import NetSettings


def echo(call: Call) -> Reply:
    return Reply(0, ext=call.frame.ext, body=bytes(call.frame.body))


class Slow:
    """Serves a request without ever answering."""

    @serves(CLUSTER)
    def wait(self, fields: Any, call: Call) -> None:
        return None


class Pair:
    """A server and a client of it, each with a manual clock."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.held: list[Call] = []
        self.lost: list[str] = []
        handlers = {ROUTE.CODE: echo, LIST.CODE: lambda call: self.held.append(call)}
        self.server_clock = ManualClock()
        self.server = Server(handlers, self.server_clock)
        self.client = Client(self.clock, on_close=self.lost.append, **options)
        self.address = ""

    async def __aenter__(self) -> Pair:
        self.address = f"127.0.0.1:{await self.server.start('127.0.0.1', 0)}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        await self.server.stop()

    async def until_held(self, count: int) -> None:
        while len(self.held) < count:
            await asyncio.sleep(0)


async def test_calls_share_one_connection_and_find_their_answers() -> None:
    async with Pair() as pair:
        calls = [pair.client.invoke(pair.address, ROUTE(f"t{n}"), b"%d" % n) for n in range(200)]
        found = await asyncio.gather(*calls)
        assert [(f.ext, bytes(f.body)) for f in found] == [
            ({"topic": f"t{n}"}, b"%d" % n) for n in range(200)
        ]
        assert len(pair.server.peers) == 1
        assert pair.client.addresses == [pair.address]
        assert pair.client.in_flight_requests == 0


async def test_answers_may_come_in_another_order() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        first = pair.client.invoke(pair.address, LIST("1"))
        second = pair.client.invoke(pair.address, LIST("2"))
        await pair.until_held(2)
        pair.held[1].reply(Reply(7))
        assert (await second).code == 7
        assert not asyncio.ensure_future(first).done()
        pair.held[0].reply(Reply(8))
        assert (await first).code == 8


async def test_an_unknown_code_is_an_answer_not_an_error() -> None:
    async with Pair() as pair:
        assert (await pair.client.invoke(pair.address, CLUSTER())).code == 3


async def test_calls_time_out_in_the_order_of_their_deadlines() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        order: list[tuple[float, float]] = []

        async def call(timeout: float) -> None:
            with pytest.raises(CallTimeout, match=rf"GetKvlistByNamespace \(219\) within {timeout:g} s"):
                await pair.client.invoke(pair.address, LIST("x"), timeout=timeout)
            order.append((timeout, pair.clock.monotonic()))

        began = pair.clock.monotonic()
        tasks = [asyncio.ensure_future(call(t)) for t in (3.0, 1.0, 2.0, 0.5)]
        await pair.until_held(4)
        await pair.client.invoke(pair.address, ROUTE("t"))  # the other side is there
        await pair.clock.aadvance(3)
        await asyncio.gather(*tasks)
        assert order == [(t, began + t) for t in (0.5, 1.0, 2.0, 3.0)]
        assert pair.client.in_flight_requests == 0
        pair.held[0].reply(Reply())  # too late: ignored
        assert (await pair.client.invoke(pair.address, ROUTE("t"))).code == 0


async def test_an_answered_call_does_not_time_out_and_timers_do_not_pile_up() -> None:
    async with Pair() as pair:
        for _ in range(50):
            await pair.client.invoke(pair.address, ROUTE("t"), timeout=1)
        assert pair.clock.timers <= 2  # the search for idle connections, and one for all deadlines
        await pair.clock.aadvance(5)
        assert (await pair.client.invoke(pair.address, ROUTE("t"))).code == 0


async def test_a_lost_connection_fails_its_calls_and_the_next_call_opens_a_new_one() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        waiting = pair.client.invoke(pair.address, LIST("x"))
        await pair.until_held(1)
        [peer] = pair.server.peers
        peer.close("test")
        with pytest.raises(ConnectionLost, match="closed by the other side"):
            await waiting
        assert pair.lost == [pair.address]
        assert pair.client.addresses == []
        assert (await pair.client.invoke(pair.address, ROUTE("again"))).ext == {"topic": "again"}


async def test_an_address_where_nobody_listens_is_an_error_before_anything_was_sent() -> None:
    server = Server({}, ManualClock())
    port = await server.start("127.0.0.1", 0)
    await server.stop()
    client = Client(ManualClock())
    calls = [client.invoke(f"127.0.0.1:{port}", ROUTE("t")) for _ in range(3)]
    for problem in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(problem, ConnectError)
    for address in ("nonsense", "host:port", "127.0.0.1:99999"):
        with pytest.raises(ConnectError):
            await client.invoke(address, ROUTE("t"))
    await client.close()


async def test_one_way_requests_arrive() -> None:
    async with Pair() as pair:
        await pair.client.oneway(pair.address, LIST("quiet"), b"body")
        await pair.until_held(1)
        assert (pair.held[0].oneway, bytes(pair.held[0].frame.body)) == (True, b"body")
        pair.held[0].reply(Reply())
        assert (await pair.client.invoke(pair.address, ROUTE("t"))).code == 0


async def test_requests_and_bytes_in_flight_are_limited() -> None:
    settings = NetSettings(in_flight_requests_max=2, in_flight_bytes_max=1024)
    async with Pair(settings=settings) as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        first = pair.client.invoke(pair.address, LIST("x"), b"x" * 1000)
        with pytest.raises(TooMuchInFlight, match="1000 bytes"):
            pair.client.invoke(pair.address, LIST("x"), b"x" * 100)
        pair.client.invoke(pair.address, LIST("x"))
        with pytest.raises(TooMuchInFlight, match="2 requests"):
            pair.client.invoke(pair.address, LIST("x"))
        await pair.until_held(2)
        pair.held[0].reply(Reply())
        await first
        pair.held[1].reply(Reply())
        # One body above the limit may go alone.
        assert (await pair.client.invoke(pair.address, ROUTE("t"), b"x" * 5000)).code == 0


async def test_the_other_side_may_ask_over_the_same_connection() -> None:
    handlers = {
        LIST.CODE: lambda call: Reply(
            0, body=b"for " + decode_fields(call.frame.ext, LIST).namespace.encode()
        )
    }
    async with Pair(handlers=handlers) as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        [peer] = pair.server.peers
        assert bytes((await peer.invoke(LIST("broker"))).body) == b"for broker"
        assert (await peer.invoke(CLUSTER())).code == 3


async def test_a_cancelled_call_leaves_the_connection_in_order() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        call = asyncio.ensure_future(pair.client.invoke(pair.address, LIST("x")))
        await pair.until_held(1)
        call.cancel()
        pair.held[0].reply(Reply())
        assert (await pair.client.invoke(pair.address, ROUTE("t"))).code == 0
        assert pair.client.in_flight_requests == 0


async def test_a_cancelled_opener_does_not_end_the_attempt_of_the_others() -> None:
    async with Pair() as pair:
        first = asyncio.ensure_future(pair.client.invoke(pair.address, ROUTE("1")))
        second = asyncio.ensure_future(pair.client.invoke(pair.address, ROUTE("2")))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).ext == {"topic": "2"}
        assert len(pair.server.peers) == 1


async def test_a_connection_over_which_nothing_came_since_a_call_is_closed_with_its_time() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        pull = asyncio.ensure_future(pair.client.invoke(pair.address, LIST("pull"), timeout=30))
        await pair.clock.aadvance(5)
        send = asyncio.ensure_future(pair.client.invoke(pair.address, LIST("send"), timeout=3))
        await pair.until_held(2)
        await pair.clock.aadvance(2.9)
        assert not send.done()
        await pair.clock.aadvance(0.1)
        with pytest.raises(CallTimeout):
            await send
        with pytest.raises(ConnectionLost, match="it said nothing for 3 s") as lost:
            await pull
        assert lost.value.maybe_stored
        assert (pair.lost, pair.client.addresses) == ([pair.address], [])
        assert pair.client.in_flight_requests == 0
        assert (await pair.client.invoke(pair.address, ROUTE("t"))).code == 0
        assert pair.client.addresses == [pair.address]


async def test_a_connection_stays_over_which_anything_came_since_the_call() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        late = asyncio.ensure_future(pair.client.invoke(pair.address, LIST("x"), timeout=3))
        await pair.until_held(1)
        [peer] = pair.server.peers
        peer.oneway(LIST("notice"))
        await pair.clock.aadvance(3)
        with pytest.raises(CallTimeout):
            await late
        assert (pair.lost, pair.client.addresses) == ([], [pair.address])


async def test_a_server_that_said_a_wrong_length_once_is_connected_to_anew() -> None:
    answered = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        raw = Raw(reader, writer)
        with contextlib.suppress(AssertionError):  # the other side closes
            while True:
                request = await raw.frame()
                answer = Frame(0, request.opaque, FLAG_RESPONSE)
                raw.send(too_long(answer) if answered == 1 else answer)
                answered += 1
        await raw.close()

    clock, lost = ManualClock(), []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = Client(clock, on_close=lost.append)
    assert (await client.invoke(address, ROUTE("t"))).code == 0
    pull = asyncio.ensure_future(client.invoke(address, LIST("pull"), timeout=30))
    send = asyncio.ensure_future(client.invoke(address, LIST("send"), timeout=3))
    while answered < 3:
        await asyncio.sleep(0)
    for _ in range(10):
        await asyncio.sleep(0)
    await clock.aadvance(3)
    with pytest.raises(CallTimeout):
        await send
    with pytest.raises(ConnectionLost, match="bytes into a frame it said nothing for 3 s"):
        await pull
    assert lost == [address]
    assert (await client.invoke(address, ROUTE("t"))).code == 0
    await client.close()
    server.close()


async def test_short_calls_close_a_connection_once_it_was_silent_for_a_second_in_all() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        for lost in ([], [], [pair.address]):
            late = asyncio.ensure_future(pair.client.invoke(pair.address, LIST("x"), timeout=0.4))
            await pair.clock.aadvance(0.4)
            with pytest.raises(CallTimeout):
                await late
            assert pair.lost == lost


async def test_a_server_keeps_a_client_that_takes_its_time() -> None:
    async with Pair() as pair:
        pair.client.serve(Slow())
        await pair.client.invoke(pair.address, ROUTE("t"))
        [peer] = pair.server.peers
        asked = asyncio.ensure_future(peer.invoke(CLUSTER(), timeout=3))
        await pair.server_clock.aadvance(3)
        with pytest.raises(CallTimeout):
            await asked
        assert (await pair.client.invoke(pair.address, ROUTE("t"))).code == 0
        assert pair.lost == []


async def test_opened_connections_are_told_of() -> None:
    async with Pair() as pair:
        opened: list[str] = []
        pair.client.on_open = opened.append
        await asyncio.gather(*(pair.client.invoke(pair.address, ROUTE("t")) for _ in range(3)))
        assert opened == [pair.address]
        [peer] = pair.server.peers
        peer.close("enough")
        while pair.client.addresses:
            await asyncio.sleep(0)
        assert opened == [pair.address]
        await pair.client.invoke(pair.address, ROUTE("t"))
        assert opened == [pair.address] * 2


async def test_idle_connections_are_closed_and_waiting_ones_stay() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        waiting = pair.client.invoke(pair.address, LIST("x"), timeout=500)
        await pair.until_held(1)
        await pair.clock.aadvance(200)
        assert pair.client.addresses == [pair.address]
        pair.held[0].reply(Reply())
        await waiting
        await pair.clock.aadvance(125)
        assert pair.client.addresses == []


async def test_a_closed_client_says_so_and_its_calls_fail() -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        waiting = asyncio.ensure_future(pair.client.invoke(pair.address, LIST("x")))
        await pair.until_held(1)
        await pair.client.close()
        with pytest.raises(ConnectionLost, match="the client was closed"):
            await waiting
        with pytest.raises(ClosedError, match="closed"):
            pair.client.invoke(pair.address, ROUTE("t"))
        with pytest.raises(ClosedError, match="closed"):
            await pair.client.oneway(pair.address, ROUTE("t"))


async def test_a_client_used_after_a_fork_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Pair() as pair:
        await pair.client.invoke(pair.address, ROUTE("t"))
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: -1)
            with pytest.raises(ClosedError, match="forked"):
                pair.client.invoke(pair.address, ROUTE("t"))


class Sign(RpcHook):
    name = "sign"

    def __init__(self) -> None:
        self.answers: list[int | None] = []

    def before(self, address: str, request: Frame) -> None:
        assert request.ext is not None
        request.ext["Signature"] = f"for {bytes(request.body)!r} to {address}"

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        self.answers.append(answer.code if answer else None)
        raise ValueError("a faulty hook changes nothing")


async def test_hooks_may_add_fields_and_see_answers() -> None:
    sign = Sign()
    async with Pair(rpc_hooks=[sign]) as pair:
        answer = await pair.client.invoke(pair.address, ROUTE("t"), b"body")
        assert answer.ext == {"topic": "t", "Signature": f"for b'body' to {pair.address}"}
        await pair.client.oneway(pair.address, LIST("x"))
        await pair.client.invoke(pair.address, CLUSTER())
        assert sign.answers == [0, None, 3]


async def test_hooks_may_exchange_bodies() -> None:
    async with Pair(rpc_hooks=[Doubling()]) as pair:
        assert (await pair.client.invoke(pair.address, ROUTE("t"), b"ab")).body == b"abab" * 2
        await pair.client.oneway(pair.address, LIST("x"), b"cd")
        await pair.until_held(1)
        assert bytes(pair.held[0].frame.body) == b"cdcd"


async def test_what_cannot_be_encoded_is_refused_and_leaves_nothing_behind() -> None:
    async with Pair() as pair:
        first = pair.client.invoke(pair.address, LIST("first"))
        await pair.until_held(1)
        for topic in ("\udc80", "a\ud800"):
            with pytest.raises(HeaderError, match=r"field topic holds '\\ud.*nothing was sent"):
                await pair.client.invoke(pair.address, ROUTE(topic))
            with pytest.raises(HeaderError, match="field topic"):
                await pair.client.oneway(pair.address, ROUTE(topic))
        assert pair.client.in_flight_requests == 1
        pair.held[0].reply(Reply(7))
        assert (await first).code == 7
        assert len(pair.server.peers) == 1


@pytest.mark.parametrize("host", ["a\0b", "x" * 70, "a..b", "\udc80", "", "[::1", "127.0.0.1:1"])
@pytest.mark.parametrize("port", ["1", "99999", "9" * 5000, "\u00b2", "-1", ""])
async def test_an_address_that_is_none_is_an_error_before_anything_was_sent(host: str, port: str) -> None:
    client = Client(SystemClock())
    with pytest.raises(ConnectError):
        await client.invoke(f"{host}:{port}", ROUTE("t"))
    await client.close()

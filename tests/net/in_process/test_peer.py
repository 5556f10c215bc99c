"""Requests without a socket: answers at once and later, what may not be asked, the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from net.access.plugins import manager
from net.in_process.clients import Client, at_once, served
from peers import ROUTE

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import CallTimeout, ConnectionLost, Refusal, TooMuchInFlight
from mqframe.core.requests.consumers import NotifyConsumerIdsChanged
from mqframe.core.requests.insight import GetConsumerRunningInfo
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.access.access import Access
from mqframe.net.access.guard import AccessRefusals, Guard
from mqframe.net.access.settings import AccessSettings
from mqframe.net.settings import NetSettings

CHANGED = NotifyConsumerIdsChanged(consumer_group="g")
WANTED = GetConsumerRunningInfo(consumer_group="g", client_id="c")


class Recording(RpcHook):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def before(self, address: str, request: Frame) -> None:
        self.seen.append(("before", address, request.code))

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        self.seen.append(("after", request.code, answer and (answer.code, bytes(answer.body))))


# Answers


async def test_an_answer_that_is_there_is_given_in_the_same_turn_and_nothing_is_copied() -> None:
    calls: list[Call] = []
    parts = [b"ab", memoryview(b"cd")]

    def handler(call: Call) -> Reply:
        calls.append(call)
        return Reply(7, ext={"a": "b"}, remark="r", body=parts)

    async with served({1: handler}) as place:
        body = memoryview(b"body")
        client = Client(language="CPP", version=401, certificate="me")
        peer = place.requests.connect(client)
        place.clock.monotonic = lambda: 12.0
        reply = at_once(place.ask(peer, body, fields={"more": "1"}))
        assert (reply.code, reply.fields(), reply.remark) == (7, {"a": "b"}, "r")
        assert reply.body is parts
        [call] = calls
        assert call.frame.body is body
        assert call.frame.ext == {"topic": "t", "more": "1"}
        assert (call.frame.language, call.frame.version, call.frame.flag) == ("CPP", 401, 0)
        assert (call.peer, call.received, call.answered) == (peer, 12.0, True)
        assert (peer.address, peer.certificate, place.turns) == ("10.0.0.7:4711", "me", 1)
        assert isinstance(peer, Peer)
        assert "10.0.0.7:4711" in repr(peer)


async def test_fields_of_an_answer_come_as_its_header() -> None:
    async with served({1: lambda call: ROUTE("u")}) as place:
        reply = at_once(place.ask(place.requests.connect(Client())))
        assert (reply.header, reply.fields()) == (ROUTE("u"), {"topic": "u"})


@pytest.mark.parametrize("how", ["return value", "reply"])
async def test_an_answer_that_comes_later_is_waited_for_and_its_body_is_copied(how: str) -> None:
    held: list[Any] = []

    async def later(call: Call) -> Reply:
        held.append(asyncio.get_running_loop().create_future())
        reply: Reply = await held[-1]
        return reply

    async with served({1: later if how == "return value" else held.append}) as place:
        peer = place.requests.connect(Client())
        asked = [asyncio.ensure_future(place.ask(peer)) for _ in range(3)]
        await place.settle()
        assert [task.done() for task in asked] == [False] * 3
        mapped = bytearray(b"cd")
        for number in (2, 0):
            reply = Reply(number, body=[b"ab", memoryview(mapped)])
            (held[number].set_result if how == "return value" else held[number].reply)(reply)
        if how == "reply":
            mapped[:] = b"!!"
        await place.settle()
        assert [task.done() for task in asked] == [True, False, True]
        assert [(task.result().code, task.result().body) for task in (asked[0], asked[2])] == [
            (0, b"abcd"),
            (2, b"abcd"),
        ]


async def test_what_handlers_raise_and_codes_that_nobody_serves_are_answers() -> None:
    def refuse(call: Call) -> Reply:
        raise Refusal(16, "not yours")

    async with served({1: refuse}) as place:
        peer = place.requests.connect(Client())
        reply = at_once(place.ask(peer))
        assert (reply.code, reply.remark) == (16, "not yours")
        reply = at_once(peer.ask(WANTED))
        assert reply.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


@pytest.mark.parametrize("held", [False, True])
async def test_answers_are_given_when_what_they_say_is_saved(held: bool) -> None:
    calls: list[Call] = []
    mapped = bytearray(b"view")

    def handler(call: Call) -> Reply | None:
        calls.append(call)
        return None if held else Reply(body=memoryview(mapped))

    async with served({1: handler}) as place:
        peer = place.requests.connect(Client())
        place.until = until = asyncio.get_running_loop().create_future()
        asked = asyncio.ensure_future(place.ask(peer))
        await place.settle()
        if held:
            calls[0].reply(Reply(body=memoryview(mapped)))
        mapped[:] = b"gone"
        await place.settle()
        assert not asked.done()
        place.until = None
        mapped[:] = b"view"
        assert at_once(place.ask(peer)).code == 0 if not held else True
        until.set_result(True)
        assert (await asked).body == b"view"


async def test_what_can_never_be_saved_ends_the_peer() -> None:
    async with served({1: lambda call: Reply()}) as place:
        client = Client()
        peer = place.requests.connect(client)
        place.until = asyncio.get_running_loop().create_future()
        asked = asyncio.ensure_future(place.ask(peer))
        await place.settle()
        place.until.cancel()
        with pytest.raises(ConnectionLost, match="what its answers depend on was given up"):
            await asked
        assert client.ends == ["what its answers depend on was given up"]


async def test_an_error_at_the_end_of_a_turn_is_nobody_s(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("on fire")

    async with served({1: lambda call: Reply()}) as place:
        place.server._group.turn_end = fail
        assert at_once(place.ask(place.requests.connect(Client()))).code == 0
    assert "end of turn failed" in caplog.text


# Who may ask, and how much


async def test_hooks_see_what_is_asked_and_its_service_measures_it() -> None:
    held: list[Call] = []
    hook = Recording()

    handlers = {1: lambda call: Reply(5, body=[b"a", b"b"]), WANTED.CODE: held.append}
    async with served(handlers, rpc_hooks=[hook]) as place:
        latencies = place.server.measure()
        peer = place.requests.connect(Client())
        at_once(place.ask(peer))
        asked = asyncio.ensure_future(peer.ask(WANTED))
        await place.settle()
        await place.clock.aadvance(0.05)
        held[0].waited = True
        held[0].reply(Reply(body=b"c"))
        await asked
        # It came by no protocol of this server.
        assert latencies.family().series == []
    assert hook.seen == [
        ("before", "10.0.0.7:4711", ROUTE.CODE),
        ("after", ROUTE.CODE, (5, b"ab")),
        ("before", "10.0.0.7:4711", WANTED.CODE),
        ("after", WANTED.CODE, (0, b"c")),
    ]


async def test_access_control_judges_what_is_asked_and_takes_a_service_s_word_for_who_it_is() -> None:
    calls: list[Call] = []

    def handler(call: Call) -> Reply:
        calls.append(call)
        return Reply()

    async with served({1: handler}) as place:
        names = AccessSettings(authentication="naming", authorization="matching")
        refusals = AccessRefusals(place.clock)
        place.server.admit(Guard(Access(names, place.clock, manager()), refusals, 1000).admit)
        unsigned = place.requests.connect(Client())
        known = place.requests.connect(Client(user="t"))
        told = [
            (at_once(place.ask(peer, **more)).code, refusals.unknown, refusals.forbidden)
            for peer, more in (
                (unsigned, {}),
                (unsigned, {"fields": {"user": "t"}}),
                (unsigned, {"user": "t"}),
                (known, {}),
                (known, {"user": "other"}),
                (known, {"user": "", "fields": {"user": "other"}}),
            )
        ]
        assert told == [(16, 1, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0), (16, 1, 1), (16, 1, 2)]
        assert [call.user for call in calls] == ["t", "t", "t"]
        # What a service does by itself is nobody's.
        own = place.requests.connect(Client(inner=True))
        assert (at_once(place.ask(own)).code, calls[-1].user, refusals.unknown) == (0, "", 1)


@pytest.mark.parametrize(
    ("settings", "body", "more", "named"),
    [
        ({"frame_bytes_max": 2000}, b"x" * 2000, {}, "net.frame_bytes_max"),
        ({"header_bytes_max": 64 * 1024}, b"", {"long": "x" * 65_536}, "net.header_bytes_max"),
    ],
)
async def test_what_no_connection_would_carry_is_refused(
    settings: Any, body: bytes, more: Any, named: str
) -> None:
    async with served({1: lambda call: Reply()}, settings=NetSettings(**settings)) as place:
        peer = place.requests.connect(Client())
        reply = at_once(place.ask(peer, body, fields=more))
        assert reply.code == ResponseCode.INVALID_PARAMETER
        assert named in (reply.remark or "")
        assert at_once(place.ask(peer)).code == 0


async def test_so_many_may_wait_and_who_gives_up_makes_room() -> None:
    held: list[Call] = []

    settings = NetSettings(in_flight_requests_max=2)
    async with served({1: held.append}, settings=settings) as place:
        peer = place.requests.connect(Client())
        asked = [asyncio.ensure_future(place.ask(peer, b"four")) for _ in range(2)]
        await place.settle()
        assert at_once(place.ask(peer)).code == ResponseCode.SYSTEM_BUSY
        assert place.server._endpoint.held_bytes == 8
        dropped: list[str] = []
        held[0].on_cancel = lambda: dropped.append("first")
        asked[0].cancel()
        await place.settle()
        assert asked[0].cancelled()
        assert (dropped, place.server._endpoint.held_bytes) == (["first"], 4)
        asked.append(asyncio.ensure_future(place.ask(peer)))
        await place.settle()
        # One that nobody can drop is counted until it is answered, for nobody.
        asked[1].cancel()
        await place.settle()
        assert at_once(place.ask(peer)).code == ResponseCode.SYSTEM_BUSY
        held[1].reply(Reply())
        assert place.server._endpoint.held_bytes == 0
        held[2].reply(Reply(9))
        assert (await asked[2]).code == 9


# What the server asks of the client


async def test_notices_reach_the_client_and_its_troubles_are_the_server_s_to_know(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hook = Recording()

    async with served({}, rpc_hooks=[hook]) as place:
        client = Client()
        peer = place.requests.connect(client)
        peer.oneway(CHANGED, b"body")
        assert client.got == [(CHANGED, b"body")]
        for problem in (TooMuchInFlight("full"), ConnectionLost("no stream"), RuntimeError("a bug")):
            client.problem = problem
            kind = ConnectionLost if isinstance(problem, RuntimeError) else type(problem)
            with pytest.raises(kind, match=str(problem)):
                peer.oneway(CHANGED)
        client.problem = None
        peer.close("it has gone")
        with pytest.raises(ConnectionLost, match="it has gone"):
            peer.oneway(CHANGED)
    assert hook.seen[:2] == [("before", "10.0.0.7:4711", CHANGED.CODE), ("after", CHANGED.CODE, None)]
    assert caplog.text.count("client was not notified") == 1


async def test_the_client_is_asked_and_answers() -> None:
    hook = Recording()
    async with served({}, rpc_hooks=[hook]) as place:
        client = Client()
        peer = place.requests.connect(client)
        asked = peer.invoke(WANTED, b"body", timeout=5)
        await place.settle()
        assert client.got == [(WANTED, b"body")]
        client.answers[0].set_result(Reply(3, ext={"a": "b"}, remark="r", body=[b"x", b"y"]))
        answer = await asked
        assert (answer.code, answer.ext, answer.remark, answer.body) == (3, {"a": "b"}, "r", b"xy")
        client.problem = Refusal(17, "no")
        assert ((await peer.invoke(WANTED)).code, peer.pending) == (17, {})
        assert hook.seen[:2] == [
            ("before", "10.0.0.7:4711", WANTED.CODE),
            ("after", WANTED.CODE, (3, b"xy")),
        ]


async def test_a_client_that_does_not_answer_is_not_waited_for() -> None:
    async with served({}) as place:
        client = Client()
        peer = place.requests.connect(client)
        late = peer.invoke(WANTED, timeout=5)
        lost = peer.invoke(WANTED, timeout=500)
        await place.settle()
        await place.clock.aadvance(5)
        with pytest.raises(CallTimeout, match="did not answer GetConsumerRunningInfo"):
            await late
        assert client.answers[0].cancelled()
        peer.close("it has gone")
        with pytest.raises(ConnectionLost, match="it has gone"):
            await lost
        await place.settle()
        assert client.answers[1].cancelled()
        assert place.server._endpoint.in_flight_requests == 0


# The end


async def test_a_closed_peer_leaves_and_what_waits_fails(caplog: pytest.LogCaptureFixture) -> None:
    held: list[Call] = []

    async with served({1: held.append}) as place:
        client = Client(problem=None)
        peer = place.requests.connect(client)
        asked = [asyncio.ensure_future(place.ask(peer)) for _ in range(2)]
        await place.settle()
        client.problem = RuntimeError("a bug")
        peer.close("the stream ended")
        peer.close("again")
        assert peer.closed
        asked[1].cancel()
        with pytest.raises(ConnectionLost, match=r"ByTopic.*: the stream ended") as lost:
            await asked[0]
        assert lost.value.maybe_stored
        await place.settle()
        assert asked[1].cancelled()
        assert (place.ends, client.ends, place.server.peers) == (
            [peer],
            ["the stream ended"],
            frozenset(),
        )
        held[0].reply(Reply())
        with pytest.raises(ConnectionLost, match="the stream ended; nothing was sent") as lost:
            await place.ask(peer)
        assert not lost.value.maybe_stored
    assert "client was not told of its end" in caplog.text
    assert "never retrieved" not in caplog.text


async def test_nobody_waits_for_an_answer_after_a_request_that_closed_its_peer() -> None:
    def close(call: Call) -> None:
        call.peer.close("asked for too much")

    async with served({1: close}) as place:
        client = Client()
        with pytest.raises(ConnectionLost, match="asked for too much"):
            await place.ask(place.requests.connect(client))
        await place.settle()
        assert client.ends == ["asked for too much"]


async def test_nobody_waits_for_a_server_that_stops() -> None:
    client, held = Client(), []  # type: ignore[var-annotated]
    async with served({1: held.append}) as place:
        peer = place.requests.connect(client)
        asked = asyncio.ensure_future(place.ask(peer))
        await place.settle()
    with pytest.raises(ConnectionLost, match="the server stops"):
        await asked
    assert (client.ends, place.ends) == (["the server stops"], [peer])


async def test_an_idle_peer_is_closed_and_one_that_waits_is_not() -> None:
    held: list[Call] = []
    async with served({1: held.append}) as place:
        idle, waiting = Client(), Client()
        place.requests.connect(idle)
        peer = place.requests.connect(waiting)
        asked = asyncio.ensure_future(place.ask(peer))
        await place.settle()
        await place.clock.aadvance(150)
        await place.settle()
        assert (idle.ends, waiting.ends) == (["idle for 120 s"], [])
        held[0].reply(Reply())
        await asked
        await place.clock.aadvance(100)
        assert waiting.ends == []
        await place.clock.aadvance(50)
        await place.settle()
        assert waiting.ends == ["idle for 120 s"]


async def test_a_peer_can_be_shed_and_given_up() -> None:
    async with served({}) as place:
        first, second = Client(), Client()
        place.requests.connect(first).shed("too much")
        place.requests.connect(second).abort()
        await place.settle()
        assert (first.ends, second.ends) == (["too much"], ["given up"])

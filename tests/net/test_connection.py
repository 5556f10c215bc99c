"""The protocol of one connection, alone and as both peers carry it; no socket but in the last test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from peers import LIST, ROUTE, Doubling, too_long

from mqframe.core.codes import FLAG_ONEWAY, FLAG_RESPONSE
from mqframe.core.errors import CallTimeout, ConnectionLost, FrameError, Refusal, TooMuchInFlight
from mqframe.core.requests.serving import Call, Handler, Reply
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.blocking import BlockingClient
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock
from mqframe.net.connection import Connection, PendingCall, request_name
from mqframe.net.endpoint import Endpoint
from mqframe.net.server import Server
from mqframe.net.serving import RequestServing
from mqframe.net.settings import NetSettings

ADDRESS = "10.0.0.1:10911"
ANSWER = Frame(0, 1, FLAG_RESPONSE)


def connection(
    settings: NetSettings | None = None,
    handlers: dict[int, Handler] | None = None,
    hooks: Iterable[RpcHook] = (),
) -> Connection[str]:
    return Connection(Endpoint(settings or NetSettings(), handlers or {}, hooks), ADDRESS)


class Sender:
    """Stands for the peer in a call: sends nothing, remembers what it is to send."""

    address = ADDRESS
    closed = False

    def __init__(self, connection: Connection[Any], endpoint: Endpoint) -> None:
        self.connection = connection
        self.requests = RequestServing(endpoint)
        self.sent: list[Frame] = []

    def answer(self, call: Call, reply: Reply) -> None:
        head = self.connection.answer(call, reply)
        self.requests.answered(call, reply)
        if head:
            body = reply.body if isinstance(reply.body, list) else [reply.body]
            self.sent += frames(Connection(Endpoint(NetSettings(), {}, ())), head + b"".join(body))

    def serve(self, frame: Frame) -> None:
        call = Call(frame, self, 0.0)  # type: ignore[arg-type]
        result = self.requests.serve(call)
        if isinstance(result, Reply):
            call.reply(result)
        else:
            self.requests.hold(call)


def frames(decoding: Connection[Any], data: bytes) -> list[Frame]:
    decoding.receive(data)
    read = []
    while (frame := decoding.next_frame()) is not None:
        frame.body = bytes(frame.body)
        read.append(frame)
    return read


texts = st.text(st.characters(codec="utf-8"), max_size=20)
some_frames = st.lists(
    st.builds(
        Frame,
        code=st.integers(0, 400),
        opaque=st.integers(0, 0x7FFFFFFF),
        flag=st.sampled_from([0, FLAG_RESPONSE, FLAG_ONEWAY]),
        remark=st.none() | texts,
        ext=st.none() | st.dictionaries(texts, texts, max_size=3),
        body=st.binary(max_size=50),
    ),
    max_size=5,
)


@given(some_frames, st.binary(max_size=7))
def test_bytes_whole_one_by_one_and_with_a_tail_are_the_same_frames(sent: list[Frame], tail: bytes) -> None:
    tail = b"\x00" * min(3, len(tail))  # the beginning of a length word
    data = b"".join(map(encode_frame, sent)) + tail
    assert frames(connection(), data) == sent
    piecewise = connection()
    assert [frame for at in range(len(data)) for frame in frames(piecewise, data[at : at + 1])] == sent
    halved = connection()
    middle = len(data) // 2
    assert frames(halved, data[:middle]) + frames(halved, data[middle:]) == sent
    assert bool(tail) == ("bytes into a frame" in halved.idle_reason(1e9))


def test_bytes_that_are_no_frame_come_after_the_good_ones() -> None:
    it = connection()
    it.receive(encode_frame(Frame(1, 5)) + b"GET / HTTP/1.1")
    assert it.next_frame() == Frame(1, 5)
    with pytest.raises(FrameError):
        it.next_frame()


def test_a_call_is_encoded_with_its_number_fields_and_the_length_of_its_body() -> None:
    it, other = connection(), connection()
    first = it.call(ROUTE("orders"), 3, 1.0, "a")
    second = it.call(ROUTE("orders"), 0, 1.0, "b")
    data = it.encode(first, b"xyz") + b"xyz" + it.encode(second, b"")
    assert frames(other, data) == [
        Frame(ROUTE.CODE, first.opaque, ext={"topic": "orders"}, body=b"xyz"),
        Frame(ROUTE.CODE, second.opaque, ext={"topic": "orders"}),
    ]
    assert first.opaque != second.opaque
    assert list(it.pending) == [first.opaque, second.opaque]


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_answers_in_any_order_find_their_calls_and_late_ones_nobody(order: list[int], late: set[int]) -> None:
    endpoint = Endpoint(NetSettings(), {}, ())
    it: Connection[int] = Connection(endpoint, ADDRESS)
    calls = [it.call(ROUTE(str(n)), n, 1.0, n) for n in range(6)]
    for number in late:
        ended = it.take(calls[number].opaque)
        assert ended is not None
        assert ended.waiter == number
    woken = []
    for frame in frames(
        it, b"".join(encode_frame(Frame(0, calls[n].opaque, FLAG_RESPONSE, f"of {n}")) for n in order)
    ):
        call = it.take(frame.opaque)
        if call is not None:
            assert frame.remark == f"of {call.waiter}"
            woken.append(call.waiter)
    assert woken == [n for n in order if n not in late]
    assert (endpoint.in_flight_requests, endpoint.in_flight_bytes, it.pending) == (0, 0, {})


def test_what_a_late_call_is_told() -> None:
    it = connection()
    frame = it.call(ROUTE("t"), 0, 2.5, "a")
    pending = it.take(frame.opaque)
    assert pending is not None
    problem = it.late(pending.request, pending.timeout)
    assert isinstance(problem, CallTimeout)
    name = f"GetRouteinfoByTopic ({ROUTE.CODE})"
    assert str(problem) == f"{ADDRESS} did not answer {name} within 2.5 s"
    assert it.take(frame.opaque) is None


def asked(it: Connection[str], name: str, timeout: float = 3.0) -> PendingCall[str]:
    return it.pending[it.call(ROUTE(name), 0, timeout, name).opaque]


def ended(it: Connection[str], call: PendingCall[str]) -> PendingCall[str]:
    """What `call` is after its time."""
    it.take(call.request.opaque)
    return call


def test_a_connection_that_stops_in_a_frame_is_closed_with_the_next_call_that_is_late() -> None:
    it = connection()
    pull = asked(it, "pull", 30)
    assert frames(it, too_long(ANSWER)) == []
    send = asked(it, "send")
    assert frames(it, encode_frame(Frame(0, send.request.opaque, FLAG_RESPONSE))) == []
    reason = it.silence(ended(it, send), received=7, now=10)
    assert list(it.pending) == [pull.request.opaque]
    assert reason == f"{it.decoder.unread_bytes} bytes into a frame it said nothing for 3 s"


def test_a_connection_whose_frame_never_ends_is_closed_although_bytes_come() -> None:
    it = connection()
    late = asked(it, "late")
    frames(it, too_long(ANSWER))
    for _ in range(9):
        frames(it, encode_frame(Frame(0, 99, FLAG_RESPONSE)))
    reason = it.silence(ended(it, late), received=10, now=10)
    assert (
        reason
        == f"no frame has ended for 3 s, {it.decoder.unread_bytes} bytes into one that nobody waits for"
    )


def test_a_long_answer_that_comes_slowly_is_waited_for_by_whoever_asked_for_it() -> None:
    it = connection()
    pull = asked(it, "pull", 30)
    answer = encode_frame(Frame(0, pull.request.opaque, FLAG_RESPONSE, body=bytes(5000)))
    frames(it, answer[:1000])
    send = asked(it, "send")
    frames(it, answer[1000:2000])
    assert it.silence(ended(it, send), received=9.9, now=10) == ""
    [whole] = frames(it, answer[2000:])
    assert it.take(whole.opaque) is pull


def test_a_call_is_late_by_itself_where_frames_end_meanwhile() -> None:
    it = connection()
    late = asked(it, "late")
    frames(it, encode_frame(Frame(0, 99, FLAG_RESPONSE)) + too_long(ANSWER)[:50])
    assert it.silence(ended(it, late), received=7, now=10) == ""
    none_under_way = asked(it, "another")
    frames(it, too_long(ANSWER)[50:] + bytes(1 << 20))
    assert it.silence(ended(it, none_under_way), received=7, now=10) == ""


def test_request_names_for_messages() -> None:
    assert request_name(ROUTE.CODE) == f"GetRouteinfoByTopic ({ROUTE.CODE})"
    assert request_name(99_999) == "request 99999"


def test_requests_and_bytes_in_flight_are_limited_over_all_connections() -> None:
    endpoint = Endpoint(NetSettings(in_flight_requests_max=2, in_flight_bytes_max=1024), {}, ())
    one: Connection[str] = Connection(endpoint, "a:1")
    two: Connection[str] = Connection(endpoint, "b:2")
    first = one.call(ROUTE("t"), 2000, 1.0, "a")  # a large one may go alone
    with pytest.raises(TooMuchInFlight, match="2000 bytes are in flight; 1 more"):
        two.call(ROUTE("t"), 1, 1.0, "b")
    assert two.pending == {}
    one.take(first.opaque)
    one.call(ROUTE("t"), 512, 1.0, "a")
    two.call(ROUTE("t"), 512, 1.0, "b")
    with pytest.raises(TooMuchInFlight, match="2 requests wait"):
        one.call(ROUTE("t"), 0, 1.0, "c")
    one.oneway(ROUTE("t"))  # waits for nothing
    two.end(None)
    one.call(ROUTE("t"), 512, 1.0, "c")


class Recording(RpcHook):
    def __init__(self, refuse: int = 0) -> None:
        self.refuse = refuse
        self.seen: list[tuple[Any, ...]] = []

    def before(self, address: str, request: Frame) -> None:
        self.seen.append(("before", request.code, bytes(request.body)))
        if request.code == self.refuse:
            raise Refusal(16, "not you")
        request.ext = {**(request.ext or {}), "signed": "yes"}

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        self.seen.append(("after", request.code, answer and (answer.code, bytes(answer.body))))


def test_hooks_see_calls_of_this_side_and_may_add_fields() -> None:
    hook = Recording()
    it, other = connection(hooks=[hook]), connection()
    frame = it.call(ROUTE("t"), 1, 1.0, "a")
    [sent] = frames(other, it.encode(frame, b"x") + b"x")
    assert sent.ext == {"topic": "t", "signed": "yes"}
    it.finished(frame, Frame(5, frame.opaque, FLAG_RESPONSE, body=b"y"))
    lonely = it.oneway(ROUTE("t"))
    [sent] = frames(other, it.encode(lonely, b""))
    assert (sent.ext, sent.flag) == ({"topic": "t", "signed": "yes"}, FLAG_ONEWAY)
    it.finished(lonely, None)
    assert hook.seen == [
        ("before", ROUTE.CODE, b"x"),
        ("after", ROUTE.CODE, (5, b"y")),
        ("before", ROUTE.CODE, b""),
        ("after", ROUTE.CODE, None),
    ]


def test_hooks_may_exchange_bodies_and_those_after_them_see_what_is_sent() -> None:
    hook = Recording()
    it, other = connection(hooks=[hook, Doubling()]), connection()
    frame = it.call(ROUTE("t"), 1, 1.0, "a")
    head = it.encode(frame, b"x")
    [sent] = frames(other, head + bytes(frame.body))
    assert bytes(sent.body) == b"xx"
    answer = Frame(0, frame.opaque, FLAG_RESPONSE, body=b"y")
    it.finished(frame, answer)
    assert answer.body == b"yy"
    assert hook.seen == [("before", ROUTE.CODE, b"x"), ("after", ROUTE.CODE, (0, b"yy"))]


def test_a_connection_is_idle_when_nothing_passed_and_nobody_waits() -> None:
    it = connection(NetSettings(idle_seconds=10))
    assert it.idle_reason(9.9) == ""
    assert it.idle_reason(10) == "idle for 10 s"
    frames(it, encode_frame(Frame(1, 5))[:6])
    assert it.idle_reason(10) == "idle for 10 s, 6 bytes into a frame"
    it.call(ROUTE("t"), 0, 30, "a")
    assert it.idle_reason(10) == ""


@pytest.mark.parametrize(
    ("came", "reason"),
    [
        (b"", "closed by the other side before it said anything"),
        (encode_frame(Frame(1, 1)), "closed by the other side"),
    ],
)
def test_the_end_names_the_other_side_unless_something_else_is_known(came: bytes, reason: str) -> None:
    for known, problem in (("", None), ("", OSError("reset")), ("stalled", OSError("reset"))):
        it = connection()
        if came:
            frames(it, came)
        it.call(ROUTE("t"), 0, 1.0, "a")
        if known:
            it.blame(known)
        [(waiter, lost)] = it.end(problem)
        assert waiter == "a"
        assert f"closed during GetRouteinfoByTopic ({ROUTE.CODE}): {known or problem or reason}" in str(lost)


class Ends(RuleBasedStateMachine):
    """Closing and ending in any state: every call ends exactly once, and nothing leaves after the close."""

    def __init__(self) -> None:
        super().__init__()
        self.endpoint = Endpoint(NetSettings(), {1: self.later}, ())
        self.it: Connection[int] = Connection(self.endpoint, ADDRESS)
        self.sender = Sender(self.it, self.endpoint)
        self.held: list[Call] = []
        self.waiting: dict[int, int] = {}
        self.calls = 0
        self.reason = ""
        self.answered = 0

    def later(self, call: Call) -> None:
        self.held.append(call)

    @precondition(lambda self: not self.reason)
    @rule(size=st.integers(0, 5))
    def call(self, size: int) -> None:
        self.waiting[self.it.call(ROUTE("t"), size, 1.0, self.calls).opaque] = self.calls
        self.calls += 1

    @precondition(lambda self: self.reason)
    @rule(how=st.sampled_from(["call", "oneway"]))
    def refused(self, how: str) -> None:
        with pytest.raises(ConnectionLost, match=f"is closed: {self.reason}; nothing was sent"):
            self.it.call(ROUTE("t"), 1, 1.0, 0) if how == "call" else self.it.oneway(ROUTE("t"))

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        opaque = data.draw(st.sampled_from(sorted(self.waiting)))
        call = self.it.take(opaque)
        assert call is not None
        assert call.waiter == self.waiting.pop(opaque)
        assert self.it.take(opaque) is None

    @rule(oneway=st.booleans())
    def serve(self, oneway: bool) -> None:
        self.sender.serve(Frame(1, 1, FLAG_ONEWAY if oneway else 0))

    @precondition(lambda self: self.held)
    @rule()
    def answer(self) -> None:
        call = self.held.pop()
        self.answered += not self.reason and not call.oneway
        call.reply(Reply())

    @rule(reason=st.sampled_from(["first", "second"]))
    def close(self, reason: str) -> None:
        assert self.it.close(reason) == (not self.reason)
        self.reason = self.reason or reason

    @rule()
    def end(self) -> None:
        lost = self.it.end(OSError("reset"))
        self.reason = self.reason or "reset"
        assert [waiter for waiter, _ in lost] == list(self.waiting.values())
        assert all(str(problem).endswith(self.reason) for _, problem in lost)
        self.waiting.clear()

    @invariant()
    def nothing_is_lost(self) -> None:
        assert list(self.it.pending) == list(self.waiting)
        assert self.endpoint.in_flight_requests == len(self.waiting)
        assert bool(self.waiting) or self.endpoint.in_flight_bytes == 0
        assert self.it.closed == bool(self.reason)
        assert len(self.sender.sent) == self.answered


TestEnds = Ends.TestCase


async def by_asyncio(address: str, steps: Callable[[Any], Any]) -> list[Any]:
    client = Client(SystemClock())
    try:
        return [await outcome(step) for step in steps(lambda *a, **k: client.invoke(address, *a, **k))]
    finally:
        await client.close()


async def by_threads(address: str, steps: Callable[[Any], Any]) -> list[Any]:
    client = BlockingClient(SystemClock())

    def invoke(*given: Any, **options: Any) -> Any:
        return asyncio.to_thread(client.invoke, address, *given, **options)

    try:
        return [await outcome(step) for step in steps(invoke)]
    finally:
        await asyncio.to_thread(client.close)


async def outcome(step: Callable[[], Any]) -> Any:
    try:
        answer = await step()
        return answer.code, answer.opaque, answer.ext, bytes(answer.body), answer.remark
    except (CallTimeout, ConnectionLost) as problem:
        return type(problem), str(problem)


async def test_both_peers_agree_with_it() -> None:
    def close(call: Call) -> None:
        call.peer.close("enough")

    server = Server(
        {
            ROUTE.CODE: lambda call: Reply(7, ext=call.frame.ext, body=call.frame.body, remark="seen"),
            LIST.CODE: close,
        },
        SystemClock(),
    )
    address = f"127.0.0.1:{await server.start('127.0.0.1', 0)}"

    def steps(invoke: Callable[..., Any]) -> list[Callable[[], Any]]:
        return [
            lambda: invoke(ROUTE("a"), b"x" * 100_000),
            lambda: invoke(ROUTE("b")),
            lambda: invoke(LIST("ends the connection")),
            lambda: invoke(ROUTE("c")),
        ]

    name = f"GetKvlistByNamespace ({LIST.CODE})"
    expected = [
        (7, 1, {"topic": "a"}, b"x" * 100_000, "seen"),
        (7, 2, {"topic": "b"}, b"", "seen"),
        (ConnectionLost, f"connection to {address} closed during {name}: closed by the other side"),
        (7, 4, {"topic": "c"}, b"", "seen"),
    ]
    assert await by_asyncio(address, steps) == expected
    assert await by_threads(address, steps) == expected
    await server.stop()

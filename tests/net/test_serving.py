"""What becomes of requests, however they came, and what is answered later."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.errors import Refusal
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Handler, Reply
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.endpoint import Endpoint
from mqframe.net.serving import RequestServing
from mqframe.net.settings import NetSettings

CALL = Call(Frame(77, 1), cast("Any", SimpleNamespace(address="10.0.0.1:5")), 0.0)


class Asker:
    """Stands for the peer in a call: remembers what it is answered."""

    address = "10.0.0.1:5"

    def __init__(
        self,
        handlers: dict[int, Handler],
        hooks: Iterable[RpcHook] = (),
        settings: NetSettings | None = None,
    ) -> None:
        self.endpoint = Endpoint(settings or NetSettings(), handlers, hooks)
        self.requests = RequestServing(self.endpoint)
        self.answers: list[tuple[Any, ...]] = []

    def answer(self, call: Call, reply: Reply) -> None:
        self.requests.answered(call, reply)
        if not call.oneway:
            self.answers.append(
                (call.frame.opaque, reply.code, reply.remark, reply.fields(), reply.joined_body())
            )

    def ask(self, frame: Frame) -> None:
        call = Call(frame, cast("Peer", self), 0.0)
        result = self.requests.serve(call)
        if isinstance(result, Reply):
            call.reply(result)
        else:
            self.requests.hold(call)


class Recording(RpcHook):
    def __init__(self, refuse: int) -> None:
        self.refuse = refuse
        self.seen: list[tuple[Any, ...]] = []

    def before(self, address: str, request: Frame) -> None:
        self.seen.append(("before", address, request.code))
        if request.code == self.refuse:
            raise Refusal(16, "not you")
        request.ext = {**(request.ext or {}), "signed": "yes"}

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        self.seen.append(("after", request.code, answer and (answer.code, answer.opaque, bytes(answer.body))))


def test_hooks_see_requests_of_the_other_side_and_may_refuse() -> None:
    hook = Recording(refuse=2)
    asker = Asker({1: lambda call: Reply(0, ext=call.frame.ext, body=[b"a", b"b"])}, [hook])
    for frame in (Frame(1, 7), Frame(2, 8), Frame(1, 9, FLAG_ONEWAY)):
        asker.ask(frame)
    assert asker.answers == [(7, 0, None, {"signed": "yes"}, b"ab"), (8, 16, "not you", None, b"")]
    assert hook.seen == [
        ("before", "10.0.0.1:5", 1),
        ("after", 1, (0, 7, b"ab")),
        ("before", "10.0.0.1:5", 2),
        ("after", 2, (16, 8, b"")),
        ("before", "10.0.0.1:5", 1),
        ("after", 1, None),
    ]


def test_who_may_not_ask_is_seen_by_no_hook_and_no_handler() -> None:
    def nobody(call: Call) -> None:
        raise Refusal(16, "who are you?")

    hook = Recording(refuse=0)
    asker = Asker({1: lambda call: Reply()}, [hook])
    asker.endpoint.admit = nobody
    asker.ask(Frame(1, 1))
    assert [(code, remark) for _, code, remark, _, _ in asker.answers] == [(16, "who are you?")]
    assert hook.seen == [("after", 1, (16, 1, b""))]


def test_failures_of_handlers_are_answers(caplog) -> None:
    def bug(call: Call) -> Reply:
        raise RuntimeError("a bug")

    asker = Asker({1: bug})
    asker.ask(Frame(1, 1))
    asker.ask(Frame(4711, 2))
    assert [(code, opaque, remark) for opaque, code, remark, _, _ in asker.answers] == [
        (1, 1, "RuntimeError: a bug"),
        (3, 2, "request code 4711 is not supported"),
    ]
    assert caplog.text.count("request failed") == 1


def test_too_many_requests_that_wait_are_refused_until_one_is_answered() -> None:
    held: list[Call] = []
    settings = NetSettings(in_flight_requests_max=2, in_flight_bytes_max=1024)
    asker = Asker({1: held.append}, settings=settings)
    asker.ask(Frame(1, 1, body=b"x" * 1000))
    asker.ask(Frame(1, 2, body=b"x" * 100))
    asker.ask(Frame(1, 3))
    asker.ask(Frame(1, 4))
    assert [(code, opaque, remark) for opaque, code, remark, _, _ in asker.answers] == [
        (2, 2, "1000 bytes of this connection wait (net.in_flight_bytes_max); slow down"),
        (2, 4, "2 requests of this connection wait (net.in_flight_requests_max); slow down"),
    ]
    assert asker.endpoint.held_bytes == 1000
    held[0].reply(Reply())
    assert asker.endpoint.held_bytes == 0
    asker.ask(Frame(1, 5, body=b"x" * 1000))
    assert [call.frame.opaque for call in held] == [1, 3, 5]


def test_what_nobody_wants_any_more_is_held_no_more() -> None:
    held: list[Call] = []
    asker = Asker({1: held.append})
    asker.ask(Frame(1, 1, body=b"x" * 1000))
    for _ in range(2):
        asker.requests.let_go(held[0])
        assert asker.endpoint.held_bytes == 0
    held[0].reply(Reply())
    assert asker.endpoint.held_bytes == 0


def test_it_is_free_unless_some_of_more_requests_would_be_refused() -> None:
    limits = NetSettings(in_flight_requests_max=2, in_flight_bytes_max=2000, held_bytes_max=1 << 20)
    asker = Asker({1: lambda call: None}, settings=limits)
    requests = asker.requests
    assert requests.is_free(2000)
    assert not requests.is_free(2001)
    held = Call(Frame(1, 1, body=b"x" * 600), cast("Peer", asker), 0.0)
    requests.hold(held)
    assert requests.is_free(1400)
    assert not requests.is_free(1401), "of this peer"
    others = (1 << 20) - 1000 - 600
    asker.endpoint.held_bytes += others
    assert requests.is_free(1000)
    assert not requests.is_free(1001), "of all peers"
    requests.hold(Call(Frame(1, 2), cast("Peer", asker), 0.0))
    assert not requests.is_free(0), "as many wait as may"
    requests.let_go(held)
    assert requests.is_free(0)

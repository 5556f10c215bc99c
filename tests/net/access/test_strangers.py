"""Signatures and headers with anything wrong about them: never let in, never an error, always told alike."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqframe_testing.manual_clock import ManualClock
from request_kinds import ROCKETMQ_S

from mqframe.core.codes import FLAG_ONEWAY, ResponseCode
from mqframe.core.errors import FrameError
from mqframe.core.requests.serving import Call, Handler, Reply
from mqframe.core.wire.frame import Frame, FrameDecoder, HeaderForm, encode_frame
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.access import Access
from mqframe.net.access.guard import FAILED, AccessRefusals, Guard
from mqframe.net.access.settings import AccessSettings
from mqframe.net.connection import Connection
from mqframe.net.endpoint import Endpoint
from mqframe.net.serving import RequestServing
from mqframe.net.settings import NetSettings

KNOWN = {"access_key": "admin", "secret_key": "secret"}
ODD = ("", " ", "admin", "secret", "\x00", "\x01\x02", "é", "\U0001f600", "topic", "x" * 3_000, "-1", "null")
TEXT = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
NAME = st.one_of(
    st.sampled_from(["b", "topic", "AccessKey", "Signature", "SecurityToken", "signature"]), TEXT
)
KINDS = st.sampled_from([310, 10, 17, 34, 36, 41, 50, 3001, 200151, 99_999])


class Place:
    """One server's guard and its connections, in memory; what handlers are called with is kept."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        enforced = AccessSettings(authentication="acl2", authorization="acl2", initial_user="admin:secret")
        access = Access(enforced, self.clock, PluginManager())
        self.refusals = AccessRefusals(self.clock)
        self.served: list[Frame] = []
        handlers: dict[int, Handler] = dict.fromkeys([*ROCKETMQ_S, 99_999], self._serve)
        self.endpoint = Endpoint(NetSettings(), handlers, ())
        self.endpoint.admit = Guard(access, self.refusals, 1 << 20).admit
        self.other = self.connection()

    def _serve(self, call: Call) -> Reply:
        self.served.append(call.frame)
        return Reply()

    def connection(self) -> Connection[str]:
        return Connection(self.endpoint, "10.0.0.1:4711")

    def send(self, connection: Connection[str], raw: bytes) -> list[Reply]:
        """The answers to all that `raw` holds, up to where it is no frame: that closes its own connection."""
        connection.receive(raw)
        answers: list[Reply] = []
        with suppress(FrameError):
            while (frame := connection.next_frame()) is not None:
                peer: Any = connection
                answer = RequestServing(self.endpoint).serve(Call(frame, peer, 0.0))
                assert isinstance(answer, Reply)
                answers.append(answer)
        return answers

    def check(self, raw: bytes) -> None:
        """`raw` does nothing, is answered as ever, counted, and harms no other connection."""
        self.served.clear()
        before = self.refusals.unknown
        answers = self.send(self.connection(), raw)
        assert [(each.code, each.remark, each.body) for each in answers] == [
            (ResponseCode.NO_PERMISSION, FAILED, b"")
        ] * len(answers)
        assert self.refusals.unknown == before + len(answers)
        assert self.served == []
        [answer] = self.send(self.other, encode_frame(signed(Frame(310, ext={"b": "orders"}))))
        assert answer.code == 0
        assert len(self.served) == 1


def signed(frame: Frame) -> Frame:
    [hook] = PluginManager().create_all("rpc_hook", [("acl", KNOWN)])
    hook.before("", frame)
    return frame


def _in_a_form_that_fits(frame: Frame) -> Frame:
    """Codes of more than two bytes have to be in JSON."""
    if frame.code > 0x7FFF:
        frame.form = HeaderForm.JSON
    return frame


PLACE = Place()
FRAMES = st.builds(
    Frame,
    code=KINDS,
    opaque=st.integers(0, 1 << 20),
    flag=st.sampled_from([0, FLAG_ONEWAY]),
    ext=st.dictionaries(NAME, TEXT, max_size=6),
    body=st.binary(max_size=60),
    version=st.sampled_from([0, 399, 400, 493]),
    form=st.sampled_from(list(HeaderForm)),
).map(_in_a_form_that_fits)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(FRAMES)
def test_whatever_is_not_signed(frame: Frame) -> None:
    PLACE.check(encode_frame(frame))


@QUICK
@given(FRAMES, NAME, TEXT, st.sampled_from(["value", "lost", "more", "body", "version"]))
def test_whatever_is_changed_after_it_was_signed(frame: Frame, name: str, text: str, what: str) -> None:
    """But what the protocol does not sign: names of fields, where the order of the values stays."""
    ext = signed(frame).ext or {}
    right = ext["Signature"]
    match what:
        case "value":
            chosen = sorted(ext)[len(text) % len(ext)]
            ext[chosen] = text if text != ext[chosen] else text + "x"
        case "lost":
            del ext[sorted(ext)[len(text) % len(ext)]]
        case "more":
            ext[name] = ext.get(name, "") + text
        case "body":
            frame.body = bytes(frame.body) + b"!"
        case "version":
            frame.version = 399 if frame.version > 399 else 400
    wanted = signed(Frame(frame.code, ext=dict(ext), body=frame.body, version=frame.version)).ext or {}
    if ext.get("AccessKey") == "admin" and ext.get("Signature") == right == wanted["Signature"]:
        return  # nothing that is signed was changed
    PLACE.check(encode_frame(frame))


@QUICK
@given(FRAMES, st.data())
def test_any_byte_that_is_changed_in_a_signed_header_or_body(frame: Frame, data: st.DataObject) -> None:
    frame.ext = {name: text for name, text in (frame.ext or {}).items() if len(text) < 100}
    raw = bytearray(encode_frame(signed(frame)))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        decoder = FrameDecoder(1 << 24, 1 << 20)
        decoder.receive(bytes(raw))
        found = decoder.next_frame()
    except FrameError:
        found = None
    if found is not None:
        again = signed(Frame(found.code, ext=dict(found.ext or {}), body=found.body, version=found.version))
        ours = {name: (found.ext or {}).get(name) for name in ("AccessKey", "Signature")}
        if ours == {name: (again.ext or {})[name] for name in ours} or found.flag & 1:
            return  # the code, a name, a number: not signed; or it is an answer now
    PLACE.check(bytes(raw))


@pytest.mark.parametrize("form", list(HeaderForm))
@pytest.mark.parametrize("first", [True, False])
def test_of_a_field_that_stands_there_twice_the_one_that_is_signed_is_served(
    form: HeaderForm, first: bool
) -> None:
    right = signed(Frame(310, ext={"b": "orders"})).ext or {}
    ext = {**right, "B": "secret"} if first else {"B": "secret", **right}
    raw = encode_frame(Frame(310, ext=ext, form=form))
    name, twin = (b'"B":', b'"b":') if form is HeaderForm.JSON else (b"\x00\x01B\x00", b"\x00\x01b\x00")
    assert raw.count(name) == raw.count(twin) == 1
    PLACE.served.clear()
    [answer] = PLACE.send(PLACE.connection(), raw.replace(name, twin))
    if answer.code == 0:
        assert [(each.ext or {})["b"] for each in PLACE.served] == ["orders"]
    else:
        assert (answer.code, PLACE.served) == (ResponseCode.NO_PERMISSION, [])


def test_many_are_told_of_in_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    place = Place()
    raw = encode_frame(Frame(310, ext={"AccessKey": "x" * 100_000, "Signature": "y" * 100_000}))
    for _ in range(200):
        place.check(raw)
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(told) == 1
    assert len(told[0]) < 2000
    assert place.refusals.counters() == {"authenticationFailures": "200", "authorizationFailures": "0"}

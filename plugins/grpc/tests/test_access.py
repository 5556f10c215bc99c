from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Any

import pytest
from guarded_doors import signed, written
from mqframe_grpc.access import AgeLimit, Gate, ask_nobody, to_be_settled, to_consume, to_look_at, to_publish
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.requests.needs import Action, Need, Resource
from mqframe.hooks.interfaces import Caller, ProxiedClient, Refused, Signed

WHEN = "20251128T201500Z"


class Call:
    address, certificate = "10.0.0.7:4000", "shop.example.org"

    def __init__(self, **headers: str) -> None:
        self.metadata = {name.replace("_", "-"): value for name, value in headers.items()}


class Judging:
    """Keeps what it was asked; refuses whoever is not `known`."""

    def __init__(self, known: str = "shop") -> None:
        self.known = known
        self.asked: list[tuple[Any, Sequence[Need], str, Signed | None]] = []

    def __call__(
        self, peer: Caller, needs: Sequence[Need], user: str = "", signed: Signed | None = None
    ) -> str:
        self.asked.append((peer, needs, user, signed))
        if not self.known or (signed is not None and not signed[2]):
            raise Refused("no", "")
        return self.known


def user_of(gate: Gate, call: Any, **more: bool) -> str:
    return gate.user_of(call, **more)


def refused(gate: Gate, call: Any) -> str:
    with pytest.raises(Rejected) as raised:
        gate.user_of(call)
    assert raised.value.code is m.Code.UNAUTHORIZED
    return raised.value.text


def test_who_signed_is_asked_for_with_what_was_signed() -> None:
    judge = Judging()
    call = Call(**signed("shop", WHEN, "secret"))
    assert user_of(Gate(judge), call) == "shop"
    signature = hmac.digest(b"secret", WHEN.encode(), "sha1")
    assert judge.asked == [(call, (), "", ("shop", WHEN.encode(), signature))]


@pytest.mark.parametrize("headers", [{}, {"x_mq_date_time": WHEN}, signed("", WHEN, "")])
def test_who_did_not_sign_is_asked_for_by_the_connection(headers: dict[str, str]) -> None:
    judge = Judging()
    call = Call(**headers)
    assert user_of(Gate(judge), call) == "shop"
    assert judge.asked == [(call, (), "", None)]


@pytest.mark.parametrize("headers", [{"authorization": "rubbish"}, {"authorization": "MQ Credential=shop"}])
def test_a_header_that_cannot_be_read_is_a_wrong_signature(headers: dict[str, str]) -> None:
    judge = Judging()
    call = Call(**headers)
    assert refused(Gate(judge), call).startswith("header ")
    assert judge.asked == [(call, (), "", ("", b"", b""))]
    assert user_of(Gate(ask_nobody), call) == ""


def test_the_age_of_a_signature_counts_where_a_call_begins() -> None:
    judge, clock = Judging(), ManualClock()
    gate = Gate(judge, AgeLimit(clock, 60_000))
    call = Call(**signed("shop", written(clock.now_ms())))
    clock.advance(59)
    assert user_of(gate, call) == "shop"
    clock.advance(10)
    assert "signature was made" in refused(gate, call)
    assert judge.asked[-1][3] == ("shop", b"", b"")
    assert user_of(gate, call, goes_on=True) == "shop"
    assert user_of(Gate(judge, AgeLimit(clock, 0)), call) == "shop"
    assert user_of(Gate(judge), call) == "shop"


def test_needs_are_those_of_the_client_s_user() -> None:
    class Client(ProxiedClient):
        user = "shop"

    judge, client = Judging(), Client()
    gate = Gate(judge)
    gate.check(client, to_publish("orders"))
    assert judge.asked == [(client, (to_publish("orders"),), "shop", None)]
    judge.known = ""
    with pytest.raises(Rejected, match="no") as raised:
        gate.check(client, to_look_at("orders"))
    assert raised.value.code is m.Code.UNAUTHORIZED
    Gate(ask_nobody).check(client, to_look_at("orders"))


def test_what_calls_need() -> None:
    pub, sub = (Action.PUB,), (Action.SUB,)
    assert to_publish("orders") == Need(Resource.TOPIC, "orders", pub)
    assert to_look_at("orders") == Need(Resource.TOPIC, "orders", (Action.PUB, Action.SUB, Action.GET))
    # A retry topic is its group's.
    assert to_consume("billing", "orders", "%RETRY%others") == [
        Need(Resource.GROUP, "billing", sub),
        Need(Resource.TOPIC, "orders", sub),
        Need(Resource.GROUP, "others", sub),
    ]
    topics = [m.Resource(name="a"), m.Resource(name="b")]
    assert to_be_settled(m.Settings(publishing=m.Publishing(topics=topics))) == [
        Need(Resource.TOPIC, "a", pub),
        Need(Resource.TOPIC, "b", pub),
    ]
    entries = [m.SubscriptionEntry(topic=each) for each in topics]
    reading = m.Subscription(group=m.Resource(name="billing"), subscriptions=entries)
    assert to_be_settled(m.Settings(subscription=reading)) == to_consume("billing", "a", "b")

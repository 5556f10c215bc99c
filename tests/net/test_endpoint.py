"""Limits and numbers that all connections of a client share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.errors import TooMuchInFlight
from mqframe.core.requests.consumers import HeartBeat, UnregisterClient
from mqframe.core.requests.serving import Call, serves
from mqframe.net.endpoint import Endpoint
from mqframe.net.settings import NetSettings


def test_every_request_has_a_number_of_its_own() -> None:
    endpoint = Endpoint(NetSettings(), {}, ())
    assert [next(endpoint.opaques) for _ in range(3)] == [1, 2, 3]


@given(st.lists(st.integers(0, 1500) | st.none(), max_size=40))
def test_no_more_is_in_flight_than_allowed_but_for_a_lone_large_one(steps: list[int | None]) -> None:
    endpoint = Endpoint(NetSettings(in_flight_requests_max=3, in_flight_bytes_max=1024), {}, ())
    flying: list[int] = []
    for size in steps:
        if size is None:
            if flying:
                endpoint.release(flying.pop(0))
        elif len(flying) < 3 and (not sum(flying) or sum(flying) + size <= 1024):
            endpoint.acquire(size)
            flying.append(size)
        else:
            with pytest.raises(TooMuchInFlight):
                endpoint.acquire(size)
        assert (endpoint.in_flight_requests, endpoint.in_flight_bytes) == (len(flying), sum(flying))


def test_a_refusal_says_which_limit_it_was() -> None:
    endpoint = Endpoint(NetSettings(in_flight_requests_max=2, in_flight_bytes_max=1024), {}, ())
    endpoint.acquire(1000)
    with pytest.raises(TooMuchInFlight, match="1000 bytes are in flight; 25 more pass the limit of 1024"):
        endpoint.acquire(25)
    endpoint.acquire(24)
    with pytest.raises(TooMuchInFlight, match="2 requests wait for their answers, the most allowed"):
        endpoint.acquire(0)


def test_who_serves_late_is_made_for_the_first_request_that_nobody_else_serves() -> None:
    made: list[str] = []

    class Late:
        @serves(HeartBeat)
        def heard(self, fields: HeartBeat, call: Call) -> None:
            """Nothing."""

    def make(name: str) -> object:
        made.append(name)
        return Late() if name == "late" else object()

    endpoint = Endpoint(NetSettings(), {1: lambda call: None}, ())
    endpoint.late += [lambda: make("last"), lambda: make("late")]
    assert endpoint.handler_of(1) is endpoint.handlers[1]
    assert made == []
    assert endpoint.handler_of(HeartBeat.CODE) is not None
    assert endpoint.handler_of(HeartBeat.CODE) is endpoint.handlers[HeartBeat.CODE]
    assert made == ["late"]
    assert endpoint.handler_of(9999) is None
    assert endpoint.handler_of(9999) is None
    assert made == ["late", "last"]


def test_who_serves_already_goes_on_when_others_come_late() -> None:
    class Late:
        @serves(HeartBeat, UnregisterClient)
        def heard(self, fields: HeartBeat | UnregisterClient, call: Call) -> None:
            """Nothing."""

    mine = {HeartBeat.CODE: lambda call: None}
    endpoint = Endpoint(NetSettings(), mine, ())
    endpoint.late.append(Late)
    assert endpoint.handler_of(UnregisterClient.CODE) is not None
    assert endpoint.handler_of(HeartBeat.CODE) is mine[HeartBeat.CODE]

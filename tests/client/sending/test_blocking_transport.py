"""Coroutines of the blocking API are driven without a loop."""

from __future__ import annotations

import asyncio

import pytest

from mqframe.client.sending.blocking_transport import BlockingTransport, run_blocking
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.requests.nameserver import GetAllTopicList
from mqframe.core.wire.frame import Frame


class Remoting:
    """Notes calls; stands where a `BlockingClient` would."""

    def __init__(self) -> None:
        self.calls = []

    def invoke(self, address, request, body=b"", *, timeout):
        self.calls.append(("invoke", address, request, body, timeout))
        return Frame(7)

    def oneway(self, address, request, body=b"", *, timeout):
        self.calls.append(("oneway", address, request, body, timeout))


def test_calls_and_routes_are_handed_on_with_their_times():
    remoting, route, asked = Remoting(), TopicRoute("t", TopicRouteData()), []

    def find(topic, seconds):
        asked.append((topic, seconds))
        return route

    def version(address, seconds):
        asked.append((address, seconds))
        return 407

    class Routes:
        known = staticmethod({"t": route}.get)
        hear = staticmethod(asked.append)

    transport = BlockingTransport(remoting, Routes, find, version)
    request = GetAllTopicList()
    assert run_blocking(transport.invoke("a:1", request, b"x", timeout=1.5)).code == 7
    assert run_blocking(transport.oneway("a:2", request, b"y", timeout=2.5)) is None
    assert remoting.calls == [("invoke", "a:1", request, b"x", 1.5), ("oneway", "a:2", request, b"y", 2.5)]
    assert (transport.known_route("t"), transport.known_route("u"), asked) == (route, None, [])
    assert run_blocking(transport.find_route("u", 3.0)) is route
    assert run_blocking(transport.broker_version("a:3", 1.0)) == 407
    transport.doubt_route("t")
    assert asked == [("u", 3.0), ("a:3", 1.0), "t"]


def test_errors_come_out_and_a_coroutine_that_suspends_is_a_fault():
    closed = []

    async def fails():
        raise ValueError("no")

    async def suspends():
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    with pytest.raises(ValueError, match="no"):
        run_blocking(fails())
    with pytest.raises(RuntimeError, match="suspended"):
        run_blocking(suspends())
    assert closed == [True]

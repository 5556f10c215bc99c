"""When a server takes peers of its own process, and when it does not."""

from __future__ import annotations

import pytest
from net.access.plugins import manager
from net.in_process.clients import Client, served

from mqframe.core.errors import ConnectionLost, Refusal
from mqframe.core.requests.needs import Action, topic_need
from mqframe.core.requests.serving import Reply
from mqframe.net.access.access import Access
from mqframe.net.access.guard import AccessRefusals, Guard
from mqframe.net.access.settings import AccessSettings
from mqframe.net.in_process.requests import InProcessRequests
from mqframe.net.settings import NetSettings


async def test_nobody_is_taken_before_the_server_runs_and_after_it_stopped() -> None:
    with pytest.raises(ConnectionLost, match="has not started yet") as lost:
        InProcessRequests().connect(Client())
    assert not lost.value.maybe_stored
    async with served({}) as place:
        assert not place.requests.connect(Client()).closed
    with pytest.raises(ConnectionLost, match="or stops"):
        place.requests.connect(Client())


async def test_an_address_is_needed() -> None:
    async with served({}) as place:
        for address in ("", "somewhere", "10.0.0.1"):
            with pytest.raises(ValueError, match=f"address {address!r} of a client is no"):
                place.requests.connect(Client(address=address))
        assert place.server.peers == frozenset()


async def test_peers_are_counted_as_connections_and_those_that_are_idle_go_for_others() -> None:
    async with served({1: lambda call: Reply()}, settings=NetSettings(connections_max=2)) as place:
        first, second = Client(), Client()
        one, two = place.requests.connect(first), place.requests.connect(second)
        assert place.server.counters()["budget.connections.used"] == "2"
        with pytest.raises(Refusal, match="connections_max") as refused:
            place.requests.connect(Client())
        assert refused.value.code == 2
        await place.clock.aadvance(70)
        await place.ask(two)
        three = place.requests.connect(Client())
        await place.settle()
        assert (one.closed, two.closed, three.closed) == (True, False, False)
        assert first.ends == ["idle, and others want to connect (net.connections_max)"]
        assert place.server.peers == {two, three}


async def test_who_asks_what_is_no_request_is_judged_where_there_is_access_control() -> None:
    needs = [topic_need("anna", (Action.SUB,))]
    names = AccessSettings(authentication="naming", authorization="matching")
    async with served({}) as place:
        judge, client = place.requests.judge, Client()
        assert judge(client, needs, signed=("anna", b"now", b"then")) == ""
        refusals = AccessRefusals(place.clock)
        place.server.admit(Guard(Access(names, place.clock, manager()), refusals, 1000).admit)
        assert judge(client, needs, signed=("anna", b"now", b"now")) == "anna"
        assert judge(client, [], signed=("ben", b"now", b"now")) == "ben"
        assert judge(client, needs, "anna") == "anna"
        for more in ({"user": "ben"}, {"signed": ("anna", b"now", b"then")}, {}):
            with pytest.raises(Refusal):
                judge(client, needs, **more)
        assert (refusals.unknown, refusals.forbidden) == (2, 1)
    with pytest.raises(ConnectionLost, match="or stops"):
        judge(client, needs, "anna")

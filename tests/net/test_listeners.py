"""The ports of a server."""

from __future__ import annotations

from mqframe_admin.requests import DeleteTopicInBroker
from mqframe_testing.manual_clock import ManualClock
from net.access.plugins import manager
from net.in_process import clients
from peers import ROUTE

from mqframe.core.requests.serving import Reply
from mqframe.net.access.access import Access
from mqframe.net.access.settings import AccessSettings
from mqframe.net.client import Client
from mqframe.net.in_process.requests import InProcessRequests
from mqframe.net.listeners import Listeners
from mqframe.net.server import Server


class Place:
    def __init__(self, operator_port: int | None) -> None:
        self.clock = ManualClock()
        handlers = {code: lambda call: Reply() for code in (ROUTE.CODE, DeleteTopicInBroker.CODE)}
        self.listeners = Listeners(lambda: Server(handlers, self.clock), operator_port, 1000)
        self.client = Client(self.clock)
        self.port = 0

    async def __aenter__(self) -> Place:
        self.port = await self.listeners.start("127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        await self.listeners.stop()

    async def code(self, request: object, port: int) -> int:
        return (await self.client.invoke(f"127.0.0.1:{port}", request)).code  # type: ignore[arg-type]


async def test_one_port_serves_all() -> None:
    async with Place(None) as place:
        assert place.listeners.operator_port == 0
        assert await place.code(DeleteTopicInBroker("t"), place.port) == 0


async def test_operators_are_served_at_their_port_alone() -> None:
    async with Place(0) as place:
        operators = place.listeners.operator_port
        assert operators not in (0, place.port)
        assert await place.code(ROUTE("t"), place.port) == 0
        assert await place.code(DeleteTopicInBroker("t"), place.port) == 16
        assert await place.code(DeleteTopicInBroker("t"), operators) == 0
        assert await place.code(ROUTE("t"), operators) == 0


async def test_who_asks_is_checked_at_both() -> None:
    place = Place(0)
    place.listeners.enforce(Access(AccessSettings(authentication="naming"), place.clock, manager()))
    async with place:
        for port in (place.port, place.listeners.operator_port):
            assert await place.code(ROUTE("t"), port) == 16
        assert place.listeners.counters()["authenticationFailures"] == "2"


async def test_peers_in_the_process_are_not_served_as_operators() -> None:
    for operator_port, code in ((None, 0), (0, 16)):
        place, requests = Place(operator_port), InProcessRequests()
        place.listeners.serve_in_process(requests)
        async with place:
            peer = requests.connect(clients.Client())
            assert (await peer.ask(ROUTE("t"))).code == 0
            assert (await peer.ask(DeleteTopicInBroker("t"))).code == code
            assert place.listeners.counters()["budget.connections.used"] == "1"

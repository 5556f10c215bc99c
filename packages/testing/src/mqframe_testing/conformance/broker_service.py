"""Conformance suite of broker services: each runs in a broker of its own, on a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.hooks.interfaces import BrokerService, SendRule
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl
from mqframe.net.client import Client
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

_NAME = "under_test"


@attrs.frozen
class RunningService:
    """A service in its broker. `cluster` can stop, kill and start the broker; `services`: all made so far."""

    cluster: AsyncCluster
    clock: ManualClock
    services: list[BrokerService]

    @property
    def service(self) -> BrokerService:
        """The one that runs now."""
        return self.services[-1]

    async def send(self, topic: str, body: bytes = b"body", properties: str = "") -> int:
        """Send a message to queue 0 as a producer does; gives the code of the answer."""
        client = Client(self.clock)
        request = SendMessageV2(
            topic=topic, producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
            sys_flag=0, born_timestamp=self.clock.now_ms(), flag=0, properties=properties,
        )  # fmt: skip
        try:
            return (await client.invoke(self.cluster.broker.address, request, body)).code
        finally:
            await client.close()


def _played(check: Callable[[Any, RunningService], Awaitable[None]]) -> Callable[[Any], None]:
    """A check that is awaited while the service runs in its broker."""

    def test(self: BrokerServiceConformance) -> None:
        self.play(lambda running: check(self, running))

    test.__doc__ = check.__doc__
    return test


class BrokerServiceConformance:
    """What a service declares can be used by a broker, and does not disturb what others do."""

    def make(self, port: Any) -> BrokerService:
        """A fresh service; `port` is a `BrokerPort`."""
        raise NotImplementedError

    def play(self, story: Callable[[RunningService], Awaitable[None]]) -> None:
        """Run `story` against a broker with the service and the topic `orders`. For tests of one's own."""
        made: list[BrokerService] = []

        def factory(port: Any) -> BrokerService:
            made.append(self.make(port))
            return made[-1]

        class Plugin:
            @hookimpl
            def register_broker_services(self) -> dict[str, Any]:
                return {_NAME: factory}

        async def whole() -> None:
            clock = ManualClock()
            options: dict[str, Any] = {"broker": {"services": (_NAME,)}, "plugins": plugins}
            async with AsyncCluster(clock=clock, **options) as cluster:
                await cluster.create_topic("orders", 2)
                await story(RunningService(cluster, clock, made))

        plugins = PluginManager()
        plugins.register(Plugin(), "conformance")
        asyncio.run(whole())

    @_played
    async def test_ordinary_messages_are_stored_as_ever(self, running: RunningService) -> None:
        """Whatever the service declares."""
        for number in range(3):
            assert await running.send("orders", b"%d" % number, f"UNIQ_KEY\x01k{number}\x02") == 0
        assert running.cluster.broker.store.queues.max_offset("orders", 0) == 3

    @_played
    async def test_declarations_say_the_same_when_they_are_asked_again(self, running: RunningService) -> None:
        """A broker asks once, tools may ask again."""
        service = running.service
        assert set(service.arrivals()) == set(service.arrivals())
        assert [each.name for each in service.periodic()] == [each.name for each in service.periodic()]
        assert all(each.seconds > 0 and each.name for each in service.periodic())
        assert all(isinstance(rule, SendRule) for rule in service.send_rules())
        names = [table.name for table in service.tables()]
        assert len(set(names)) == len(names)

    @_played
    async def test_tables_can_be_saved_and_loaded(self, running: RunningService) -> None:
        """What `dump` gives is of the declared class, and a fresh table that loads it dumps the same."""
        await running.send("orders")
        await running.clock.aadvance(1)
        fresh = self.make(running.cluster.broker.service_port).tables()
        for table, other in zip(running.service.tables(), fresh, strict=True):
            saved = dumps(table.table.dump())
            other.table.load(decode(saved, table.body))
            assert decode(dumps(other.table.dump()), table.body) == decode(saved, table.body)
            assert isinstance(table.table.changes, int)

    @_played
    async def test_counters_are_texts(self, running: RunningService) -> None:
        """They are shown among the broker's own."""
        for name, value in running.service.counters().items():
            assert isinstance(name, str)
            assert isinstance(value, str)

    @_played
    async def test_it_outlives_stops_and_crashes_of_its_broker(self, running: RunningService) -> None:
        """Messages are taken before and after."""
        assert await running.send("orders", properties="UNIQ_KEY\x01a\x02") == 0
        await running.cluster.restart_broker()
        assert await running.send("orders", properties="UNIQ_KEY\x01b\x02") == 0
        await running.cluster.kill_broker()
        await running.cluster.start_broker()
        assert await running.send("orders", properties="UNIQ_KEY\x01c\x02") == 0
        assert len(running.services) == 3

    @_played
    async def test_time_may_pass(self, running: RunningService) -> None:
        """Periodic work and what falls due do no harm on an idle broker."""
        await running.clock.aadvance(3600)
        assert await running.send("orders") == 0

"""What monitoring may know of a broker."""

from __future__ import annotations

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.admin.dispatch_lag import DispatchLag
from mqframe.hooks.interfaces.dispatcher import Dispatcher


class Nothing(Dispatcher):
    """Makes nothing durable."""

    name = "nothing"

    def dispatch(self, stretch: object) -> int:
        return 0


async def test_tables_traffic_and_latencies_are_those_of_the_broker() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        broker = world.cluster.broker
        measured = broker.measure()
        assert broker.measure() is measured
        await world.client.ok_send("t")
        assert measured.port is broker.service_port
        assert "t" in measured.tables.topics
        assert {topic: count.total for topic, count in measured.traffic.puts.items()} == {"t": 1}
        counted = {labels[1]: sum(value.counts) for labels, value in measured.latencies().series}
        assert counted == {"send_message_v2": 1}
        assert int(measured.budgets()["budget.topics.used"]) == len(measured.tables.topics)


async def test_numbers_are_those_of_all_parts_but_the_lag_of_dispatchers() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        measured = world.cluster.broker.measure()
        world.store.followers.add(Nothing())
        numbers: dict[str, str] = {}
        for counters in measured.counters:
            numbers |= counters()
        assert numbers["taskFailures"] == "0"
        assert not any(name.startswith("dispatcher.") for name in numbers)
        assert any(isinstance(each, DispatchLag) for each in measured.services)
        others = [name for each in measured.services for name in each.counters()]
        assert any(name.startswith("dispatcher.nothing.") for name in others)


async def test_the_store_says_how_far_it_is_and_whether_it_takes_messages() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        store = world.cluster.broker.measure().store
        world.store.followers.add(Nothing())
        await world.client.ok_send("t")
        await world.settle_loop()
        assert store.directory == world.store.settings.directory
        assert store.flushed_offset == world.store.log.flushed_offset
        assert store.confirmed_offset == world.store.log.confirmed_offset == world.store.log.max_offset
        assert (store.refuses, store.distrusted) == (False, False)
        assert [(lag.name, lag.size_bytes) for lag in store.lags()] == [
            ("nothing", world.store.log.max_offset)
        ]
        world.store.disk.distrust("the index", OSError("input/output error"))
        assert (store.refuses, store.distrusted) == (False, True)

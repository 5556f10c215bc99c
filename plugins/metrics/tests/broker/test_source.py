"""Metrics of a broker that is made anew in between."""

from __future__ import annotations

from typing import Any

from mqframe_metrics import BrokerSource
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock


class Host:
    """Has the broker that a test gives it."""

    is_registered = True
    refusal = ""

    def __init__(self) -> None:
        self.broker: Any = None

    def measure(self) -> Any:
        return None if self.broker is None else self.broker.measure()


async def names(source: BrokerSource) -> set[str]:
    return {getattr(each, "name", "") async for each in source.families()}


async def test_metrics_are_those_of_the_broker_that_is_there() -> None:
    host = Host()
    source = BrokerSource(host)
    assert (source.labels, await names(source)) == ({}, set())
    for name in ("a", "b"):
        async with AsyncCluster(clock=ManualClock(), broker={"name": name}) as cluster:
            host.broker = cluster.broker
            assert "rocketmq_topic_number" in await names(source)
            assert source.labels["node_id"] == name
            host.broker = None
            assert await names(source) == set()

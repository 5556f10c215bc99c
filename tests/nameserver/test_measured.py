"""What monitoring may know of a name server."""

from __future__ import annotations

from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock


async def test_a_name_server_tells_its_address_its_requests_and_its_numbers() -> None:
    async with AsyncCluster(clock=ManualClock()) as cluster:
        measured = cluster.name_server.measure()
        await cluster.create_topic("t")
        assert measured.address == cluster.nameserver
        asked = {labels[1] for labels, _ in measured.latencies().series}
        assert "register_broker" in asked
        assert measured.counters()["budget.brokers.used"] == "1"

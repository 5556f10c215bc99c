from mqframe_metrics import NameServerSource
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from scrapes import Scrape, scrape


async def test_a_name_server_shows_its_requests_and_budgets():
    async with AsyncCluster(clock=ManualClock()) as cluster:
        metrics = NameServerSource(cluster.name_server)
        await cluster.create_topic("t")
        shown = Scrape(await scrape(metrics))
        here = {"node_type": "nameserver", "node_id": cluster.nameserver}
        assert shown.value("mqframe_budget_used", budget="brokers", **here) == 1
        asked = shown.value("rocketmq_rpc_latency_milliseconds_count", request_code="register_broker", **here)
        assert asked >= 1

from mqframe_metrics.proxy import ProxySource
from scrapes import Scrape, scrape

from mqframe.core.measuring.family import Family, MetricKind
from mqframe.core.measuring.histogram import Histogram


class Proxy:
    """A server before brokers elsewhere. `is_registered`: whether it has found a name server."""

    address = "127.0.0.1:8081"
    is_registered = True
    refusal = ""

    def latencies(self):
        latencies = Family("rocketmq_rpc_latency_milliseconds", MetricKind.HISTOGRAM, "?", ("request_code",))
        latencies.add(Histogram([1, 10], [2, 1, 0], 7.5), "send_message")
        return latencies

    def counters(self):
        return {"grpc.clients": "3", "budget.connections.used": "2", "words": "for people"}


async def test_a_proxy_shows_how_long_calls_take():
    labels = 'node_type="proxy",node_id="127.0.0.1:8081",request_code="send_message"'
    name = "rocketmq_rpc_latency_milliseconds"
    lines = (await scrape(ProxySource(Proxy()))).splitlines()
    assert [line for line in lines if line.startswith(name)] == [
        f'{name}_bucket{{{labels},le="1.0"}} 2',
        f'{name}_bucket{{{labels},le="10.0"}} 3',
        f'{name}_bucket{{{labels},le="+Inf"}} 3',
        f"{name}_sum{{{labels}}} 7.5",
        f"{name}_count{{{labels}}} 3",
    ]


async def test_a_proxy_shows_its_numbers_and_budgets():
    shown = Scrape(await scrape(ProxySource(Proxy())))
    here = {"node_type": "proxy", "node_id": "127.0.0.1:8081"}
    assert shown.value("mqframe_counter", name="grpc.clients", **here) == 3
    assert shown.value("mqframe_budget_used", budget="connections", **here) == 2

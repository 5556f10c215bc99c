from mqframe_metrics.proxy import ProxySource
from scrapes import Scrape, scrape


class Proxy:
    """A server before brokers elsewhere. `is_registered`: whether it has found a name server."""

    address = "127.0.0.1:8081"
    is_registered = True
    refusal = ""

    def counters(self):
        return {"grpc.clients": "3", "budget.connections.used": "2", "words": "for people"}


async def test_a_proxy_shows_its_numbers_and_budgets():
    shown = Scrape(await scrape(ProxySource(Proxy())))
    here = {"node_type": "proxy", "node_id": "127.0.0.1:8081"}
    assert shown.value("mqframe_counter", name="grpc.clients", **here) == 3
    assert shown.value("mqframe_budget_used", budget="connections", **here) == 2

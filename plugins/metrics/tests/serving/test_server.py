"""The metrics port of a process, beside a loop that runs, is stalled, or does not answer."""

import asyncio
import json
import sys
import threading
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from mqframe_metrics.serving.server import MetricsServer
from mqframe_metrics.settings import MetricsSettings
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from scrapes import Scrape

from mqframe.core.errors import SettingError
from mqframe.core.measuring.family import Family, MetricKind, one


class Source:
    labels = {"node_id": "a"}

    def __init__(self, problem=None):
        self._problem = problem

    async def families(self):
        if self._problem is not None:
            raise self._problem
        yield one("lag", MetricKind.GAUGE, "", 7)


def get(address, path):
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@asynccontextmanager
async def staged(expected=("broker",), **settings):
    server = MetricsServer(MetricsSettings(port=0, **settings), expected)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


BROKER = SimpleNamespace(is_registered=True, refusal="")


async def test_metrics_of_servers_and_of_the_process_are_one_text():
    async with staged() as server:
        server.watch("broker", Source(), BROKER)
        status, text = await asyncio.to_thread(get, server.address, "/metrics")
        shown = Scrape(text)
        assert (status, shown.value("lag", node_id="a")) == (200, 7)
        assert shown.value("process_cpu_seconds_total") > 0
        assert shown.value("process_resident_memory_bytes") > 0
        assert shown.value("process_open_fds") > 0
        assert shown.value("python_gc_collections_total", generation="0") >= 0


async def test_it_says_that_a_server_has_not_started_and_that_it_has():
    async with staged() as server:
        status, text = await asyncio.to_thread(get, server.address, "/readyz")
        assert (status, json.loads(text)["waits_for"]) == (503, ["broker has not started"])
        assert (await asyncio.to_thread(get, server.address, "/healthz"))[0] == 200
        server.watch("broker", Source(), BROKER)
        status, text = await asyncio.to_thread(get, server.address, "/readyz")
        assert (status, json.loads(text)["ready"]) == (200, True)


async def test_health_is_answered_while_the_loop_is_stalled_and_says_so():
    async with staged() as server:
        server.watch("broker", Source(), BROKER)
        answers, told = [], threading.Event()

        def ask():
            answers.append(get(server.address, "/readyz"))
            told.set()

        threading.Thread(target=ask).start()
        told.wait(30)  # the loop does nothing else meanwhile
        ((status, text),) = answers
        health = json.loads(text)
        assert (status, health["ready"], health["overloaded"]) == (200, True, True)
        assert health["loop_delay_ms"] >= 900


async def test_a_scrape_that_the_loop_does_not_make_in_time_is_given_up():
    async with staged(scrape_seconds=0.2) as server:
        server.watch("broker", Source(), BROKER)
        answers, told = [], threading.Event()

        def ask():
            answers.append(get(server.address, "/metrics"))
            told.set()

        threading.Thread(target=ask).start()
        told.wait(30)
        ((status, text),) = answers
        assert (status, text) == (503, "not done within 0.2 s (metrics.scrape_seconds)\n")


async def test_a_scrape_that_fails_is_an_answer():
    async with staged() as server:
        server.watch("broker", Source(RuntimeError("broken")), BROKER)
        assert (await asyncio.to_thread(get, server.address, "/metrics"))[0] == 500


def test_without_prometheus_client_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(SettingError, match=r"mqframe\[metrics\]"):
        MetricsServer(MetricsSettings(port=0), ())


def test_the_address_of_an_ipv6_host_has_brackets():
    assert MetricsServer(MetricsSettings(host="::1", port=9100), ()).address == "[::1]:9100"


async def test_an_address_in_use_is_a_setting_to_change():
    async with staged() as server:
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(SettingError, match=r"^metrics cannot start: Address already in use"):
            await MetricsServer(MetricsSettings(port=port), ()).start()


def test_brokers_of_the_same_machine_have_the_ports_behind():
    server = MetricsServer(MetricsSettings(port=5557), ("nameserver",))
    assert [server.settings_beside(number) for number in (0, 2)] == [
        {"metrics.port": 5558},
        {"metrics.port": 5560},
    ]
    assert MetricsServer(MetricsSettings(port=0), ()).settings_beside(3) == {"metrics.port": 0}
    with pytest.raises(SettingError, match=r"^with metrics from port 65533 on: the last is 65535$"):
        MetricsServer(MetricsSettings(port=65533), ()).settings_beside(2)


async def test_servers_are_ready_once_they_have_started_and_are_known():
    async with staged() as server, AsyncCluster(clock=ManualClock()) as cluster:
        server.nameserver_started("nameserver", cluster.name_server)
        server.broker_started("broker", cluster.broker)
        status, text = await asyncio.to_thread(get, server.address, "/readyz")
        assert (status, json.loads(text)["waits_for"]) == (200, [])
        _, text = await asyncio.to_thread(get, server.address, "/metrics")
        shown = Scrape(text)
        assert shown.value("rocketmq_broker_permission", node_id="broker-a") == 6
        assert shown.value("mqframe_budget_used", budget="brokers", node_type="nameserver") == 1


class Proxy:
    """A server before brokers elsewhere."""

    address = "127.0.0.1:8081"
    is_registered = False
    refusal = "name servers know no broker"

    def latencies(self):
        return Family("rocketmq_rpc_latency_milliseconds", MetricKind.HISTOGRAM, "?")

    def counters(self):
        return {"grpc.clients": "3"}


async def test_a_proxy_is_ready_once_it_has_found_a_name_server():
    async with staged(("proxy",)) as server:
        proxy = Proxy()
        server.proxy_started("proxy", proxy)
        status, text = await asyncio.to_thread(get, server.address, "/readyz")
        assert (status, json.loads(text)["refuses"]) == (503, proxy.refusal)
        proxy.is_registered = True
        status, _ = await asyncio.to_thread(get, server.address, "/readyz")
        assert status == 200
        _, text = await asyncio.to_thread(get, server.address, "/metrics")
        assert Scrape(text).value("mqframe_counter", name="grpc.clients", node_type="proxy") == 3

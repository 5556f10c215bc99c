"""`mqframe proxy` as a process of its own, with the official Python client before two brokers."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from guarded_doors import SECRET, SETTINGS
from interop.grpc.clients import ClientError, ClientProgram, Clients
from interop.grpc.doors import Door
from mqframe_testing.cluster import Cluster
from mqframe_testing.ports import lasting_port
from real_time import until

from mqframe import Admin

GROUP = "billing"
LATENCY = "rocketmq_rpc_latency_milliseconds"
START_SECONDS_MAX = 60.0
END_SECONDS_MAX = 30.0
QUEUES = 2
INVISIBLE_MS = 600_000
"""Nothing comes again in a test: the client picks a broker by chance, and may wait at the empty one often."""


class ProxyProcess:
    """`mqframe proxy` on `port`, or on free ones. `endpoint` and `metrics`: its addresses."""

    def __init__(self, nameserver: str, *words: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "mqframe", "proxy", "--port", str(port), "--nameserver", nameserver]
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MQFRAME_")}
        self.process = subprocess.Popen(
            [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean
        )
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], START_SECONDS_MAX)
        line = self.process.stdout.readline() if readable else ""
        assert line.startswith("ready "), f"{line}{self.end()}"
        addresses = dict(word.split("=") for word in line.split()[1:])
        self.endpoint, self.metrics = addresses["proxy"], addresses.get("metrics", "")

    def __enter__(self) -> ProxyProcess:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.process.returncode is None:
            assert self.end() == ""
            assert self.process.returncode == 0

    def counter(self, name: str) -> float:
        """One of the numbers that it shows."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics") as page:
            lines = page.read().decode().splitlines()
        [line] = [line for line in lines if f'name="{name}"' in line]
        assert f'node_id="{self.endpoint}"' in line
        assert 'node_type="proxy"' in line
        return float(line.split()[-1])

    def end(self) -> str:
        """Stop it in good order; what it wrote to standard error."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=END_SECONDS_MAX)
        return said


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(2) as running:
        running.create_topic("orders", QUEUES)
        with Admin(nameserver=running.nameserver) as admin:
            admin.topics.create("restarts", queues=QUEUES, broker="broker-a")
        running.create_topic("ordered", QUEUES, attributes="+message.type=FIFO")
        yield running


@pytest.fixture(scope="module")
def proxy(cluster: Cluster) -> Iterator[ProxyProcess]:
    with ProxyProcess(cluster.nameserver, "--metrics-port", "0") as running:
        yield running


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientProgram]:
    running = ClientProgram("python", tmp_path_factory.mktemp("python"))
    yield running
    running.end()


@pytest.fixture
def clients(program: ClientProgram, proxy: ProxyProcess, cluster: Cluster) -> Iterator[Clients]:
    made = Clients(program, Door(proxy.endpoint, cluster.nameserver))
    yield made
    made.end()


def test_messages_go_to_all_brokers_and_come_from_all(clients: Clients, cluster: Cluster) -> None:
    producer, consumer = clients.producer("orders"), clients.simple(GROUP, {"orders": "*"})
    sent = {f"{number}" for number in range(8)}
    for body in sent:
        producer.send("orders", body)
    queues = [broker.store.queues for broker in cluster.cluster.brokers]
    # Queues list a message a moment after its answer.
    until(lambda: sum(each.max_offset("orders", n) for each in queues for n in range(QUEUES)) >= len(sent))
    for of_broker in queues:
        ends = [of_broker.max_offset("orders", queue) for queue in range(QUEUES)]
        assert ends == [2, 2]
    got = consumer.take(8, INVISIBLE_MS)
    assert {each.text for each in got} == sent
    consumer.ack(*got)


def test_a_push_consumer_gets_a_group_in_order(clients: Clients) -> None:
    clients.door.create_group("shop", ordered=True)
    producer = clients.producer("ordered")
    for number in range(5):
        producer.send("ordered", f"{number}", group="customer 7")
    consumer = clients.push("shop", {"ordered": "*"})
    assert [each.text for each in consumer.take(5)] == ["0", "1", "2", "3", "4"]


def test_health_and_metrics(proxy: ProxyProcess, clients: Clients) -> None:
    clients.producer("orders").send("orders", "measured")
    with urllib.request.urlopen(f"http://{proxy.metrics}/readyz") as page:
        assert json.load(page)["ready"] is True
    assert proxy.counter("grpc.brokers") == 2
    with urllib.request.urlopen(f"http://{proxy.metrics}/metrics") as page:
        lines = page.read().decode().splitlines()
    labels = f'node_type="proxy",node_id="{proxy.endpoint}",protocol_type="grpc",request_code="send_message"'
    told = 'response_code="ok",is_long_polling="false",result="success"'
    [line] = [line for line in lines if line.startswith(f"{LATENCY}_count{{{labels},{told}}}")]
    assert int(line.split()[-1]) >= 1


def test_another_proxy_goes_on_where_one_was_stopped(program: ClientProgram, cluster: Cluster) -> None:
    port = lasting_port()
    with ProxyProcess(cluster.nameserver, "--metrics-port", "0", port=port) as first:
        clients = Clients(program, Door(first.endpoint, cluster.nameserver))
        producer = clients.producer("restarts", request_timeout_ms=3000)
        consumer = clients.simple(GROUP, {"restarts": "*"}, await_ms=20_000, request_timeout_ms=3000)
        for number in range(4):
            producer.send("restarts", f"{number}")
        got = consumer.take(4, INVISIBLE_MS)
        waiting = program.later("receive", client=consumer.number, max=1, invisible_ms=INVISIBLE_MS)
        until(lambda: first.counter("grpc.asked"))  # it waits
    assert waiting.result()["messages"] == []
    with ProxyProcess(cluster.nameserver, port=port):
        until(lambda: is_served(lambda: producer.send("restarts", "after")))
        until(lambda: is_served(lambda: consumer.ack(got[0])))
        consumer.ack(*got[1:])
        [late] = consumer.take(1)
        assert late.text == "after"
        consumer.ack(late)
        clients.end()


def test_a_proxy_that_asks_its_clients_who_they_are(program: ClientProgram) -> None:
    guarded = Cluster()
    guarded.cluster.enforce(SETTINGS)
    own = {
        "authentication": "acl2",
        "authorization": "acl2",
        "inner_credentials": SETTINGS.inner_credentials,
    }
    words = [word for name, value in own.items() for word in ("--set", f"access.{name}={value}")]
    with guarded:
        door = Door("", guarded.nameserver, operator={"access_key": "admin", "secret_key": SECRET})
        door.create_topic("orders")
        door.create_topic("others")
        with door.admin() as admin:
            admin.users.create("shop", SECRET)
            admin.policies.set("shop", ["Topic:orders"], actions=["Pub"])
        with ProxyProcess(guarded.nameserver, "--metrics-port", "0", *words) as running:
            door.endpoint = running.endpoint
            clients = Clients(program, door, {"access_key": "shop", "secret_key": SECRET})
            clients.producer("orders").send("orders", "o-1")
            with pytest.raises(ClientError):
                clients.producer("others").send("others", "o-2")
            assert running.counter("authorizationFailures")
            assert running.counter("authenticationFailures") == 0
            clients.end()
            # It tells of those whom it refuses.
            assert "User:shop has no permission to access Topic:others" in running.end()


def is_served(ask: Callable[[], object]) -> bool:
    """Whether a proxy answers: a client that finds none looks for it again, after pauses of its own."""
    try:
        ask()
    except ClientError:
        return False
    return True


def test_settings_that_cannot_be(cluster: Cluster) -> None:
    with pytest.raises(AssertionError, match=r"port of plugin grpc from .* = 70000: must be"):
        ProxyProcess(cluster.nameserver, port=70000)
    with pytest.raises(AssertionError, match=r"plugins\.grpc\.advertised = 'nowhere': must be host:port"):
        ProxyProcess(cluster.nameserver, "--advertised", "nowhere")

"""What the chart renders works, as far as namespaces show it: no container engine, no cluster."""

from __future__ import annotations

import json
from pathlib import Path

import own_programs
import pytest
from deploy.chart import rendered
from deploy.pods import Node, Pod, may_run, missing_programs, pods_of

SETTINGS = "[store]\ndisk_limits = false\ncommit_log_file_bytes = 1048576\n"
NAMES = "shop-mqframe-nameserver-0.shop-mqframe-nameserver.queues.svc:9876"
pytestmark = pytest.mark.timeout(1500)

READY = """
import sys, time, urllib.request
end = time.monotonic() + 180
for url in sys.argv[1:]:
    while True:
        try:
            request = urllib.request.Request(url, headers={"Host": "localhost"})
            urllib.request.urlopen(request, timeout=5).close()
            break
        except OSError as problem:
            if time.monotonic() > end:
                sys.exit(f"{url}: {problem}")
            time.sleep(0.1)
"""
SEND = """
import json, sys
from mqframe import Message, Producer
names, begin, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Producer("shop", nameserver=names) as producer:
    for n in range(begin, end):
        producer.send(Message("orders", b"%d" % n, keys=(str(n),)))
"""
READ = """
import json, sys
from mqframe import Admin, LitePullConsumer
names, wanted = sys.argv[1], int(sys.argv[2])
found = []
with LitePullConsumer("readers", nameserver=names, consume_from="first") as consumer:
    consumer.subscribe("orders")
    for _ in range(600):
        found += [(each.queue.broker_name, each.body.decode()) for each in consumer.poll(timeout=0.1)]
        if len({body for _, body in found}) >= wanted:
            break
print(json.dumps(found))
"""
PAGE = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())
"""


@pytest.fixture
def pods_can_run() -> None:
    absent = missing_programs()
    if absent:
        own_programs.missing(f"{', '.join(absent)}: not on PATH")
    if not may_run():
        pytest.skip("this user may make no networks with bridges")


def wait_until_ready(node: Node, pods: list[Pod]) -> None:
    try:
        node.python(READY, *(pod.url(probe) for pod in pods for probe in ("readinessProbe", "livenessProbe")))
    except AssertionError as problem:
        logs = "\n".join(f"{pod.name}: {pod.log()[-2000:]}" for pod in pods)
        raise AssertionError(f"{problem}\n{logs}") from None


@pytest.mark.usefixtures("pods_can_run")
def test_a_cluster_of_all_parts_outlives_the_kill_of_a_broker_that_comes_back_elsewhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "server.toml").write_text(SETTINGS)
    found = rendered(
        *("--set-file", f"settings={tmp_path}/server.toml"),
        *("--set", "nameserver.replicas=1,proxy.replicas=1,dashboard.replicas=1"),
    )
    with pods_of(found, tmp_path / "node") as (node, pods):
        assert sorted(pods) == [
            "shop-mqframe-broker-0",
            "shop-mqframe-broker-1",
            "shop-mqframe-dashboard",
            "shop-mqframe-nameserver-0",
            "shop-mqframe-proxy",
        ]
        wait_until_ready(node, list(pods.values()))
        node.python(SEND, NAMES, "0", "40")
        broker = pods["shop-mqframe-broker-0"]
        before = broker.address
        broker.kill()
        broker.start()
        assert broker.address != before
        wait_until_ready(node, [broker])
        node.python(SEND, NAMES, "40", "80")
        read = json.loads(node.python(READ, NAMES, "80"))
        assert sorted(int(body) for _, body in read) == list(range(80))
        assert {name for name, _ in read} == {"shop-mqframe-broker-0", "shop-mqframe-broker-1"}
        page = node.python(PAGE, "http://shop-mqframe-dashboard.queues.svc:8080/")
        assert f"{broker.address}:10911" in page


@pytest.mark.long
@pytest.mark.usefixtures("pods_can_run")
def test_an_elected_group_with_its_etcd_loses_nothing_when_its_leader_is_killed(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(SETTINGS)
    found = rendered(
        *("--set-file", f"settings={tmp_path}/server.toml", "--set", "etcd.image=etcd"),
        *("--set", "nameserver.replicas=1,broker.replicas=1,broker.copies=3,etcd.replicas=3"),
    )
    with pods_of(found, tmp_path / "node") as (node, pods):
        copies = [pods[f"shop-mqframe-broker-0-{n}"] for n in range(3)]
        wait_until_ready(node, [each for each in pods.values() if each not in copies])
        wait_until_one_leads(node)
        node.python(SEND, NAMES, "0", "40")
        leader = wait_until_one_leads(node)
        (killed,) = [each for each in copies if each.address == leader]
        killed.kill()
        assert wait_until_one_leads(node, other_than=leader) != leader
        node.python(SEND, NAMES, "40", "80")
        killed.start()
        wait_until_ready(node, [killed])
        read = json.loads(node.python(READ, NAMES, "80"))
        assert {int(body) for _, body in read} == set(range(80))


LEADER = """
import sys, time
from mqframe import Admin
from mqframe.core.errors import MqframeError
names, former = sys.argv[1:]
for _ in range(600):
    try:
        with Admin(nameserver=names) as admin:
            hosts = [address.partition(":")[0] for address in admin.cluster.masters().values()]
            if hosts and hosts != [former]:
                print(*hosts)
                break
    except MqframeError:
        pass
    time.sleep(0.1)
"""


def wait_until_one_leads(node: Node, other_than: str = "") -> str:
    return node.python(LEADER, NAMES, other_than).strip()

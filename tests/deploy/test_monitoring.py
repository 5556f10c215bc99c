"""The Grafana board and the alert rules name metrics and labels that there are."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mqframe_election.broker.role_by_election import RoleByElection
from mqframe_election.settings import ElectionSettings
from mqframe_metrics import BrokerSource
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.ports import lasting_port
from mqframe_testing.simulation.pools import work_at_once
from prometheus_client import REGISTRY
from replicas import Pair
from scrapes import scrape

from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.measuring.family import Family, MetricTable
from mqframe.hooks.manager import PluginManager
from mqframe.store.incoming import Incoming
from mqframe.store.settings import StoreSettings

DEPLOY = Path(__file__).parents[2] / "deploy"
BOARD = DEPLOY / "grafana/mqframe.json"
RULES = DEPLOY / "prometheus/mqframe.rules.yml"
OF_SCRAPES = {"instance", "job", "le"}
NAME = re.compile(r"\b(?:rocketmq|mqframe|process|python)_\w+")
PROMTOOL = shutil.which("promtool")


def board_queries() -> list[str]:
    panels = json.loads(BOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def rule_queries() -> list[str]:
    """What stands behind `expr:`, on its line or, indented, below it."""
    found = re.findall(r"^ +expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", RULES.read_text(), re.MULTILINE)
    return [below or line for below, line in found]


async def families_of(broker: Broker) -> list[tuple[Family, set[str]]]:
    metrics = BrokerSource(broker)
    return [
        (family, {*metrics.labels, *family.labels})
        async for metric in metrics.families()
        for family in (metric.families if isinstance(metric, MetricTable) else (metric,))
    ]


async def group(folder: Path, gathered: list[tuple[Family, set[str]]]) -> None:
    """Add what the leader of an elected group shows."""
    clock = ManualClock()
    sections = BrokerSections(
        BrokerSettings(port=0, nameservers=(f"127.0.0.1:{lasting_port()}",)),
        StoreSettings(directory=folder / "store", commit_log_file_bytes=1 << 20, disk_limits=False),
        replication=ReplicationSettings(role="ELECTED", id=1),
        added=(ElectionSettings(coordination="sqlite", first_wait_ms=0),),
    )
    plugins = PluginManager().configured({"sqlite": {"file": str(folder / "group.sqlite")}})
    election = RoleByElection(sections, clock, plugins, boot="1")
    broker = BrokerHost(lambda sections, elected: Broker(sections, clock, plugins, elected), election)
    with work_at_once():  # its lease lasts by the clock, files and the engine's are written in threads
        await broker.start()
        for _ in range(200):
            await clock.aadvance(0.1)
            if election.leads and broker.address:
                break
        assert election.leads
        gathered.extend(await families_of(broker.broker))
        await broker.stop()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The names of all samples of a broker, alone or with a slave, and of the slave, each with its labels."""
    gathered: list[tuple[Family, set[str]]] = []

    async def of_all() -> None:
        async with AsyncCluster(clock=ManualClock()) as cluster:
            cluster.broker.store.writes.put(Incoming("t", 0, b"body", "", 0, bytes(8), bytes(8)))
            cluster.broker.store.dispatch.now()
            gathered.extend(await families_of(cluster.broker))

        async with Pair(tmp_path_factory.mktemp("pair")) as pair:
            for folder, role in (("master", "ASYNC_MASTER"), ("slave", "SLAVE")):
                gathered.extend(await families_of(await pair.start(folder, role)))
        await group(tmp_path_factory.mktemp("group"), gathered)

    asyncio.run(of_all())
    found = {}
    for family, labels in gathered:
        ends = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
        found |= {family.name + end: labels for end in ends}
    for family in REGISTRY.collect():
        for sample in family.samples:
            found[sample.name] = set(sample.labels)
    found["up"] = set()
    return found


def labels_in(query: str) -> set[str]:
    """The labels that a query chooses or groups by."""
    grouped = re.findall(r"by \(([^)]*)\)", query)
    chosen = re.findall(r"[{,](\w+)(?:=~|!~|!=|=)", query)
    return {name.strip() for names in grouped for name in names.split(",")} | set(chosen)


@pytest.mark.parametrize("queries", [board_queries, rule_queries])
def test_every_metric_and_label_is_there(shown: dict[str, set[str]], queries: Any) -> None:
    found = queries()
    assert len(found) > 12
    for query in found:
        names = NAME.findall(query)
        assert names or query.startswith("up{"), query
        assert not set(names) - shown.keys(), query
        known = set().union(*(shown[name] for name in names)) | OF_SCRAPES
        assert not labels_in(query) - known, query


def test_the_board_is_what_its_script_writes() -> None:
    assert runpy.run_path(str(DEPLOY / "grafana/make_board.py"))["text"]() == BOARD.read_text()


def test_the_graphs_of_the_board_do_not_overlap() -> None:
    seen: set[tuple[int, int]] = set()
    for panel in json.loads(BOARD.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & seen, panel["title"]
        assert at["x"] + at["w"] <= 24
        seen |= cells


def promtool(*words: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """What Prometheus's own checker says."""
    if PROMTOOL is None:
        pytest.skip("promtool is not installed")
    return subprocess.run([PROMTOOL, *words], input=given, capture_output=True, text=True, check=False)


def test_promtool_accepts_the_configuration_and_the_rules() -> None:
    done = promtool("check", "config", DEPLOY / "prometheus/prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_fires_when_it_should_and_none_when_all_is_well() -> None:
    played = Path(__file__).with_name("mqframe.rules.test.yml")
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
    assert re.findall(r'alertname="(\w+)"', played.read_text()) == alerts
    done = promtool("test", "rules", played)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_promtool_has_no_complaint_of_a_scrape_but_names_that_are_rocketmq_s() -> None:
    async with AsyncCluster(clock=ManualClock()) as cluster:
        metrics = BrokerSource(cluster.broker)
        cluster.broker.store.writes.put(Incoming("t", 0, b"body", "", 0, bytes(8), bytes(8)))
        cluster.broker.store.dispatch.now()
        text = await scrape(metrics)
    done = promtool("check", "metrics", given=text)
    accepted = re.compile(
        r'rocketmq_\w+_milliseconds use base unit "seconds" instead of "milliseconds"'
        r"|mqframe_counter metric name should not include type 'counter'"
    )
    complaints = (done.stdout + done.stderr).splitlines()
    assert complaints, "it looks at units"
    assert [each for each in complaints if not accepted.fullmatch(each)] == []
    assert done.returncode == 3, "what it reads is well-formed"

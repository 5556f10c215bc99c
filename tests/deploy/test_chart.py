"""The Helm chart: its templates and values fit, and what they start is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from deploy.chart import CHART, rendered

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SETTINGS = '[store]\nflush = "SYNC_FLUSH"\n[broker.shop-mqframe-broker-1]\npermission = 4\n'
TEMPLATES = sorted((CHART / "templates").iterdir())
pytestmark = pytest.mark.timeout(1500)  # the first one waits for helm to be built


def test_every_value_that_templates_use_is_given_and_the_other_way_round() -> None:
    used = {name for path in TEMPLATES for name in re.findall(r"\.Values\.(\w+)", path.read_text())}
    assert used == set(VALUES)
    for part in ("nameserver", "broker", "etcd", "dashboard", "proxy", "image", "metrics"):
        names = {
            name for path in TEMPLATES for name in re.findall(rf"\.Values\.{part}\.(\w+)", path.read_text())
        }
        assert names <= set(VALUES[part])


def test_servers_are_started_by_options_that_there_are() -> None:
    for kind in ("nameserver", "broker", "dashboard", "proxy"):
        text = (CHART / f"templates/{kind}.yaml").read_text()
        help_text = subprocess.run(
            [sys.executable, "-m", "mqframe", kind, "--help"], capture_output=True, text=True, check=True
        ).stdout
        options = set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", text))
        assert "--host" in options
        assert [option for option in options if option not in help_text] == []


def test_a_name_is_closed_wherever_it_is_opened() -> None:
    opened = re.compile(r"{{-?\s*(?:if|with|range|define)\b")
    closed = re.compile(r"{{-?\s*end\b")
    for path in TEMPLATES:
        text = path.read_text()
        assert len(opened.findall(text)) == len(closed.findall(text)), path.name


def test_helm_renders_two_stateful_sets_that_select_their_own_pods(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(SETTINGS)
    found = rendered("--set-file", f"settings={tmp_path}/server.toml", "--set", "secretName=certificates")
    kinds = sorted((each["kind"], each["metadata"]["name"]) for each in found)
    servers = ("shop-mqframe-broker", "shop-mqframe-nameserver")
    assert kinds == sorted(
        [
            ("ConfigMap", "shop-mqframe"),
            *((kind, name) for kind in ("PodDisruptionBudget", "Service", "StatefulSet") for name in servers),
        ]
    )
    (settings,) = [each["data"] for each in found if each["kind"] == "ConfigMap"]
    assert settings["server.toml"].strip() == SETTINGS.strip()
    for each in found:
        if each["kind"] != "StatefulSet":
            continue
        spec, template = each["spec"], each["spec"]["template"]
        assert spec["serviceName"] == each["metadata"]["name"]
        assert spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        (container,) = template["spec"]["containers"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        there = {volume["name"] for volume in template["spec"]["volumes"]}
        there |= {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
        assert mounted == there == {"data", "settings", "tmp", "secrets"}
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
        assert f"--metrics-port={ports['metrics']}" in container["args"]
        assert template["metadata"]["annotations"]["prometheus.io/port"] == str(ports["metrics"])
        assert template["spec"]["securityContext"]["runAsNonRoot"] is True


def test_helm_tells_brokers_all_name_servers() -> None:
    found = rendered("--set", "nameserver.replicas=3")
    (broker,) = [
        each
        for each in found
        if each["metadata"]["name"] == "shop-mqframe-broker" and "template" in each["spec"]
    ]
    args = broker["spec"]["template"]["spec"]["containers"][0]["args"]
    (nameservers,) = [arg.partition("=")[2] for arg in args if arg.startswith("--nameserver=")]
    assert nameservers.split(";") == [
        f"shop-mqframe-nameserver-{n}.shop-mqframe-nameserver.queues.svc:9876" for n in range(3)
    ]


def test_helm_makes_an_elected_group_of_each_broker_that_has_copies(tmp_path: Path) -> None:
    found = rendered("--set", "broker.copies=3", "--set", "broker.replicas=2")
    groups = [
        each for each in found if each["kind"] == "StatefulSet" and "-broker-" in each["metadata"]["name"]
    ]
    assert [each["metadata"]["name"] for each in groups] == ["shop-mqframe-broker-0", "shop-mqframe-broker-1"]
    selectors = [tuple(each["spec"]["selector"]["matchLabels"].items()) for each in groups]
    assert len(set(selectors)) == 2
    for group in groups:
        assert group["spec"]["replicas"] == 3
        (container,) = group["spec"]["template"]["spec"]["containers"]
        # What runs in the second pod, without a name server and with an engine of this machine.
        words = [
            *container["command"][3:],
            *(word for word in container["args"] if not word.startswith(("--config", "--metrics-port"))),
        ]
        script = container["command"][2].replace("exec mqframe", "printf '%s\\n'")
        pod = f"{group['metadata']['name']}-1"
        printed = subprocess.run(
            ["sh", "-c", script, *words], env={"POD_NAME": pod}, capture_output=True, text=True, check=True
        ).stdout.split("\n")
        assert {
            f"--name={group['metadata']['name']}",
            "--set=replication.role=ELECTED",
            "--set=replication.id=2",
            "--set=replication.min_in_sync=2",
            "--set=election.coordination=etcd",
        } <= set(printed)
        assert printed[0] == "broker"


ALL = (
    *("--set", "broker.copies=3,etcd.replicas=3,etcd.image=etcd,proxy.replicas=2,dashboard.replicas=1"),
    *("--set", "metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.labels.release=prometheus"),
    *("--set", "dashboard.trustedHosts={mq.example.org},proxy.advertised=mq.example.org:8081"),
    *("--set", "secretName=certificates"),
)
"""Values with which everything is rendered."""
VERSIONS = ("1.28.0", "1.34.0", "1.37.0")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [(), ALL], ids=["as it is", "all of it"])
def test_kubernetes_takes_what_helm_renders(values: tuple[str, ...], version: str) -> None:
    for each in rendered(*values):
        if each["kind"] != "ServiceMonitor":
            kubernetes_validate.validate(each, version, strict=True)


def test_prometheus_operator_finds_the_metrics_of_all_servers() -> None:
    found = rendered(*ALL)
    (monitor,) = [each for each in found if each["kind"] == "ServiceMonitor"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = monitor["spec"]["endpoints"]
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    scraped = {
        each["metadata"]["name"]: port["port"]
        for each in found
        if each["kind"] == "Service" and wanted <= each["metadata"]["labels"].items()
        for port in each["spec"]["ports"]
        if port["name"] == endpoint["port"]
    }
    names = (
        "shop-mqframe-broker-0",
        "shop-mqframe-broker-1",
        "shop-mqframe-nameserver",
        "shop-mqframe-proxy",
    )
    assert scraped == dict.fromkeys(names, VALUES["metrics"]["port"])
    annotated = [
        each["spec"]["template"]["metadata"].get("annotations", {})
        for each in found
        if "template" in each.get("spec", {})
    ]
    assert [each for each in annotated if "prometheus.io/scrape" in each] == []


def test_brokers_that_have_copies_are_told_the_members_of_the_etcd_beside_them() -> None:
    found = rendered(*ALL)
    sets = {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == "StatefulSet"}
    (etcd,) = sets["shop-mqframe-etcd"]["template"]["spec"]["containers"]
    hosts = [f"shop-mqframe-etcd-{n}.shop-mqframe-etcd.queues.svc" for n in range(3)]
    members = ",".join(f"shop-mqframe-etcd-{n}=http://{host}:2380" for n, host in enumerate(hosts))
    assert f"--initial-cluster={members}" in etcd["args"]
    (broker,) = sets["shop-mqframe-broker-1"]["template"]["spec"]["containers"]
    clients = ",".join(f"http://{host}:2379" for host in hosts)
    assert f"--set=plugins.etcd.endpoints={clients}" in broker["args"]
    assert sets["shop-mqframe-etcd"]["serviceName"] == "shop-mqframe-etcd"


def test_an_etcd_needs_its_image() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        rendered("--set", "broker.copies=3,etcd.replicas=3")
    assert "etcd.image" in str(refused.value.stdout) + str(refused.value.stderr)


def test_each_part_may_be_drained_but_for_one_pod() -> None:
    found = rendered(*ALL)
    budgets = {
        tuple(each["spec"]["selector"]["matchLabels"].items()): each["spec"]["maxUnavailable"]
        for each in found
        if each["kind"] == "PodDisruptionBudget"
    }
    pods = {
        each["metadata"]["name"]: tuple(each["spec"]["selector"]["matchLabels"].items())
        for each in found
        if each["kind"] in ("StatefulSet", "Deployment")
    }
    assert {name for name, selector in pods.items() if budgets.get(selector) == 1} == set(pods) - {
        "shop-mqframe-dashboard"
    }

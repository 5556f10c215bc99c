"""The cluster of `deploy/compose.yaml`, as far as a machine without a container engine can try it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from interop.foreign_programs import NEWEST
from mqframe_testing.ports import lasting_port

from mqframe import Admin

FILE = Path(__file__).parents[2] / "deploy/compose.yaml"
WHOLE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = WHOLE["services"]
OURS = {name: each for name, each in SERVICES.items() if each["image"] == "mqframe"}


def test_docker_compose_takes_it() -> None:
    words = ["docker", "compose", "-f", str(FILE), "config", "--quiet"]
    if shutil.which("docker") is None:
        pytest.skip("docker is not on PATH")
    if subprocess.run([*words[:2], "version"], capture_output=True, check=False).returncode:
        pytest.skip("this docker has no compose plugin")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_everything_that_is_named_is_there() -> None:
    assert sorted(OURS) == ["broker-a", "broker-b", "nameserver-1", "nameserver-2"]
    assert SERVICES["apache"]["image"] == f"apache/rocketmq:{NEWEST}"
    for service in SERVICES.values():
        hosts = [each.partition(":")[0] for each in service["environment"]["NAMESRV_ADDR"].split(";")]
        assert hosts == ["nameserver-1", "nameserver-2"]
        assert [each.partition(":")[0] in WHOLE["volumes"] for each in service["volumes"]] == [True]
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        assert {each["source"] for each in service.get("configs", ())} <= set(WHOLE["configs"])
    for service in OURS.values():
        assert (FILE.parent / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def command(name: str, data: Path, *more: str) -> list[str]:
    """What a service runs, with its files in `data`, on this machine alone."""
    places = {"/data": str(data), "0.0.0.0": "127.0.0.1"}
    words = [places.get(word, word) for word in OURS[name]["command"]]
    return [sys.executable, "-m", "mqframe", *words, *more]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A name server and the brokers of the file, as processes: their addresses."""
    port = lasting_port()
    address = f"127.0.0.1:{port}"
    commands = {"nameserver-1": command("nameserver-1", tmp_path / "names", "--port", str(port))}
    for name in ("broker-a", "broker-b"):
        small = ("--set", "store.disk_limits=false", "--set", "store.commit_log_file_bytes=1048576")
        commands[name] = command(name, tmp_path / name, "--port", "0", *small)
    processes, addresses = [], {}
    try:
        for name, words in commands.items():
            process = subprocess.Popen(
                words, stdout=subprocess.PIPE, text=True, env={**os.environ, "NAMESRV_ADDR": address}
            )
            processes.append(process)
            assert process.stdout is not None
            addresses[name] = process.stdout.readline().split("=")[-1].strip()
        yield addresses
    finally:
        for process in reversed(processes):
            process.terminate()
        codes = [process.wait(60) for process in processes]
        for process in processes:
            assert process.stdout is not None
            process.stdout.close()
    assert codes == [0, 0, 0]


def test_its_commands_make_one_cluster_and_its_checks_find_it_well(running: dict[str, str]) -> None:
    with Admin(nameserver=running["nameserver-1"]) as admin:
        brokers = {name: address for name, address in running.items() if name.startswith("broker")}
        assert admin.cluster.masters() == brokers
    for name, address in running.items():
        kind, program, *script = OURS[name]["healthcheck"]["test"]
        assert (kind, program, script[0]) == ("CMD", "python", "-c")
        checks = re.sub(r"\d{4,5}\b", address.rpartition(":")[2], script[1])
        subprocess.run([sys.executable, "-c", checks], check=True)

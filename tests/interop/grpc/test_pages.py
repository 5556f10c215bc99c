"""The programs for RocketMQ 5 of docs/howto/other_languages.md, as they stand there, at a door of ours."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_testing import Cluster

from interop.conftest import need
from interop.foreign_programs import JAVA_FLAGS
from interop.grpc.conftest import grpc_port
from interop.grpc.doors import Door
from interop.grpc.programs import HERE, TOOLS, build_java, build_rust, environment
from mqframe import Message, PluginManager, Producer, Puller

PAGE = Path(__file__).parents[3] / "docs/howto/other_languages.md"
ADDRESS = "127.0.0.1:8081"


@pytest.fixture
def door() -> Iterator[Door]:
    """A door of ours with the topic of the page, of one queue.

    Polls are short, as closing a push consumer waits for what its last ones bring.
    """
    options = {"port": 0, "polling_min_ms": 200, "polling_max_ms": 1_000}
    plugins = PluginManager().configured({"grpc": options})
    with Cluster(plugins=plugins, broker={"services": ("grpc",)}) as running:
        running.create_topic("orders", queues=1)
        yield Door(f"127.0.0.1:{grpc_port(running)}", running.nameserver)


def program(language: str, folder: Path, door: Door) -> Path:
    """The file of the page's program in `language`, which knocks at `door`."""
    pattern = rf"```{language}\n// (\S+), for RocketMQ 5\n(.*?)```"
    [(name, text)] = re.findall(pattern, PAGE.read_text(), re.DOTALL)
    assert ADDRESS in text
    file = folder / Path(name).name
    file.write_text(text.replace(ADDRESS, door.endpoint))
    return file


def run(command: list[str], folder: Path, sent: str, door: Door, **more: str) -> None:
    """Run a program that is to send an order with the body `sent`, and to print this or the one of before."""
    with Producer("shop", nameserver=door.nameserver) as producer:
        producer.send(Message("orders", b"from Python", tag="paid", keys=["order-6"]))
        producer.send(Message("orders", b"not paid", tag="open"))
    done = subprocess.run(
        command, cwd=folder, env=os.environ | more, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    printed = set(done.stdout.splitlines())
    assert printed & {"from Python", sent}, done.stdout
    assert "not paid" not in printed
    with Puller(nameserver=door.nameserver) as puller:
        *_, order = puller.pull(puller.queues("orders")[0], 0).messages
    assert (order.body.decode(), order.tag, order.keys) == (sent, "paid", ["order-7"])


def test_java(door: Door, tmp_path: Path) -> None:
    need(*TOOLS["java"])
    file = program("java", tmp_path, door)
    command = ["java", "-Xmx256m", *JAVA_FLAGS, "-cp", build_java("client"), str(file)]
    run(command, tmp_path, "from Java over gRPC", door, **environment("java", tmp_path))


def test_go(door: Door, tmp_path: Path) -> None:
    need(*TOOLS["go"])
    program("go", tmp_path, door)
    for name in ("go.mod", "go.sum"):
        shutil.copy(HERE / "go" / name, tmp_path)
    command = ["go", "build", "-buildvcs=false", "-o", "orders", "."]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    command = [str(tmp_path / "orders")]
    run(command, tmp_path, "from Go over gRPC", door, **environment("go", tmp_path))


def test_node(door: Door, tmp_path: Path) -> None:
    need(*TOOLS["node"])
    file = program("javascript", tmp_path, door)
    command = ["node", str(file)]
    run(command, tmp_path, "from Node over gRPC", door, **environment("node", tmp_path))


@pytest.mark.long
def test_rust(door: Door, tmp_path: Path) -> None:
    need(*TOOLS["rust"])
    (tmp_path / "src").mkdir()
    program("rust", tmp_path / "src", door)
    for name in ("Cargo.toml", "Cargo.lock"):
        ours = (HERE / "rust" / name).read_text()
        # Programs of one name would take each other's place.
        (tmp_path / name).write_text(ours.replace('name = "client"', 'name = "orders"'))
    command = [str(build_rust(tmp_path, "orders"))]
    run(command, tmp_path, "from Rust over gRPC", door, **environment("rust", tmp_path))

"""The programs of docs/howto/other_languages.md, as they stand there, against our servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mqframe_testing import Cluster

from interop.foreign_programs import HERE, JAVA_FLAGS
from mqframe import Message, Producer, Puller

PAGE = Path(__file__).parents[2] / "docs/howto/other_languages.md"
ADDRESS = "127.0.0.1:9876"


def program(language: str, folder: Path, nameserver: str) -> Path:
    """The file of the page's program in `language`, which asks `nameserver`."""
    [(name, text)] = re.findall(rf"```{language}\n// (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert ADDRESS in text
    (folder / name).write_text(text.replace(ADDRESS, nameserver))
    return folder / name


def run(command: list[str], folder: Path, sent: str, cluster: Cluster, **environment: str) -> None:
    """Run a program that is to send an order with the body `sent`, and to print this or the one of before."""
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        producer.send(Message("orders", b"from Python", tag="paid", keys=["order-6"]))
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert {"from Python", sent} & set(done.stdout.splitlines()), done.stdout
    with Puller(nameserver=cluster.nameserver) as puller:
        _, order = puller.pull(puller.queues("orders")[0], 0).messages
    assert (order.body.decode(), order.tag, order.keys) == (sent, "paid", ["order-7"])


@pytest.fixture
def orders(cluster: Cluster) -> Cluster:
    """Servers with a topic for orders, of one queue."""
    cluster.create_topic("orders", queues=1)
    return cluster


def test_java(newest_class_path: str, orders: Cluster, tmp_path: Path) -> None:
    file = program("java", tmp_path, orders.nameserver)
    command = ["java", *JAVA_FLAGS, f"-Duser.home={tmp_path}", "-cp", newest_class_path, str(file)]
    run(command, tmp_path, "from Java", orders)


def test_go(go_program: Path, orders: Cluster, tmp_path: Path) -> None:
    program("go", tmp_path, orders.nameserver)
    for name in ("go.mod", "go.sum"):
        shutil.copy(HERE / "go" / name, tmp_path)
    subprocess.run(
        ["go", "build", "-buildvcs=false", "-o", "orders", "."], cwd=tmp_path, check=True, timeout=120
    )
    run([str(tmp_path / "orders")], tmp_path, "from Go", orders, HOME=str(tmp_path))


def test_node(node_modules: Path, orders: Cluster, tmp_path: Path) -> None:
    file = program("javascript", tmp_path, orders.nameserver)
    run(["node", str(file)], tmp_path, "from Node", orders, HOME=str(tmp_path), NODE_PATH=str(node_modules))

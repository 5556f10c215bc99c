"""The sample application: type-checked, documented, and run by FastStream's command in several processes."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mqframe_faststream import MqframeBroker

from mqframe import Admin, MqframeError

FOLDER = Path(__file__).parent
COMMAND = [sys.executable, "-m", "faststream"]


def test_its_types_are_right() -> None:
    pytest.importorskip("mypy")
    root = FOLDER.parents[2]
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(FOLDER / "shop.py")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_types_are_found(tmp_path) -> None:
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from mqframe_faststream import MqframeBroker\n"
        "broker = MqframeBroker(7)\n"
        "broker.subscriber('t', ordered='yes')\n"
        "broker.publisher('t', colour='red')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(wrong)]
    done = subprocess.run(
        command, cwd=FOLDER.parents[2], capture_output=True, text=True, timeout=280, check=False
    )
    lines = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == ["2", "3", "4"], done.stdout


def test_the_command_writes_its_document(tmp_path) -> None:
    target = tmp_path / "asyncapi.json"
    command = [*COMMAND, "docs", "gen", "shop:app", "--out", str(target)]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(target.read_text())
    assert document["operations"]["orders:BillSubscribe"]["bindings"]["x-rocketmq"]["tags"] == [
        "paid",
        "refunded",
    ]
    assert "eu-orders:Double" in document["channels"]


async def test_the_command_runs_it_in_several_processes(server, topic, tmp_path) -> None:
    environment = {
        **os.environ,
        "NAMESRV_ADDR": server.nameserver,
        "SHOP_TOPIC": topic,
        "SHOP_FOLDER": str(tmp_path),
        "PYTHONWARNINGS": "default",
    }
    command = [*COMMAND, "run", "shop:app", "--workers", "2"]
    log = tmp_path / "log"
    with log.open("w") as output:
        running = subprocess.Popen(command, cwd=FOLDER, env=environment, stdout=output, stderr=output)
    written = tmp_path / "invoices"

    try:
        deadline = time.monotonic() + 60
        while not shared_out(server, topic, f"billing-{topic}"):
            assert time.monotonic() < deadline, log.read_text()
            assert running.poll() is None, log.read_text()
            time.sleep(0.05)
        broker = MqframeBroker(server.nameserver)
        async with broker:
            for number in range(20):
                await broker.publish({"number": number, "cups": 2}, topic, tag="paid")
        while not written.exists() or len(written.read_text().splitlines()) < 20:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
    finally:
        running.terminate()
        running.wait(60)
    lines = [line.split() for line in written.read_text().splitlines()]
    assert sorted(int(number) for number, _, _ in lines) == list(range(20))
    assert {amount for _, amount, _ in lines} == {"5.0"}
    assert len({process for _, _, process in lines}) == 2


def shared_out(server, topic, group):
    """Whether two processes are in `group`, and each queue of `topic` has one that consumes it."""
    try:
        with Admin(nameserver=server.nameserver) as admin:
            members = [each.client_id for each in admin.members.consumers(group).connection_set]
            held = [
                [
                    queue.queue_id
                    for queue in admin.members.running_info(group, member).queues
                    if queue.topic == topic
                ]
                for member in members
            ]
            return len(held) == 2 and all(held) and sorted(itertools.chain(*held)) == queues_of(admin, topic)
    except MqframeError:
        return False


def queues_of(admin, topic):
    return sorted(queue.queue_id for queue in admin.topics.stats(topic))

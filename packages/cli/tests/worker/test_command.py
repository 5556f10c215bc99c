"""`mqframe worker` as a user runs it: members of a group that are drained, replaced, and started anew."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mqframe_cli.app import app
from mqframe_testing.cluster import Cluster
from typer.testing import CliRunner

from mqframe import Admin, Message, Producer, SubscriptionGroupConfig

REAL_SECONDS_MAX = 60.0
APP = """
import os, pathlib, time
from mqframe import ConsumeResult, PushConsumer

consumer = PushConsumer("work", nameserver="{nameserver}", consume_from="first")
seen = pathlib.Path("{folder}") / "seen"

@consumer.on("work")
def handle(messages, context):
    if messages[0].body == b"slow":
        open(seen.parent / "began", "w").close()
        time.sleep(1.0)
    with open(seen, "a") as file:
        file.write(f"{{os.getpid()}} {{messages[0].body.decode()}}\\n")
    return ConsumeResult.SUCCESS
"""

THREADS = 8
DEADLY = """
import os, pathlib, signal, time
from mqframe import PushConsumer

consumer = PushConsumer.from_config("mqframe.toml")

@consumer.on("work")
def handle(message):
    with open(pathlib.Path("{folder}") / "seen", "a") as file:
        file.write(f"{{os.getpid()}} {{message.body.decode()}}\\n")
    if message.body == b"poison":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
"""
POPPING = f"""
[client]
nameserver = "{{nameserver}}"

[consumer]
group = "work"
consume_from = "first"
consume_threads = {THREADS}
mode = "pop"
mode_options = {{{{invisible_seconds = 2}}}}
"""


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + REAL_SECONDS_MAX
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


class Workers:
    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "mqframe", "worker", "shop:consumer", "--log-json", *words]
        self.log = open(folder / "log", "w+")  # noqa: SIM115 - closed by end
        self.process = subprocess.Popen(command, cwd=folder, stderr=self.log, stdout=self.log)

    def pids(self) -> list[int]:
        """The workers that were started, in order."""
        lines = (self.folder / "log").read_text().splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [event["pid"] for event in events if event["event"] == "worker started"]

    def seen(self) -> list[list[str]]:
        path = self.folder / "seen"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(REAL_SECONDS_MAX)
        finally:
            self.process.kill()
            self.log.close()


@pytest.fixture
def folder(tmp_path: Path, mqframe_cluster: Cluster) -> Path:
    mqframe_cluster.create_topic("work", 4)
    (tmp_path / "shop.py").write_text(APP.format(nameserver=mqframe_cluster.nameserver, folder=tmp_path))
    return tmp_path


@pytest.fixture
def admin(mqframe_cluster: Cluster) -> Iterator[Admin]:
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        yield admin


def send(nameserver: str, *bodies: bytes) -> None:
    with Producer("p", nameserver=nameserver) as producer:
        for body in bodies:
            producer.send(Message("work", body))


def members(admin: Admin) -> int:
    return len(admin.members.consumers("work").connection_set)


def held(admin: Admin) -> list[int]:
    """How many queues of the topic each member has."""
    found = []
    for each in admin.members.consumers("work").connection_set:
        queues = admin.members.running_info("work", each.client_id).queues
        found.append(sum(queue.topic == "work" for queue in queues))
    return found


def test_workers_share_the_work_are_replaced_and_drained(
    folder: Path, mqframe_cluster: Cluster, admin: Admin
) -> None:
    workers = Workers(folder, "--workers", "2")
    try:
        until(lambda: members(admin) == len(workers.pids()) == 2)
        os.kill(workers.pids()[0], signal.SIGKILL)
        until(lambda: len(workers.pids()) == 3)
        until(lambda: members(admin) == 2)
        until(lambda: held(admin) == [2, 2])  # a queue that moves while it is worked on comes twice
        send(mqframe_cluster.nameserver, b"slow")
        until((folder / "began").exists)
    finally:
        assert workers.end() == 0
    assert [body for _, body in workers.seen()] == ["slow"]
    assert admin.groups.lag("work") == 0
    assert members(admin) == 0


@pytest.mark.long
def test_a_message_that_kills_its_process_is_a_dead_letter_and_takes_others_along_once(
    folder: Path, mqframe_cluster: Cluster, admin: Admin
) -> None:
    (folder / "shop.py").write_text(DEADLY.format(folder=folder))
    (folder / "mqframe.toml").write_text(POPPING.format(nameserver=mqframe_cluster.nameserver))
    admin.groups.create(SubscriptionGroupConfig("work", retry_max_times=4))
    others = [f"m{n}".encode() for n in range(1000)]
    send(mqframe_cluster.nameserver, *others[:500], b"poison", *others[500:])
    workers = Workers(folder, "--workers", "2")
    try:
        until(lambda: sum(body == "poison" for _, body in workers.seen()) == 5)
        until(lambda: mqframe_cluster.broker.store.queues.max_offset("%DLQ%work", 0))
        until(lambda: {body for _, body in workers.seen()} == {"poison", *map(bytes.decode, others)})
        until(lambda: admin.groups.lag("work") == 0)
    finally:
        assert workers.end() == 0
    counts = Counter(body for _, body in workers.seen())
    assert counts.pop("poison") == 5
    assert max(counts.values()) <= 2
    assert sum(counts.values()) <= 1000 + 5 * THREADS
    assert mqframe_cluster.broker.store.queues.max_offset("%DLQ%work", 0) == 1


def test_a_changed_file_is_run(folder: Path, mqframe_cluster: Cluster, admin: Admin) -> None:
    workers = Workers(folder, "--reload")
    try:
        until(lambda: members(admin) == 1)
        text = (folder / "shop.py").read_text()
        (folder / "shop.py").write_text(text.replace("{messages[0].body.decode()}", "changed"))
        until(lambda: len(workers.pids()) == 2)
        until(lambda: members(admin) == 1)
        send(mqframe_cluster.nameserver, b"one")
        until(workers.seen)
        assert workers.seen() == [[str(workers.pids()[1]), "changed"]]
    finally:
        assert workers.end() == 0


def test_workers_end_with_their_supervisor(folder: Path, admin: Admin) -> None:
    workers = Workers(folder, "--workers", "2")
    try:
        until(lambda: members(admin) == 2)
        workers.process.kill()
        until(lambda: members(admin) == 0)
    finally:
        workers.end()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("shop", "'shop' is no module:attribute"),
        ("shpo:consumer", "there is no module shpo for 'shpo:consumer'"),
        ("shop:consumr", "shop has no consumr; it has consumer"),
        ("shop:seen", "shop:seen is a PosixPath, no consumer with run()"),
    ],
)
def test_a_wrong_target_ends_it_with_one_line_and_code_2(folder: Path, target: str, said: str) -> None:
    command = [sys.executable, "-m", "mqframe", "worker", target, "--log-level", "warning"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=REAL_SECONDS_MAX, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_level_is_refused() -> None:
    result = CliRunner().invoke(app, ["worker", "shop:consumer", "--log-level", "loud"])
    assert result.exit_code == 2
    assert "--log-level loud: must be debug, info, warning or error" in result.output

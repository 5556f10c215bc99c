"""A broker whose process is killed while delayed messages fall due delivers every one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mqframe import Admin, Message, Producer
from mqframe.client.blocking_pull import BlockingPuller

MESSAGES = 150
LATE_SECONDS_MAX = 30


class Server:
    """`mqframe server` as a child process on one data directory."""

    def __init__(self, data: Path, flush: str) -> None:
        command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
        command += ["--data", str(data), "--set", f"store.flush={flush}"]
        for pair in ("commit_log_file_bytes=1048576", "queue_file_bytes=20000", "timer_log_file_bytes=4096"):
            command += ["--set", f"store.{pair}"]
        for pair in ("index_slots=1000", "index_entries=4000", "disk_limits=false"):
            command += ["--set", f"store.{pair}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert "ready" in line, line
        self.nameserver = next(word.split("=")[1] for word in line.split() if word.startswith("nameserver="))

    def end(self, how: signal.Signals) -> None:
        os.kill(self.process.pid, how)
        self.process.wait(30)
        assert self.process.stdout
        self.process.stdout.close()


def bodies_in(nameserver: str) -> dict[bytes, int]:
    """Body to store time (ms) of its first delivery."""
    found: dict[bytes, int] = {}
    with BlockingPuller(nameserver=nameserver) as puller:
        for queue in puller.queues("due"):
            at, end = puller.min_offset(queue), puller.max_offset(queue)
            while at < end:
                result = puller.pull(queue, at, 32)
                for message in result.messages:
                    found.setdefault(message.body, message.store_timestamp)
                at = max(at + 1, result.next_offset)
    return found


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_kills_lose_no_delayed_message(tmp_path: Path, flush: str) -> None:
    due: dict[bytes, int] = {}
    server = Server(tmp_path, flush)
    try:
        with Admin(nameserver=server.nameserver) as admin:
            admin.create_topic("due", queues=2)
        for _ in range(3):
            with Producer(group="g", nameserver=server.nameserver) as producer:
                for number in range(len(due), len(due) + MESSAGES):
                    body, now = b"%d" % number, time.time_ns() // 1_000_000
                    if number % 3:
                        at = now + number % 7 * 300
                        producer.send(Message("due", body), deliver_at=at)
                        due[body] = at
                    else:
                        producer.send(Message("due", body), delay_level=1)
                        due[body] = now + 1000
            time.sleep(0.4)  # some are due, some are not
            server.end(signal.SIGKILL)
            server = Server(tmp_path, flush)
        end = time.monotonic() + LATE_SECONDS_MAX
        found: dict[bytes, int] = {}
        while len(found) < len(due) and time.monotonic() < end:
            time.sleep(0.2)
            found = bodies_in(server.nameserver)
        assert sorted(found) == sorted(due)
        assert [body for body, time_ms in found.items() if time_ms < due[body]] == []
    finally:
        server.end(signal.SIGTERM)

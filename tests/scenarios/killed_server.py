"""A server in a process of its own that is killed in the middle of its work, and started again."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest


class Server:
    """`mqframe server` as a child process that checks transactions often. `log_file_bytes`: of its store."""

    def __init__(self, data: Path, log_file_bytes: int = 1 << 20) -> None:
        command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
        command += ["--data", str(data), "--set", "store.disk_limits=false"]
        for pair in (
            "broker.transaction_timeout_ms=200",
            "broker.transaction_check_interval_ms=100",
            "broker.transaction_check_max=1000",
            f"store.commit_log_file_bytes={log_file_bytes}",
            "store.index_slots=1000",
            "store.index_entries=4000",
        ):
            command += ["--set", pair]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline() if ready else ""
        if "ready" not in line:
            self.process.kill()
            pytest.fail(f"the server did not come up: {line!r}")
        self.nameserver = next(word.split("=")[1] for word in line.split() if word.startswith("nameserver="))

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()


def until(true: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)

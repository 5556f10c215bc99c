"""A server in a process of its own that is killed in the middle of its work, and started again."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SMALL_STORE = (
    "store.disk_limits=false",
    "store.commit_log_file_bytes=1048576",
    "store.index_slots=1000",
    "store.index_entries=4000",
)
"""Settings of a store whose files roll while a test runs."""


class Server:
    """`mqframe server` as a child process on the folder `data`, with `settings` besides `SMALL_STORE`."""

    def __init__(self, data: Path, *settings: str) -> None:
        command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
        command += ["--data", str(data)]
        for pair in (*SMALL_STORE, *settings):
            command += ["--set", pair]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], 120)
        line = self.process.stdout.readline() if ready else ""
        if "ready" not in line:
            self.process.kill()
            pytest.fail(f"the server did not come up: {line!r}")
        self.nameserver = next(word.split("=")[1] for word in line.split() if word.startswith("nameserver="))

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """An orderly end."""
        assert self._end(signal.SIGTERM) == 0

    def _end(self, how: signal.Signals) -> int:
        os.kill(self.process.pid, how)
        code = self.process.wait(120)
        assert self.process.stdout
        self.process.stdout.close()
        return code

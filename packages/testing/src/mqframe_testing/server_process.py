"""A name server and a broker in a child process: with a processor of their own, and to be killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from mqframe.core.errors import GiveUpError
from mqframe_testing.ports import lasting_port

START_SECONDS_MAX: Final = 120.0
END_SECONDS_MAX: Final = 30.0


class ServerProcess:
    """`mqframe server` on free ports of this machine, with its files below `data`. A context manager.

    `settings`: "section.key=value" each; disk limits are off. `nameserver` and `broker` are its addresses,
    which it has again when it is started another time.
    """

    def __init__(self, data: Path, *settings: str) -> None:
        nameserver_port, broker_port = lasting_port(), lasting_port(-2)  # the broker listens there as well
        self.nameserver = f"127.0.0.1:{nameserver_port}"
        self.broker = f"127.0.0.1:{broker_port}"
        self._command = [sys.executable, "-m", "mqframe", "server", "--host", "127.0.0.1"]
        self._command += ["--nameserver-port", str(nameserver_port), "--broker-port", str(broker_port)]
        self._command += ["--data", str(data)]
        for setting in ("store.disk_limits=false", *settings):
            self._command += ["--set", setting]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def start(self) -> None:
        """Start the process, for the first time or after `end`; it serves when this returns.

        Raises `GiveUpError` when it does not get ready.
        """
        # What configures other servers of this user does not configure this one.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MQFRAME_")}
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, env=clean)
        try:
            self._read_ready_line(self._process)
        except BaseException:
            self.end()
            raise

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the process by a signal, in good order by default; nothing happens the second time."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def _read_ready_line(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], START_SECONDS_MAX)
        words = process.stdout.readline().split() if readable else []
        if words[:1] != ["ready"]:
            raise GiveUpError(f"the server process did not get ready within {START_SECONDS_MAX:g} s")

"""The embedded system: a name server and a broker in a child process, so that both halves get a core."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final

from mqframe.core.errors import GiveUpError

START_SECONDS_MAX: Final = 30.0
STOP_SECONDS_MAX: Final = 30.0


class EmbeddedSystem:
    """`mqframe server` on free ports of this machine, with its data below `directory`. A context manager.

    `nameserver` and `broker` are its addresses. Disk limits are off: this data is thrown away.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.nameserver = ""
        self.broker = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> EmbeddedSystem:
        command = [sys.executable, "-m", "mqframe", "server", "--host", "127.0.0.1"]
        command += ["--nameserver-port", "0", "--broker-port", "0", "--data", str(self.directory)]
        command += ["--set", "store.disk_limits=false"]
        # What configures other servers of this user does not configure this one.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MQFRAME_")}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean)
        try:
            self._read_ready_line()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process in good order."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def _read_ready_line(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], START_SECONDS_MAX)
        words = self._process.stdout.readline().split() if readable else []
        if words[:1] != ["ready"]:
            raise GiveUpError(f"the embedded server did not get ready within {START_SECONDS_MAX:g} s")
        addresses = dict(word.split("=", 1) for word in words[1:])
        self.nameserver, self.broker = addresses["nameserver"], addresses["broker"]

"""`mqframe proxy` as a child process: our door before brokers that know nothing of it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from typing import Any

from interop.grpc.doors import INVISIBLE_MIN_MS, POLLING_MS, Door

START_SECONDS_MAX = 120.0
END_SECONDS_MAX = 60.0


class OurProxy:
    """`mqframe proxy` on a free port, before the brokers that the name server `nameserver` knows.

    Use it in a with block. `brokers`: how many these are; `apache`: whether they are Apache's; `door`: where
    clients knock.
    """

    def __init__(self, nameserver: str, *, brokers: int = 1, apache: bool = False) -> None:
        low, high = POLLING_MS
        command = [sys.executable, "-m", "mqframe", "proxy", "--port", "0", "--nameserver", nameserver]
        for setting in (
            f"polling_min_ms={low}",
            f"polling_max_ms={high}",
            f"invisible_min_ms={INVISIBLE_MIN_MS}",
        ):
            command += ["--set", f"plugins.grpc.{setting}"]
        # What configures other programs of this user does not configure this one.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MQFRAME_")}
        self._nameserver = nameserver
        self._behind: dict[str, Any] = {"brokers": brokers, "apache": apache}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean
        )

    def __enter__(self) -> OurProxy:
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], START_SECONDS_MAX)
        line = self.process.stdout.readline() if readable else ""
        if not line.startswith("ready "):
            self.process.kill()
            raise AssertionError(f"the proxy did not get ready: {line}{self.process.communicate()[1]}")
        addresses = dict(word.split("=") for word in line.split()[1:])
        self.door = Door(addresses["proxy"], self._nameserver, **self._behind)
        return self

    def __exit__(self, *problem: object) -> None:
        self.end()

    def end(self) -> str:
        """Stop it in good order; what it logged. Nothing happens the second time."""
        if self.process.returncode is not None:
            return ""
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=END_SECONDS_MAX)[1]
        assert self.process.returncode == 0, said
        return said

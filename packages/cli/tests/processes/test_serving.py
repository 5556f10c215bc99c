"""Services run until a signal comes, and stop in reverse order."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from mqframe_cli.processes.serving import end_process, serve
from mqframe.core.errors import MqframeError

class Service:
    def __init__(self, name, fails=False):
        self.name, self.fails, self.address = name, fails, f"127.0.0.1:{len(name)}"

    async def start(self):
        if self.fails:
            raise OSError("the port is taken") if self.name == "bad" else KeyError("odd")
        print("start", self.name)
        if self.name == sys.argv[2]:
            end_process() if sys.argv[1] == "self" else os.kill(os.getpid(), getattr(signal, sys.argv[1]))

    async def stop(self):
        print("stop", self.name)

try:
    serve({name: lambda name=name: Service(name, name in ("bad", "odd")) for name in sys.argv[2:]})
except MqframeError as problem:
    print(problem)
"""


def lines(*words: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGINT", "self"])
def test_a_signal_stops_the_services_in_reverse_order(signal: str) -> None:
    assert lines(signal, "ns", "broker") == [
        "start ns",
        "start broker",
        "ready ns=127.0.0.1:2 broker=127.0.0.1:6",
        "stop broker",
        "stop ns",
    ]


def test_a_start_that_fails_stops_what_was_started_and_names_the_service() -> None:
    assert lines("SIGTERM", "ns", "bad") == ["start ns", "stop ns", "bad cannot start: the port is taken"]


def test_a_start_that_nobody_foresaw_to_fail_says_so_in_words() -> None:
    assert lines("SIGTERM", "ns", "odd") == ["start ns", "stop ns", "odd cannot start: KeyError: 'odd'"]

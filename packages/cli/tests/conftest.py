"""Servers as child processes, the way users start them."""

from __future__ import annotations

import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

READY_SECONDS_MAX = 120


@attrs.define
class RunningServer:
    """A child process that printed `ready`."""

    process: subprocess.Popen[str]
    ready: str

    def address(self, name: str) -> str:
        found = re.search(rf"\b{name}=(\S+)", self.ready)
        assert found, self.ready
        return found[1]


def starting() -> Iterator[Callable[..., RunningServer]]:
    """Starts `mqframe` with the given words and waits for its first line; ends what still runs at the end.

    `files_max`: how many files the process may have open.
    """
    processes: list[subprocess.Popen[str]] = []

    def run(*words: str, files_max: int | None = None) -> RunningServer:
        limited = [] if files_max is None else ["bash", "-c", f'ulimit -n {files_max}; exec "$@"', "-"]
        process = subprocess.Popen(
            [*limited, sys.executable, "-m", "mqframe", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], READY_SECONDS_MAX)
        assert readable, f"no line within {READY_SECONDS_MAX} s"
        return RunningServer(process, process.stdout.readline())

    yield run
    for process in processes:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=120)


start = pytest.fixture(starting, name="start")
start_for_module = pytest.fixture(starting, scope="module", name="start_for_module")
start_for_session = pytest.fixture(starting, scope="session", name="start_for_session")


@pytest.fixture(scope="session")
def server(
    start_for_session: Callable[..., RunningServer], tmp_path_factory: pytest.TempPathFactory
) -> RunningServer:
    """One server for all tests that only need one; each uses topics of its own."""
    data = tmp_path_factory.mktemp("server")
    running = start_for_session(*FREE_PORTS, "--data", str(data), *SMALL)
    assert running.ready.startswith("ready ")
    return running


FREE_PORTS = ("server", "--nameserver-port", "0", "--broker-port", "0")
SMALL = ("--set", "store.disk_limits=false", "--set", "store.commit_log_file_bytes=16777216")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def at(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the server that all tests share, also in NAMESRV_ADDR."""
    address = server.address("nameserver")
    monkeypatch.setenv("NAMESRV_ADDR", address)
    return address

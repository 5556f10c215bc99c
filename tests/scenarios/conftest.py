"""What scenarios share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scenarios.killed_server import Server


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, one after the other, on one data directory."""
    started: list[Server] = []

    def start(**options: int) -> Server:
        started.append(Server(tmp_path / "data", **options))
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.kill()

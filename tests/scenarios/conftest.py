"""What scenarios share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scenarios.killed_server import Server

CHECKS_OFTEN = (
    "transactions.timeout_ms=200",
    "transactions.check_interval_ms=100",
    "transactions.check_max=1000",
)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers that check transactions often, one after the other, on one data directory."""
    started: list[Server] = []

    def start(*settings: str) -> Server:
        started.append(Server(tmp_path / "data", *CHECKS_OFTEN, *settings))
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.kill()

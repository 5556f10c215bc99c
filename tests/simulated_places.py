"""Fixtures for tests of any distribution: folders for what is simulated, threads that can be waited for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_testing.simulation import Simulation
from mqframe_testing.simulation.pools import work_at_once
from mqframe_testing.thread_pools import watched


@pytest.fixture(autouse=True, scope="session")
def watched_thread_pools() -> Iterator[None]:
    """Lets tests on a manual clock wait for threads (`at_rest`)."""
    with watched():
        yield


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for what is simulated, in memory where there is such a thing, and without threads.

    Whatever is given to thread pools is done at once.
    """
    memory = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="mqframe-")
    with folder as name, work_at_once():
        yield Path(name)


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    """A simulation; an `async def` test that takes it runs in its loop."""
    with Simulation(1) as made:
        yield made

"""Lets tests import what they share (`strategies`, `recorded`) by name."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import thread_pools


@pytest.fixture(autouse=True, scope="session")
def watched_thread_pools() -> Iterator[None]:
    """Lets tests on a manual clock wait for threads (`thread_pools.at_rest`)."""
    with pytest.MonkeyPatch.context() as patch:
        thread_pools.watch(patch)
        yield

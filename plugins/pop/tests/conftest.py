"""The scenes of the kernel's own broker tests, and threads that a test on a manual clock can wait for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from broker.conftest import run
from simulated_places import watched_thread_pools

__all__ = ["run", "watched_thread_pools"]

"""Lets tests import what those of several distributions share (`replicas`) by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from simulated_places import place, watched_thread_pools

__all__ = ["place", "watched_thread_pools"]

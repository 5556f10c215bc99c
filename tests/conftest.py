"""Lets tests import what they share (`strategies`, `recorded`) by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from simulated_places import place, watched_thread_pools

__all__ = ["place", "watched_thread_pools"]

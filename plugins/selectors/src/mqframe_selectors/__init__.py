"""Queue selectors: `hash`, `random`, `machine_room`, `monotonic`."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_selectors.hash import HashSelector, java_hash_code
from mqframe_selectors.machine_room import MachineRoomSelector
from mqframe_selectors.monotonic import MonotonicSelector
from mqframe_selectors.random import RandomSelector

__all__ = [
    "HashSelector",
    "MachineRoomSelector",
    "MonotonicSelector",
    "RandomSelector",
    "java_hash_code",
    "register_queue_selectors",
]


@hookimpl
def register_queue_selectors() -> Factories:
    """All four."""
    return {
        "hash": HashSelector,
        "random": RandomSelector,
        "machine_room": MachineRoomSelector,
        "monotonic": MonotonicSelector,
    }

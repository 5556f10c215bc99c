"""Queue selectors: `random`, `machine_room`, `monotonic`. The default, `hash`, is mqframe's own."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_selectors.machine_room import MachineRoomSelector
from mqframe_selectors.monotonic import MonotonicSelector
from mqframe_selectors.random import RandomSelector

__all__ = [
    "MachineRoomSelector",
    "MonotonicSelector",
    "RandomSelector",
    "register_queue_selectors",
]


@hookimpl
def register_queue_selectors() -> Factories:
    """All three."""
    return {
        "random": RandomSelector,
        "machine_room": MachineRoomSelector,
        "monotonic": MonotonicSelector,
    }

"""Allocation strategies by the names that clients send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.errors import PluginError, SettingError
from mqframe.hooks.interfaces import AllocationStrategy, Plugins
from mqframe.log import get_logger

log = get_logger("broker")

PLUGIN_NAMES: Final[Mapping[str, str]] = {
    "AVG": "averagely",
    "AVG_BY_CIRCLE": "averagely_by_circle",
    "CONFIG": "by_config",
    "CONSISTENT_HASH": "consistent_hash",
    "MACHINE_ROOM": "machine_room",
}
"""What RocketMQ's own strategies are called as plugins. Others have the name that clients send."""
NAMES_MAX: Final = 256


class Strategies:
    """Makes each strategy when the first client asks for it; no other plugin is imported."""

    __slots__ = ("_found", "_plugins")

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins
        self._found: dict[str, AllocationStrategy | None] = {}

    def find(self, wire_name: str | None) -> AllocationStrategy | None:
        """The strategy that clients call `wire_name`; `None` for one that is not there or cannot be made.

        The latter holds for strategies that need options, which only clients have. One that looks before it
        decides has nothing to look at here: it shares as it does while it knows nothing.
        """
        if not wire_name:
            return None
        if wire_name not in self._found:
            if len(self._found) >= NAMES_MAX:
                self._found.clear()
            self._found[wire_name] = self._make(wire_name)
        return self._found[wire_name]

    def _make(self, wire_name: str) -> AllocationStrategy | None:
        name = PLUGIN_NAMES.get(wire_name, wire_name)
        if name not in self._plugins.names("allocation"):
            return None
        try:
            strategy: AllocationStrategy = self._plugins.create("allocation", name)
        except (PluginError, SettingError) as problem:
            log.warning("allocation strategy cannot be made here", strategy=wire_name, reason=str(problem))
            return None
        if strategy.wire_name != wire_name:
            return None
        if strategy.prepares:
            log.warning(
                "allocation strategy knows less here than in clients; they should share queues by themselves",
                strategy=wire_name,
                # What it says of a topic that it never looked at.
                basis=strategy.basis("", ""),
            )
        return strategy

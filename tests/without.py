"""What is installed, but for a distribution."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from mqframe.hooks.catalog import GROUP
from mqframe.hooks.manager import PluginManager


def offers_without(*distributions: str) -> list[EntryPoint]:
    """What all installed distributions offer but these."""
    return [
        each for each in entry_points(group=GROUP) if each.dist is None or each.dist.name not in distributions
    ]


def without(*distributions: str) -> PluginManager:
    """A manager that finds what is installed but for these."""
    return PluginManager(lambda: offers_without(*distributions))

"""Keys of settings by which other systems go, as installed distributions know them.

A dialect is named by an entry point of the group `mqframe.dialects`, which leads to a
`mqframe.core.config.dialect.Dialect`.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from mqframe.core.errors import PluginError
from mqframe.hooks.installed import entry_points

GROUP: Final = "mqframe.dialects"


@cache
def known_keys() -> frozenset[str]:
    """All keys that some dialect knows, imported now. Raises `PluginError` for one that is broken."""
    found: set[str] = set()
    for each in entry_points(group=GROUP):
        try:
            found.update(each.load().keys)
        except Exception as problem:  # importing foreign code: whatever it raises is the plugin's failure
            raise PluginError(
                f"dialect {each.name} of {each.value} cannot be loaded: {type(problem).__name__}: {problem}"
            ) from problem
    return frozenset(found)

"""Options of one plugin, with where each came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PLUGINS: Final = "plugins"
"""The section, and the table of other sections, that holds options of plugins."""


class PluginOptions(dict[str, Any]):
    """Options of one plugin by name; `origins` says where each came from."""

    def __init__(self, values: Mapping[str, Any] = {}, origins: Mapping[str, str] = {}) -> None:
        super().__init__(values)
        self.origins = dict(origins)

    def with_(self, more: Mapping[str, Any]) -> PluginOptions:
        """These options and `more`, which count first."""
        origins: Mapping[str, str] = getattr(more, "origins", dict.fromkeys(more, ""))
        return PluginOptions({**self, **more}, {**self.origins, **origins})

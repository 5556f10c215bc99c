"""Options of one plugin remember where each came from."""

from __future__ import annotations

from mqframe.core.config.plugin_options import PluginOptions


def test_later_options_win_with_their_origins() -> None:
    joined = PluginOptions({"a": 1}, {"a": "x"}).with_(PluginOptions({"a": 2}, {"a": "y"}))
    assert (joined, joined.origins) == ({"a": 2}, {"a": "y"})

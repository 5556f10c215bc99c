"""Options of plugins as sources give them: in tables for everybody, and in those of sections and profiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from mqframe.core.config.layers import Given
from mqframe.core.config.plugin_options import PLUGINS, PluginOptions
from mqframe.core.errors import SettingError


@attrs.frozen
class GivenOption:
    """One option of a plugin that some source has; of one section alone where `section` is not ""."""

    section: str
    plugin: str
    option: str
    value: Any
    origin: str


def options_at(path: str, rest: str, given: Given) -> Iterator[tuple[str, str, Any]]:
    """(plugin, option, value) of each that is given at `path`, of which `rest` is behind "plugins".

    Raises `SettingError` where it is no table.
    """
    if not isinstance(given.value, Mapping):
        plugin, _, option = rest.rpartition(".")  # of "module:attribute", too, which may hold dots
        if not (plugin and option):
            raise SettingError(
                f"{path} from {given.origin}: must be a table of options, [{path.partition('.')[0]}…."
                f"{PLUGINS}.<name>]"
            )
        yield plugin, option, given.value
    elif rest:
        for option, value in given.value.items():
            yield rest, option, value
    else:
        for plugin, table in given.value.items():
            yield from options_at(f"{path}.{plugin}", plugin, attrs.evolve(given, value=table))


def tables_of(given: Iterable[GivenOption], section: str = "") -> dict[str, PluginOptions]:
    """The options by name of the plugin: those for everybody, and those of `section`; later ones win."""
    found: dict[str, PluginOptions] = {}
    for each in given:
        if each.section in ("", section):
            options = found.setdefault(each.plugin, PluginOptions())
            options[each.option] = each.value
            options.origins[each.option] = each.origin
    return found

"""Sources of settings: each reader turns one source into a layer of values with their origin.

Pure: readers are handed the text of a file, or the variables of the environment.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final

import attrs

from mqframe.core.config.plugin_options import PLUGINS
from mqframe.core.errors import SettingError

PREFIX: Final = "MQFRAME_"
NO_SETTINGS: Final = frozenset({"MQFRAME_CONTEXTS", "MQFRAME_SPEEDUPS"})
"""Variables that mean something else: where the command line keeps clusters, whether compiled code serves."""
_MARK: Final = "\ufeff"
"""What editors put before the text of a file."""
NAMESRV_ADDR: Final = "NAMESRV_ADDR"
"""Apache's variable for `client.nameserver`; MQFRAME_CLIENT_NAMESERVER says more."""


class Rank(IntEnum):
    """Precedence of layers; the smallest number wins."""

    ARGUMENT = 0
    COMMAND_LINE = 1
    ENVIRONMENT = 2
    TOML = 3
    BROKER_CONF = 4
    PROGRAM = 5


@attrs.frozen
class Given:
    """One value that somebody gave.

    `path`: "store.flush", of a profile "consumer.billing.allocate", or "plugins.<name>.<option>"; of a
    variable the name after MQFRAME_; of a RocketMQ key the key. `value`: text, or what TOML or code held.
    `origin`: for people.
    """

    path: str
    value: Any
    origin: str


@attrs.frozen
class Layer:
    """All values of one source. `conf_sections`: which sections RocketMQ keys mean; `None` for all."""

    rank: Rank
    values: tuple[Given, ...]
    conf_sections: frozenset[str] | None = None


def command_line(items: Iterable[str]) -> Layer:
    """What followed `--set`, each "path=value". Raises `SettingError` for one without "="."""
    return Layer(Rank.COMMAND_LINE, tuple(map(_item, items)))


def environment(variables: Mapping[str, str]) -> Layer:
    """The variables whose names start with MQFRAME_: MQFRAME_<SECTION>_<KEY>.

    Of profiles: MQFRAME_<SECTION>_<PROFILE>__<KEY>; options of plugins: MQFRAME_PLUGINS_<NAME>__<OPTION>.
    And NAMESRV_ADDR, so that it stands where other variables do: before a file.
    """
    named = variables.get(NAMESRV_ADDR)
    first = [Given("CLIENT_NAMESERVER", named, f"variable {NAMESRV_ADDR}")] if named else []
    ours = (
        (name, value)
        for name, value in sorted(variables.items())
        if name.startswith(PREFIX) and name not in NO_SETTINGS
    )
    return Layer(
        Rank.ENVIRONMENT,
        (*first, *(Given(name.removeprefix(PREFIX), value, f"variable {name}") for name, value in ours)),
    )


def toml(text: str, source: str) -> Layer:
    """A TOML file: one table a section, `[section.profile]` for a profile of it, `[plugins.<name>]` for
    options of plugins. `source`: the file's name.

    Raises `SettingError` when it is no TOML, or holds a value outside a table.
    """
    try:
        tables = tomllib.loads(text.removeprefix(_MARK))
    except (ValueError, RecursionError) as problem:  # ValueError also of a number of thousands of digits
        raise SettingError(f"{source}: {problem}") from None
    return Layer(Rank.TOML, tuple(_entries(tables, source)))


def _item(item: str) -> Given:
    path, equals, value = item.partition("=")
    if not equals:
        raise SettingError(f"--set {item}: must be written key=value")
    return Given(path.strip(), value, f"command line --set {path.strip()}")


def _entries(tables: Mapping[str, Any], source: str) -> Iterator[Given]:
    for section, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingError(f"{source}: {section} is not in a table; write it below a line [section]")
        for key, value in table.items():
            if isinstance(value, Mapping):  # no setting is a table: it is a profile, or a plugin's options
                for option, setting in value.items():
                    yield Given(f"{section}.{key}.{option}", setting, f"{source} [{section}.{key}]")
            elif section == PLUGINS:
                raise SettingError(f"{source}: plugins.{key} must be a table [plugins.{key}]")
            else:
                yield Given(f"{section}.{key}", value, f"{source} [{section}]")

"""Settings merged from many sources: precedence, types, and the origin of each value.

Precedence: argument, command line, MQFRAME_… environment, TOML file, RocketMQ `broker.conf` keys, what the
program takes itself, default.
A key that mqframe does not know, or a value that its setting refuses, is an error that names key and origin.
Keys that only RocketMQ knows have no effect here and are listed in one warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import attrs

from mqframe.core.config.field_types import convert, field_types
from mqframe.core.config.layers import PLUGINS, PREFIX, Given, Layer, Rank
from mqframe.core.config.rocketmq_keys import ROCKETMQ_KEYS, TLS_KEYS
from mqframe.core.errors import SettingError

S = TypeVar("S")

DEFAULT = "default"


class PluginOptions(dict[str, Any]):
    """Options of one plugin by name; `origins` says where each came from."""

    def __init__(self, values: Mapping[str, Any] = {}, origins: Mapping[str, str] = {}) -> None:
        super().__init__(values)
        self.origins = dict(origins)


@attrs.frozen
class Entry:
    """One setting as it ended up. `path`: "section.key"."""

    path: str
    value: Any
    origin: str
    doc: str


class Resolved:
    """All settings after the layers were merged.

    `warnings`: for people, empty where there is nothing to say.
    """

    def __init__(
        self,
        sections: Mapping[type[Any], Any],
        entries: Sequence[Entry],
        plugins: Mapping[str, PluginOptions],
        warnings: Sequence[str],
    ) -> None:
        self._sections = sections
        self._plugins = plugins
        self.entries = tuple(entries)
        self.warnings = tuple(warnings)

    def section(self, kind: type[S]) -> S:
        """The settings of one class. Raises KeyError when it was not among the resolved ones."""
        found: S = self._sections[kind]
        return found

    def plugins(self) -> dict[str, PluginOptions]:
        """All options of plugins, by name of the plugin."""
        return dict(self._plugins)


def resolve(
    sections: Sequence[type[Any]], layers: Iterable[Layer], *, other_sections: Collection[str] = ()
) -> Resolved:
    """The settings of `sections` from `layers`, in whatever order these are handed in.

    `other_sections`: names of sections that may be there but belong to other programs. Raises `SettingError`.
    """
    resolver = _Resolver(sections, frozenset(other_sections))
    for layer in sorted(layers, key=lambda layer: layer.rank, reverse=True):
        for given in layer.values:
            resolver.take(given, layer)
    return resolver.finish()


class _Resolver:
    """Gathers values, weakest layer first, so that stronger ones overwrite."""

    def __init__(self, sections: Sequence[type[Any]], others: frozenset[str]) -> None:
        self.classes: dict[str, type[Any]] = {cls.SECTION: cls for cls in sections}
        self.types = {name: field_types(cls) for name, cls in self.classes.items()}
        self.fields = {
            f"{name}.{field.name}": field
            for name, cls in self.classes.items()
            for field in attrs.fields(cls)
            if field.init
        }
        self.by_variable = {path.replace(".", "_").upper(): path for path in self.fields}
        self.by_conf: dict[str, list[str]] = {}
        for path, field in self.fields.items():
            if field.metadata.get("conf"):
                self.by_conf.setdefault(field.metadata["conf"], []).append(path)
        self.others = others
        self.values: dict[str, tuple[Any, str]] = {}
        self.plugins: dict[str, PluginOptions] = {}
        self.without_effect: dict[str, str] = {}

    def take(self, given: Given, layer: Layer) -> None:
        if layer.rank is Rank.ENVIRONMENT:
            self.take_variable(given)
        elif layer.rank is Rank.BROKER_CONF or (
            layer.rank is Rank.COMMAND_LINE
            and ("." not in given.path or given.path in self.by_conf or given.path in TLS_KEYS)
        ):
            self.take_conf(given, layer.conf_sections)
        else:
            self.take_path(given)

    def take_path(self, given: Given) -> None:
        section, _, key = given.path.partition(".")
        if section == PLUGINS:
            name, _, option = key.partition(".")
            if not option:
                raise SettingError(f"{given.path} from {given.origin}: must be {PLUGINS}.<name>.<option>")
            self.put_option(name, option, given)
        elif given.path in self.fields:
            self.put(given.path, given.value, given.origin)
        elif section not in self.others:
            known = self.fields if section in self.classes else [*self.classes, *self.others, PLUGINS]
            raise _unknown(
                given.path, given.origin, known, "setting" if section in self.classes else "section"
            )

    def take_variable(self, given: Given) -> None:
        if given.path in self.by_variable:
            self.put(self.by_variable[given.path], given.value, given.origin)
            return
        section, _, rest = given.path.partition("_")
        name, double, option = rest.lower().partition("__")
        if section == PLUGINS.upper() and double and name and option:
            self.put_option(name, option, given)
        elif not any(given.path.startswith(f"{other.upper()}_") for other in self.others):
            known = [PREFIX + name for name in self.by_variable]
            raise _unknown(PREFIX + given.path, "the environment", known, "variable")

    def take_conf(self, given: Given, sections: frozenset[str] | None) -> None:
        paths = [
            path
            for path in self.by_conf.get(given.path, ())
            if sections is None or path.partition(".")[0] in sections
        ]
        if not paths:
            if given.path not in ROCKETMQ_KEYS and given.path not in TLS_KEYS:
                raise _unknown(given.path, given.origin, [*self.by_conf, *ROCKETMQ_KEYS, *TLS_KEYS], "key")
            self.without_effect[given.path] = given.origin
        for path in paths:
            value = given.value
            translate = self.fields[path].metadata.get("from_conf")
            if translate is not None:
                try:
                    value = translate(value.strip())
                except ValueError as problem:
                    raise SettingError(f"{given.path} = {value!r} from {given.origin}: {problem}") from None
            self.put(path, value, f"{given.origin} {given.path}", given.path)

    def put(self, path: str, value: Any, origin: str, key: str | None = None) -> None:
        """Take `value` for the setting `path`; `key` is what the user called it."""
        section, _, name = path.partition(".")
        field = self.fields[path]
        try:
            converted = convert(value, self.types[section][name])
        except ValueError as problem:
            raise SettingError(f"{key or path} = {value!r} from {origin}: {problem}") from None
        if field.validator is not None:
            try:
                # The check needs no more of an instance than the name of its section.
                field.validator(self.classes[section], field, converted)
            except SettingError as problem:
                raise SettingError(f"{problem} (from {origin})") from None
        self.values[path] = (converted, origin)

    def put_option(self, plugin: str, option: str, given: Given) -> None:
        options = self.plugins.setdefault(plugin, PluginOptions())
        options[option] = given.value
        options.origins[option] = given.origin

    def finish(self) -> Resolved:
        made = {cls: self.make(name, cls) for name, cls in self.classes.items()}
        entries = [
            Entry(
                path,
                getattr(made[self.classes[path.partition(".")[0]]], field.name),
                self.values[path][1] if path in self.values else DEFAULT,
                field.metadata.get("doc", ""),
            )
            for path, field in self.fields.items()
        ]
        warnings = []
        if self.without_effect:
            keys = ", ".join(sorted(self.without_effect))
            warnings.append(f"known to RocketMQ but without effect here: {keys}")
        return Resolved(made, entries, self.plugins, warnings)

    def make(self, section: str, cls: type[Any]) -> Any:
        given = {}
        for field in attrs.fields(cls):
            path = f"{section}.{field.name}"
            if path in self.values:
                given[field.alias] = self.values[path][0]
            elif field.init and field.default is attrs.NOTHING:
                raise SettingError(
                    f"{path} must be set, by {PREFIX}{path.replace('.', '_').upper()} or in a file: "
                    f"{field.metadata.get('doc', '')}"
                )
        return cls(**given)


def _unknown(name: str, origin: str, known: Collection[str], what: str) -> SettingError:
    wanted = name.partition(".")[0] if what == "section" else name
    near = get_close_matches(wanted, list(known), n=3)
    if near:
        hint = f"; did you mean {' or '.join(near)}?"
    else:
        hint = f"; known: {', '.join(sorted(known))}" if len(known) <= 40 else ""
    return SettingError(f"{name} from {origin} is no {what} that is known here{hint}")

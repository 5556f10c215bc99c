"""Settings merged from many sources: precedence, types, and the origin of each value.

Precedence: argument, command line, MQFRAME_… environment, TOML file, RocketMQ `broker.conf` keys, what the
program takes itself, default. In each of these a value of the chosen profile comes before one of its section.
A key that mqframe does not know, or a value that its setting refuses, is an error that names key and origin.
Keys that only the dialect knows, RocketMQ's for one, have no effect here and are listed in one warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar, get_origin

import attrs

from mqframe.core.config.dialect import NO_DIALECT, Dialect
from mqframe.core.config.field_types import convert, field_types
from mqframe.core.config.layers import PREFIX, Given, Layer, Rank
from mqframe.core.config.moved import MovedSettings
from mqframe.core.config.plugin_options import PLUGINS, PluginOptions
from mqframe.core.config.plugin_tables import GivenOption, options_at, tables_of
from mqframe.core.config.settings import told
from mqframe.core.config.unknown import UnknownName, hint, unknown_name
from mqframe.core.errors import SettingError

S = TypeVar("S")

DEFAULT = "default"
_OF_ALL, _OF_SECTION, _OF_PROFILE = range(3)
"""Which options of plugins come first in one layer: the last ones."""
_ROLE: Final = ("replication.role", "REPLICATION_ROLE", "brokerRole")
_DIRECTORY: Final = ("store.directory", "STORE_DIRECTORY")
"""How sources write these settings."""
NO_PROFILES: Final[Mapping[str, str]] = {}


@attrs.frozen
class Entry:
    """One setting as it ended up. `path`: "section.key"; `plugin`: the kind of plugins that it names.

    The `value` of a secret says no more than that there is one.
    """

    path: str
    value: Any
    origin: str
    doc: str
    plugin: str = ""


class Resolved:
    """All settings after the layers were merged.

    `options`: of plugins, those that count first at the end. `warnings`: for people, empty where there is
    nothing to say. `profiles`: "section.profile" of each that some source has, chosen or not.
    """

    def __init__(
        self,
        sections: Mapping[type[Any], Any],
        entries: Sequence[Entry],
        options: Sequence[GivenOption],
        warnings: Sequence[str],
        profiles: Sequence[str] = (),
    ) -> None:
        self._sections = sections
        self._options = options
        self.entries = tuple(entries)
        self.warnings = tuple(warnings)
        self.profiles = tuple(profiles)
        self.kinds = tuple(sections)
        """The classes of the sections, in their order."""
        self.passed_over: tuple[Given, ...] = ()
        """Values of sections that belong to others."""

    def section(self, kind: type[S]) -> S:
        """The settings of one class. Raises KeyError when it was not among the resolved ones."""
        found: S = self._sections[kind]
        return found

    def plugins(self, section: str = "") -> dict[str, PluginOptions]:
        """The options of plugins, by name of the plugin: those for everybody, and those of `section`."""
        return tables_of(self._options, section)


def resolve(
    sections: Sequence[type[Any]],
    layers: Iterable[Layer],
    *,
    other_sections: Collection[str] = (),
    profiles: Mapping[str, str] = NO_PROFILES,
    missing_profiles: bool = False,
    with_plugins: Collection[str] = (),
    dialect: Dialect = NO_DIALECT,
) -> Resolved:
    """The settings of `sections` from `layers`, in whatever order these are handed in.

    `other_sections`: names of sections that may be there but belong to other programs. `profiles`: the
    sections that may have profiles, and the one that is chosen of each, "" for none; one of the sections
    for which a profile is chosen must have it, unless `missing_profiles`. `with_plugins`: the sections that
    may have options of plugins of their own, as may their profiles. `dialect`: keys that no setting names.
    Raises `SettingError`.
    """
    resolver = _Resolver(sections, frozenset(other_sections), profiles, frozenset(with_plugins), dialect)
    weakest_first = sorted(layers, key=lambda layer: layer.rank, reverse=True)
    resolver.refuse_other_kinds(weakest_first)
    for layer in weakest_first:
        for given in layer.values:
            resolver.take(given, layer)
        resolver.take_profiles()
    if not missing_profiles:
        resolver.check_profiles()
    return resolver.finish()


def one_section(kind: type[S], layers: Iterable[Layer], profile: str = "") -> S:
    """The settings of one section, whatever else the layers have: they may say which others are to be read.

    Raises `SettingError` for a value that its setting refuses.
    """
    resolver = _Resolver((kind,), frozenset(), {kind.SECTION: profile})  # type: ignore[attr-defined]
    for layer in sorted(layers, key=lambda layer: layer.rank, reverse=True):
        for given in layer.values:
            with suppress(UnknownName):
                resolver.take(given, layer)
        resolver.take_profiles()
    return resolver.finish().section(kind)


class _Resolver:
    """Gathers values, weakest layer first, so that stronger ones overwrite."""

    def __init__(
        self,
        sections: Sequence[type[Any]],
        others: frozenset[str],
        profiles: Mapping[str, str],
        with_plugins: frozenset[str] = frozenset(),
        dialect: Dialect = NO_DIALECT,
    ) -> None:
        self.dialect = dialect
        self.classes: dict[str, type[Any]] = {cls.SECTION: cls for cls in sections}
        self.types = {name: field_types(cls) for name, cls in self.classes.items()}
        self.fields = {
            f"{name}.{field.name}": field
            for name, cls in self.classes.items()
            for field in attrs.fields(cls)
            if field.init
        }
        self.tables = {path for path in self.fields if self.is_table(path)}
        self.moved = MovedSettings(self.fields)
        self.by_variable = {path.replace(".", "_").upper(): path for path in (*self.moved, *self.fields)}
        self.by_conf: dict[str, list[str]] = {}
        for path, field in self.fields.items():
            if field.metadata.get("conf"):
                self.by_conf.setdefault(field.metadata["conf"], []).append(path)
        self.others = others
        self.values: dict[str, tuple[Any, str]] = {}
        self.stages: dict[str, int] = {}
        self.stage = 0
        self.with_plugins = with_plugins
        self.options: list[GivenOption] = []
        self.of_layer: list[tuple[int, GivenOption]] = []
        self.profiles = profiles
        self.profiles_seen: dict[str, set[str]] = {section: set() for section in profiles}
        self.of_profiles: list[tuple[str, Given]] = []
        self.without_effect: dict[str, Given] = {}
        self.passed_over: list[Given] = []

    def is_table(self, path: str) -> bool:
        """Whether the setting `path` is itself a table, by key."""
        section, _, name = path.partition(".")
        origin = get_origin(self.types[section][name])
        return isinstance(origin, type) and issubclass(origin, Mapping)

    def take(self, given: Given, layer: Layer) -> None:
        if layer.rank is Rank.ENVIRONMENT:
            self.take_variable(given)
        elif self.is_conf(given, layer):
            self.take_conf(given, layer.conf_sections)
        else:
            self.take_path(given)

    def is_conf(self, given: Given, layer: Layer) -> bool:
        """Whether `given` is a key of RocketMQ's."""
        if layer.rank is Rank.COMMAND_LINE:
            return "." not in given.path or given.path in self.by_conf or given.path in self.dialect.keys
        return layer.rank is Rank.BROKER_CONF

    def refuse_other_kinds(self, weakest_first: Sequence[Layer]) -> None:
        """Raise `SettingError` where RocketMQ's keys ask for what no server here is."""
        keys: dict[str, Given] = {}
        role, moved = "", False
        for layer in weakest_first:
            for given in layer.values:
                if self.is_conf(given, layer):
                    keys[given.path] = given
                role = str(given.value) if given.path in _ROLE else role
                moved = moved or given.path in _DIRECTORY
        if why := self.dialect.refusal(keys, self.classes, role, moved):
            raise SettingError(why)

    def take_path(self, given: Given) -> None:
        section, _, key = given.path.partition(".")
        if section == PLUGINS:
            name, _, option = key.rpartition(".")  # of "module:attribute", too, which may hold dots
            if not (name and option):
                raise SettingError(f"{given.path} from {given.origin}: must be {PLUGINS}.<name>.<option>")
            self.put_option(name, option, given)
        elif self.means(given.path):
            self.lay(given.path, given, _OF_SECTION)
        elif section in self.profiles and "." in key:
            profile, _, name = key.partition(".")
            self.take_of_profile(section, profile, name, given)
        elif section in self.others:
            self.passed_over.append(given)
        else:
            known = self.fields if section in self.classes else [*self.classes, *self.others, PLUGINS]
            raise unknown_name(
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
        elif section == PLUGINS.upper():
            raise SettingError(
                f"{PREFIX}{given.path} from the environment names no option of a plugin; write "
                f"{PREFIX}PLUGINS_<NAME>__<OPTION>, with two underscores between"
            )
        elif double and self.take_variable_of_profile(given):
            return
        elif any(given.path.startswith(f"{other.upper()}_") for other in self.others):
            self.passed_over.append(given)
        else:
            known = [PREFIX + name for name in self.by_variable]
            raise unknown_name(PREFIX + given.path, "the environment", known, "variable")

    def take_variable_of_profile(self, given: Given) -> bool:
        """Take <SECTION>_<PROFILE>__<KEY>, or <SECTION>_<TABLE>__<KEY>; whether it is such a one."""
        before, _, key = given.path.lower().partition("__")
        key = key.replace("__", ".")
        for section in self.profiles:
            if before.startswith(f"{section}_"):
                name = before.removeprefix(f"{section}_")
                if self.means(f"{section}.{name}.{key}"):  # a table of the section itself
                    self.lay(f"{section}.{name}.{key}", given, _OF_SECTION)
                else:
                    self.take_of_profile(section, name, key, given)
                return True
        return False

    def take_of_profile(self, section: str, profile: str, key: str, given: Given) -> None:
        """Take a value of one profile; it counts if that is the chosen one."""
        path = f"{section}.{key}"
        if not self.means(path):
            known = [name.partition(".")[2] for name in self.fields if name.startswith(f"{section}.")]
            raise unknown_name(key, given.origin, known, f"setting of {section}")
        self.profiles_seen[section].add(profile)
        if same_profile(profile, self.profiles[section]):
            self.of_profiles.append((path, given))

    def take_profiles(self) -> None:
        """Lay what the chosen profiles say over what the sections of the same layer say."""
        self.stage += 1
        for path, given in self.of_profiles:
            self.lay(path, given, _OF_PROFILE)
        self.of_profiles.clear()
        self.options += [option for _, option in sorted(self.of_layer, key=lambda each: each[0])]
        self.of_layer.clear()
        self.stage += 1

    def means(self, path: str) -> bool:
        """Whether `path` is a setting, a key of one that is a table, or an option of a section's plugin."""
        section, _, key = path.partition(".")
        name, dot, _ = key.partition(".")
        return (
            path in self.fields
            or path in self.moved
            or bool(dot and f"{section}.{name}" in self.tables)
            or (name == PLUGINS and section in self.with_plugins)
        )

    def lay(self, path: str, given: Given, level: int) -> None:
        """Take a value for what `path` means."""
        section, _, key = path.partition(".")
        name, _, rest = key.partition(".")
        if path in self.fields or path in self.moved:
            self.put(path, given.value, given.origin)
        elif name == PLUGINS:
            for plugin, option, value in options_at(path, rest, given):
                self.of_layer.append((level, GivenOption(section, plugin, option, value, given.origin)))
        else:
            table = f"{section}.{name}"
            known = self.values[table][0] if table in self.values else {}
            self.put(table, {**known, rest: given.value}, given.origin)

    def check_profiles(self) -> None:
        """Raise `SettingError` for a chosen profile that none of the sections has for which it is chosen."""
        for chosen in set(self.profiles.values()) - {""}:
            sections = [section for section, profile in self.profiles.items() if profile == chosen]
            seen = {each for section in sections for each in self.profiles_seen[section]}
            if not any(same_profile(chosen, each) for each in seen):
                raise SettingError(f"there is no profile [{sections[0]}.{chosen}]{hint(chosen, seen)}")

    def take_conf(self, given: Given, sections: frozenset[str] | None) -> None:
        paths = [
            path
            for path in self.by_conf.get(self.dialect.renamed.get(given.path, given.path), ())
            if sections is None or path.partition(".")[0] in sections
        ]
        if not paths:
            if given.path not in self.dialect.keys:
                raise unknown_name(given.path, given.origin, [*self.by_conf, *self.dialect.keys], "key")
            self.without_effect[given.path] = given
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
        """Take `value` for the setting that is or was at `path`; `key` is what the user called it."""
        given, path = path, self.moved.place(path)
        section, _, name = path.partition(".")
        field = self.fields[path]
        try:
            converted = convert(value, self.types[section][name])
        except ValueError as problem:
            raise SettingError(f"{key or given} = {value!r} from {origin}: {problem}") from None
        if field.validator is not None:
            try:
                # The check needs no more of an instance than the name of its section.
                field.validator(self.classes[section], field, converted)
            except SettingError as problem:
                raise SettingError(f"{problem} (from {origin})") from None
        self.moved.take(self.stage, key or given, converted, origin, path)
        self.values[path] = (converted, origin if given == path else f"{origin}, by its old name {given}")
        self.stages[path] = self.stage

    def put_option(self, plugin: str, option: str, given: Given) -> None:
        self.of_layer.append((_OF_ALL, GivenOption("", plugin, option, given.value, given.origin)))

    def drop_options_of_others(self) -> None:
        """Forget options of a strategy in whose place something stronger chose another."""
        for path in self.tables & self.values.keys():
            chosen = self.stages.get(path.removesuffix("_options"), self.stages[path])
            if chosen > self.stages[path]:
                del self.values[path]

    def finish(self) -> Resolved:
        self.drop_options_of_others()
        made = {cls: self.make(name, cls) for name, cls in self.classes.items()}
        entries = [
            Entry(
                path,
                told(field, getattr(made[self.classes[path.partition(".")[0]]], field.name)),
                self.values[path][1] if path in self.values else DEFAULT,
                field.metadata.get("doc", ""),
                field.metadata.get("plugin", ""),
            )
            for path, field in self.fields.items()
        ]
        profiles = [f"{section}.{name}" for section, names in self.profiles_seen.items() for name in names]
        told_of = (*self.moved.warnings(), *self.dialect.warnings(self.without_effect))
        resolved = Resolved(made, entries, self.options, told_of, sorted(profiles))
        resolved.passed_over = tuple(self.passed_over)
        return resolved

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


def same_profile(profile: str, other: str) -> bool:
    """Whether two profiles are one. Names of variables know neither hyphens nor small letters."""
    return profile.lower().replace("-", "_") == other.lower().replace("-", "_")

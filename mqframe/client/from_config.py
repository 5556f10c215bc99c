"""Clients made from a configuration: a TOML file, the environment, and what the code says itself."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import attrs

from mqframe.core.config.configuration import DEFAULT, Resolved, resolve
from mqframe.core.config.layers import Given, Layer, Rank, environment, toml
from mqframe.core.config.programs import CLIENT, PROGRAMS, WITH_PROFILES, others_of
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.options import section_of

FILE: Final = "mqframe.toml"
"""Read from the working folder when no file is named and this one is there."""
_COMMON: Final = ("nameserver", "settings", "client", "net", "plugins", "instance", "clock", "randomness")
"""Arguments that some constructors only hand on."""


class ConfigSource:
    """Where the arguments of one client come from; looked at again when they may have changed.

    `section`: a key of `mqframe.client.sections.KINDS`; else as `Configurable.from_config`.
    """

    def __init__(self, section: str, file: str | Path | None, profile: str, given: Mapping[str, Any]) -> None:
        if file is None and Path(FILE).is_file():
            file = FILE
        # A program may go to another folder while it runs.
        self.file = None if file is None else Path(file).absolute()
        self.section = section
        self._name = str(file)
        self._profile = profile
        self._given = given
        self._mark = self._look()

    def changed(self) -> bool:
        """Whether the file is another one than when this was asked last, or the source was made."""
        before, self._mark = self._mark, self._look()
        return self._mark is not None and self._mark != before

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self.file or "")
        except OSError:
            return None  # it is being replaced
        return found.st_ino, found.st_mtime_ns, found.st_size

    def arguments(self, cls: type[Any]) -> dict[str, Any]:
        """The arguments for the constructor of `cls`. Raises `SettingError`."""
        from mqframe.client.sections import KINDS, ClientSection
        from mqframe.net.settings import NetSettings

        section, given = self.section, self._given
        kind = KINDS[section]
        parameters = inspect.signature(cls).parameters
        settings = {field.name for field in attrs.fields(kind.section)} - kind.arguments
        _check_names(cls, given, {*parameters, *_COMMON, *kind.arguments, *settings})
        resolved = self._resolve({name: value for name, value in given.items() if name in settings})
        entries = {entry.path: entry for entry in resolved.entries}
        made: dict[str, Any] = {
            name: entry.value
            for name in kind.arguments
            if (entry := entries[f"{section}.{name}"]).origin != DEFAULT and entry.value not in ("", None)
        }
        client = resolved.section(ClientSection)
        made.setdefault("rpc_hooks", client.rpc_hooks)
        made |= {"client": client, "net": resolved.section(NetSettings)}
        if kind.settings is not None:
            made["settings"] = resolved.section(kind.section)
        made |= {name: value for name, value in given.items() if name not in settings}
        for name in given:
            if f"{name}_options" not in given:
                made.pop(f"{name}_options", None)  # of what the configuration chose in its place
        made["plugins"] = (made.get("plugins") or PluginManager()).configured(resolved.plugins(section))
        if "group" in parameters and parameters["group"].default is inspect.Parameter.empty:
            self._check_group(made)
        return made

    def _resolve(self, given: Mapping[str, Any]) -> Resolved:
        from mqframe.client.sections import KINDS, SHARED

        layers = [environment(os.environ)]
        if self.file is not None:
            layers.append(self._layer(self.file))
        values = (Given(f"{self.section}.{key}", value, f"argument {key}") for key, value in given.items())
        layers.append(Layer(Rank.ARGUMENT, tuple(values)))
        sections = [*SHARED, *(kind.section for kind in KINDS.values())]
        profiles = {**dict.fromkeys(KINDS, ""), self.section: self._profile}
        plugins = self._given.get("plugins") or PluginManager()
        of_services = {section_of(name) for name in plugins.names("broker_service")}
        others = others_of(CLIENT) | of_services - set(PROGRAMS[CLIENT])
        return resolve(sections, layers, other_sections=others, profiles=profiles, with_plugins=WITH_PROFILES)

    def _layer(self, path: Path) -> Layer:
        try:
            return toml(path.read_text(encoding="utf-8"), self._name)
        except (OSError, UnicodeDecodeError) as problem:
            raise SettingError(f"configuration {self._name} cannot be read: {problem}") from None

    def _check_group(self, made: Mapping[str, Any]) -> None:
        if not made.get("group"):
            section = self.section
            where = f"[{section}.{self._profile}]" if self._profile else f"[{section}]"
            raise SettingError(
                f"{section}.group must be set: from_config(..., group=...), MQFRAME_{section.upper()}_GROUP,"
                f" or {where} of {FILE if self.file is None else self._name}"
            )


class Configurable:
    """A client that can be made from a configuration."""

    _section: ClassVar[str]
    """Its section, a key of `mqframe.client.sections.KINDS`."""

    @classmethod
    def from_config(
        cls, file: str | Path | None = None, profile: str = "", *, watch: float = 0.0, **arguments: Any
    ) -> Self:
        """A client as a configuration describes it.

            PushConsumer.from_config("app.toml", "billing", consume_threads=4)

        `file`: TOML; by default `mqframe.toml` in the working folder, if it is there. `profile`: which table
        `[section.profile]` counts besides `[section]`. `arguments`: arguments of the constructor, and single
        settings of its section. These come first, then variables of the environment
        (`MQFRAME_<SECTION>_<KEY>`; NAMESRV_ADDR is one for `client.nameserver`), then the file, then the
        defaults; strategies get the options of their `[plugins.<name>]`, wherever they are chosen. Raises
        `SettingError` for unknown keys and bad values, naming where they came from, and what the constructor
        raises.

        `watch`: how often a running consumer looks whether the file has another allocation strategy, or other
        options for it, and takes that without a stop, s; 0: never. Other changes wait for a restart. A file
        that cannot be used is logged, and nothing changes.
        """
        source = ConfigSource(cls._section, file, profile, arguments)
        client = cls(**source.arguments(cls))
        if watch:
            client._watch(source, watch)
        return client

    def _watch(self, source: ConfigSource, seconds: float) -> None:
        """Look at `source` every `seconds` while it runs. Raises `SettingError` where that is vain."""
        raise SettingError(
            f"watch: nothing of {type(self).__name__} changes while it runs; consumers that share queues"
            " can change their allocation"
        )


def _check_names(cls: type[Any], given: Mapping[str, Any], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            meant = did_you_mean(name, known)
            raise SettingError(
                f"{name} is no argument or setting of {cls.__name__}{f'; {meant}' if meant else ''}"
            )

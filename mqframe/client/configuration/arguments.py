"""The arguments of a client, as its configuration has them: a file, the environment, and the code itself."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs

from mqframe.client.configuration.sections import SHARED, ClientSection, client_kinds
from mqframe.core.config.configuration import DEFAULT, Resolved, resolve
from mqframe.core.config.layers import Given, Layer, Rank, environment, toml
from mqframe.core.config.missing_sections import refuse_missing_sections
from mqframe.core.config.programs import CLIENT, PROGRAMS, others_of
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.missing import missing_services
from mqframe.hooks.options import section_of
from mqframe.hooks.sections import missing_sections, sections_of_others
from mqframe.net.settings import NetSettings

_COMMON: Final = ("nameserver", "settings", "client", "net", "plugins", "instance", "clock", "randomness")
"""Arguments that some constructors only hand on."""


class Sources(NamedTuple):
    """What the arguments of one client come from.

    `section`: a key of `mqframe.client.configuration.sections.client_kinds()`; `profile`: which of its tables
    counts besides; `file`: TOML, or `None`; `name`: how errors call the file; `given`: what the code itself
    says.
    """

    section: str
    profile: str
    file: Path | None
    name: str
    given: Mapping[str, Any]


def arguments_of(cls: type[Any], sources: Sources) -> dict[str, Any]:
    """The arguments for the constructor of `cls`. Raises `SettingError`."""
    section, given = sources.section, sources.given
    kind = client_kinds()[section]
    parameters = inspect.signature(cls).parameters
    settings = {field.name for field in attrs.fields(kind.section)} - kind.arguments
    _check_names(cls, given, {*parameters, *_COMMON, *kind.arguments, *settings})
    resolved = _resolve(sources, {name: value for name, value in given.items() if name in settings})
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
        _check_group(sources, made)
    return made


def _resolve(sources: Sources, given: Mapping[str, Any]) -> Resolved:
    section = sources.section
    layers = [environment(os.environ)]
    if sources.file is not None:
        layers.append(_layer(sources.file, sources.name))
    values = (Given(f"{section}.{key}", value, f"argument {key}") for key, value in given.items())
    layers.append(Layer(Rank.ARGUMENT, tuple(values)))
    kinds = client_kinds()
    sections = [*SHARED, *(kind.section for kind in kinds.values())]
    profiles = {**dict.fromkeys(kinds, ""), section: sources.profile}
    refuse_missing_sections(layers, missing_sections(CLIENT))
    plugins = sources.given.get("plugins") or PluginManager()
    # Clients need nothing of what brokers run: a file for both has sections of what is not installed here.
    of_services = {section_of(name) for name in plugins.names("broker_service")}
    of_services |= missing_services(plugins.not_installed()).keys()
    others = others_of(CLIENT) | sections_of_others(CLIENT) | of_services - set(PROGRAMS[CLIENT])
    return resolve(sections, layers, other_sections=others, profiles=profiles, with_plugins=kinds)


def _layer(path: Path, name: str) -> Layer:
    try:
        return toml(path.read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"configuration {name} cannot be read: {problem}") from None


def _check_group(sources: Sources, made: Mapping[str, Any]) -> None:
    if not made.get("group"):
        section, profile = sources.section, sources.profile
        where = f"[{section}.{profile}]" if profile else f"[{section}]"
        raise SettingError(
            f"{section}.group must be set: from_config(..., group=...), MQFRAME_{section.upper()}_GROUP,"
            f" or {where} of {sources.name}"
        )


def _check_names(cls: type[Any], given: Mapping[str, Any], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            meant = did_you_mean(name, known)
            raise SettingError(
                f"{name} is no argument or setting of {cls.__name__}{f'; {meant}' if meant else ''}"
            )

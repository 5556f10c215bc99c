"""Clients made from a configuration: a TOML file, the environment, and what the code says itself."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from mqframe.core.config.configuration import DEFAULT, Resolved, resolve
from mqframe.core.config.layers import Given, Layer, Rank, environment, toml
from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager

FILE: Final = "mqframe.toml"
"""Read from the working folder when no file is named and this one is there."""
_SERVERS: Final = ("nameserver", "broker", "store")
"""Sections of other programs, which may share the file."""
_COMMON: Final = ("nameserver", "settings", "client", "net", "plugins", "instance", "clock", "randomness")
"""Arguments that some constructors only hand on."""


class Configurable:
    """A client that can be made from a configuration."""

    _section: ClassVar[str]
    """Its section, a key of `mqframe.client.sections.KINDS`."""

    @classmethod
    def from_config(cls, file: str | Path | None = None, profile: str = "", **arguments: Any) -> Self:
        """A client as a configuration describes it.

            PushConsumer.from_config("app.toml", "billing", consume_threads=4)

        `file`: TOML; by default `mqframe.toml` in the working folder, if it is there. `profile`: which table
        `[section.profile]` counts besides `[section]`. `arguments`: arguments of the constructor, and single
        settings of its section. These come first, then variables of the environment
        (`MQFRAME_<SECTION>_<KEY>`), then the file, then the defaults; strategies get the options of their
        `[plugins.<name>]`, wherever they are chosen. Raises `SettingError` for unknown keys and bad values,
        naming where they came from, and what the constructor raises.
        """
        return cls(**constructor_arguments(cls, cls._section, file, profile, arguments))


def constructor_arguments(
    cls: type[Any], section: str, file: str | Path | None, profile: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments for the constructor of `cls`, whose section is `section`; else as `from_config`."""
    from mqframe.client.sections import KINDS, ClientSection
    from mqframe.net.settings import NetSettings

    kind = KINDS[section]
    parameters = inspect.signature(cls).parameters
    settings = {field.name for field in kind.section.__attrs_attrs__} - kind.arguments
    _check_names(cls, given, {*parameters, *_COMMON, *kind.arguments, *settings})
    resolved = client_settings(
        file, {section: profile}, {name: value for name, value in given.items() if name in settings}
    )
    made: dict[str, Any] = {
        entry.path.removeprefix(f"{section}."): entry.value
        for entry in resolved.entries
        if entry.path.startswith(f"{section}.") and entry.origin != DEFAULT and entry.value not in ("", None)
    }
    made = {name: value for name, value in made.items() if name in kind.arguments}
    client = resolved.section(ClientSection)
    made.setdefault("rpc_hooks", client.rpc_hooks)
    made |= {"client": client, "net": resolved.section(NetSettings)}
    if kind.settings is not None:
        made["settings"] = resolved.section(kind.section)
    made |= {name: value for name, value in given.items() if name not in settings}
    made["plugins"] = (made.get("plugins") or PluginManager()).configured(resolved.plugins())
    if "group" in parameters and parameters["group"].default is inspect.Parameter.empty:
        _check_group(made, section, profile, file)
    return made


def client_settings(
    file: str | Path | None, profiles: Mapping[str, str], given: Mapping[str, Any] | None = None
) -> Resolved:
    """The settings of all clients.

    `profiles`: the chosen one by section; `given`: by key, what code says of that section. Raises
    `SettingError`.
    """
    from mqframe.client.sections import KINDS, SHARED

    layers = [environment(os.environ)]
    if file is None and Path(FILE).is_file():
        file = FILE
    if file is not None:
        layers.append(_file(Path(file)))
    for section in profiles:
        values = (Given(f"{section}.{key}", value, f"argument {key}") for key, value in (given or {}).items())
        layers.append(Layer(Rank.ARGUMENT, tuple(values)))
    sections = [*SHARED, *(kind.section for kind in KINDS.values())]
    return resolve(
        sections, layers, other_sections=_SERVERS, profiles={**dict.fromkeys(KINDS, ""), **profiles}
    )


def _file(path: Path) -> Layer:
    try:
        return toml(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"configuration {path} cannot be read: {problem}") from None


def _check_names(cls: type[Any], given: Mapping[str, Any], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise SettingError(f"{name} is no argument or setting of {cls.__name__}{hint}")


def _check_group(made: Mapping[str, Any], section: str, profile: str, file: str | Path | None) -> None:
    if not made.get("group"):
        where = f"[{section}.{profile}]" if profile else f"[{section}]"
        raise SettingError(
            f"{section}.group must be set: from_config(..., group=...), MQFRAME_{section.upper()}_GROUP,"
            f" or {where} of {file or FILE}"
        )

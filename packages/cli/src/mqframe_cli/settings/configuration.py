"""Settings of the commands: options, `--set`, the environment and a file, in one place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe.core.config.configuration import DEFAULT, Resolved, one_section, resolve
from mqframe.core.config.layers import Given, Layer, Rank, command_line, environment, toml
from mqframe.core.config.missing_sections import refuse_missing_sections
from mqframe.core.config.programs import (
    CLIENT,
    PROGRAMS,
    STANDARD_SERVICES,
    others_of,
)
from mqframe.core.errors import PluginError, SettingError
from mqframe.hooks.missing import missing_services
from mqframe.hooks.options import section_of
from mqframe.hooks.sections import (
    added_sections,
    load_section,
    missing_sections,
    section_names,
    sections_of_others,
)
from mqframe_cli.settings.properties_file import broker_conf
from mqframe_cli.settings.rocketmq_meanings import ROCKETMQ
from mqframe_cli.settings.run_plugins import plugin_manager

if TYPE_CHECKING:
    from mqframe.hooks.manager import PluginManager

WITH_PROFILES: Final = frozenset(PROGRAMS[CLIENT]) - {"client", "net"}
"""Sections of clients that may have profiles."""
OF_BROKERS: Final = frozenset({"broker", "store", *STANDARD_SERVICES})
"""Sections that may have profiles for single brokers, by their names."""
_CLASSES: Final[Mapping[str, str]] = {
    "nameserver": "mqframe.nameserver.settings:NameServerSettings",
    "broker": "mqframe.broker.settings:BrokerSettings",
    "store": "mqframe.store.settings:StoreSettings",
    "access": "mqframe.net.access.settings:AccessSettings",
    "net": "mqframe.net.settings:NetSettings",
    "monitoring": "mqframe_cli.settings.monitoring:MonitoringSettings",
    "client": "mqframe.client.configuration.sections:ClientSection",
    "producer": "mqframe.client.configuration.sections:ProducerSection",
    "consumer": "mqframe.client.configuration.sections:ConsumerSection",
    "admin": "mqframe.client.configuration.sections:AdminSection",
}
"""Where the settings of each section of the kernel are; imported when a program has it."""
BROKER_SERVICE: Final = "broker_service"
BUSY_POLL_MICROSECONDS: Final = 150
SERVER_DEFAULT: Final = "default of servers"


def file_here() -> Path | None:
    """The file in the working folder that clients are made from, where there is one."""
    from mqframe.client.configuration.from_config import FILE

    return Path(FILE) if Path(FILE).is_file() else None


def given_origins(resolved: Resolved) -> dict[str, str]:
    """By path, where each setting of `resolved` that is no default comes from."""
    return {entry.path: entry.origin for entry in resolved.entries if entry.origin != DEFAULT}


def load(
    program: str,
    options: Mapping[str, Mapping[str, Any]],
    file: Path | None,
    items: Sequence[str],
    variables: Mapping[str, str] | None = None,
    profile: str = "",
    layers: Sequence[Layer] = (),
    processes: int = 1,
    replicas: int = 1,
) -> Resolved:
    """The settings of `program` (a key of `PROGRAMS`).

    `options`: by name of the option ("--host"), the value of each path that it sets; `None` is not given.
    `file`: TOML, or a RocketMQ properties file, whose keys mean the broker where there is one. `items`:
    "path=value". `variables`: the environment, by default the real one. `profile`: the one that counts in
    each section that has it; of a broker it is the name, and need not be there. `layers`: further sources.
    `processes`: how many brokers a server starts; `replicas`: how many of each name. Raises `SettingError`.
    """
    layers = [*layers, command_line(items), environment(os.environ if variables is None else variables)]
    layers.append(_of_options(options))
    sections, plugins = (*PROGRAMS[program], *added_sections(program)), plugin_manager()
    of_services = sections_of_services(plugins)
    if file is not None:
        layers.append(_file(file, [*sections, *of_services]))
    own: dict[str, Any] = {}
    if program != CLIENT and len(os.sched_getaffinity(0)) > processes * replicas:
        # Servers with a processor to themselves; one inside another program must not take time from it.
        own["net.busy_poll_microseconds"] = BUSY_POLL_MICROSECONDS
    if processes > 1:
        own["broker.share_new_topics"] = True
    given = (Given(path, value, SERVER_DEFAULT) for path, value in own.items())
    layers.append(Layer(Rank.PROGRAM, tuple(given)))
    classes = [settings_class(section) for section in sections]
    missing = missing_services(plugins.not_installed())
    client = program == CLIENT
    if "broker" in sections and of_services:
        classes += sections_of_plugins(_chosen_services(layers, profile), plugins)
    _refuse_missing(program, layers, classes, missing)
    names = {each.SECTION for each in classes}
    of_clients = WITH_PROFILES | added_sections(CLIENT).keys()
    with_profiles = of_clients if client else OF_BROKERS | names - section_names()
    return resolve(
        classes,
        layers,
        other_sections=(others_of(program) | sections_of_others(program) | of_services | missing.keys())
        - names,
        profiles=dict.fromkeys(with_profiles & names, profile),
        missing_profiles=not client,
        with_plugins=of_clients if client else (),
        dialect=ROCKETMQ,
    )


def data_option(program: str, data: Path | None) -> dict[str, Path | None]:
    """What the option `--data` of `program` sets."""
    directories = {"nameserver.directory": "nameserver", "store.directory": "store"}
    return {
        path: None if data is None else data / name
        for path, name in directories.items()
        if path.partition(".")[0] in PROGRAMS[program]
    }


def host_option(host: str | None, *sections: str) -> dict[str, str | None]:
    """What the option `--host` sets: that of `sections`, and of `metrics` where something serves them."""
    metrics = {"metrics"} & added_sections(sections[0]).keys()
    return {f"{section}.host": host for section in (*sections, *metrics)}


def settings_class(section: str) -> type[Any]:
    """The class that holds the settings of `section`, imported now."""
    if section not in _CLASSES:
        return load_section(section)
    module, _, name = _CLASSES[section].partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found


def _of_options(options: Mapping[str, Mapping[str, Any]]) -> Layer:
    given = (
        Given(path, value, f"command line {option}")
        for option, values in options.items()
        for path, value in values.items()
        if value is not None
    )
    return Layer(Rank.COMMAND_LINE, tuple(given))


def _refuse_missing(
    program: str, layers: Iterable[Layer], classes: Iterable[type[Any]], services: Mapping[str, str]
) -> None:
    """Raise `SettingError` for what `program` would read if what has it were installed.

    `classes`: of the sections that it has; old names of what is there go on working. `services`: what to type
    for the services of brokers that are missing, by their sections.
    """
    missing = {**missing_sections(program), **(services if "broker" in PROGRAMS[program] else {})}
    old = {was for each in classes for field in attrs.fields(each) for was in field.metadata.get("was", ())}
    refuse_missing_sections(layers, missing, old)


def _chosen_services(layers: Iterable[Layer], profile: str) -> list[str]:
    """The services of which a broker with these settings has those that are installed."""
    broker = one_section(settings_class("broker"), layers, profile)
    return [*(name for name in STANDARD_SERVICES if name not in broker.services_blocked), *broker.services]


def sections_of_services(plugins: PluginManager) -> frozenset[str]:
    """The sections that installed plugins may have for services of brokers; a standard one may be blocked."""
    names = {*plugins.names(BROKER_SERVICE), *STANDARD_SERVICES}
    return (
        frozenset(map(section_of, names)) - section_names() - missing_services(plugins.not_installed()).keys()
    )


def sections_of_plugins(services: Iterable[str], plugins: PluginManager) -> list[type[Any]]:
    """The classes of the sections of `services`, as far as plugins bring them.

    Whoever runs a service that is not installed, or is broken, is told so; others need not know.
    """
    found = []
    for name in (each for each in services if section_of(each) not in section_names()):
        with suppress(PluginError):
            section = plugins.settings_class(name)
            if section is not None and section.SECTION not in section_names():
                found.append(section)
    return list(dict.fromkeys(found))


def service_kinds(resolved: Resolved) -> list[type[Any]]:
    """The classes of the sections of services among those of `resolved`."""
    known = section_names()
    return [kind for kind in resolved.kinds if kind.SECTION not in known]


def added_kinds(resolved: Resolved) -> list[type[Any]]:
    """The classes of the sections that other distributions add among those of `resolved`."""
    added = added_sections()
    return [kind for kind in resolved.kinds if kind.SECTION in added]


def of_broker(resolved: Resolved) -> bool:
    """Whether these are settings of a program that has a broker."""
    return any(kind.SECTION == "broker" for kind in resolved.kinds)


def _file(path: Path, sections: Sequence[str]) -> Layer:
    try:
        data = path.read_bytes()
        if path.suffix == ".toml":
            return toml(data.decode(), str(path))
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"--config {path} cannot be read: {problem}") from None
    if data.lstrip().startswith(b"{"):
        raise SettingError(
            f"--config {path} is JSON, as RocketMQ's proxy has it; there is none here: give its broker.conf"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("iso-8859-1")  # as Java takes such files, comments in any encoding among them
    # listenPort and bindAddress exist in both of RocketMQ's files; a broker's file is the one people have.
    meant = [section for section in sections if section != "nameserver" or "broker" not in sections]
    return broker_conf(text, str(path), meant)

"""`mqframe config`: what is set, and by whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mqframe.core.config.secret_names import is_secret_name
from mqframe_cli.commands import new_app
from mqframe_cli.output import Json, show
from mqframe_cli.settings.run_plugins import plugin_manager

if TYPE_CHECKING:
    from mqframe.core.config.configuration import Entry, Resolved

_NOT_IN_USE: Final = "not in use: the service {} does not run here"
app = new_app(help="Look at settings.")


@app.callback()
def _group() -> None:
    """Look at settings."""


@app.command("show")
def show_settings(
    program: Annotated[
        str, typer.Option("--for", help="server, nameserver, broker or client: whose settings.")
    ] = "server",
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help="TOML file, or broker.conf; of clients by default mqframe.toml here."
        ),
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="section.key=value")] = None,
    profile: Annotated[
        str, typer.Option("--profile", help="Which [section.profile] counts, too; of brokers it is the name.")
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Of a server: what was changed while it ran counts."),
    ] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not the default.")] = False,
    json: Json = False,
) -> None:
    """Print every setting with its value and where that came from, and the options of plugins in use."""
    from mqframe.core.config.configuration import DEFAULT, same_profile
    from mqframe.core.config.programs import CLIENT
    from mqframe.core.errors import SettingError
    from mqframe_cli.settings.changed_settings import with_changes
    from mqframe_cli.settings.configuration import (
        SERVER_DEFAULT,
        data_option,
        file_here,
        load,
    )

    _check(program, profile, data)
    if config is None and program == CLIENT:
        config = file_here()
    resolved = load(program, {"--data": data_option(program, data)}, config, set_ or (), profile=profile)
    if profile and not any(same_profile(profile, each.partition(".")[2]) for each in resolved.profiles):
        known = ", ".join(resolved.profiles) or "no profiles"
        raise SettingError(f"--profile {profile}: there is none of that name; there are {known}")
    for warning in resolved.warnings:
        typer.echo(f"mqframe: {warning}", err=True)
    entries = [*with_changes(resolved), *_not_in_use(resolved), *_plugin_entries(resolved)]
    rows = [
        {
            "setting": entry.path,
            "value": _plain(entry.value, json),
            "origin": entry.origin,
            "meaning": entry.doc,
        }
        for entry in entries
        if not (changed and entry.origin in (DEFAULT, SERVER_DEFAULT))
    ]
    show(rows, as_json=json, empty="everything is at its default")


def _check(program: str, profile: str, data: Path | None) -> None:
    """Raise `SettingError` for options that do not go together."""
    from mqframe.core.config.programs import CLIENT, PROGRAMS
    from mqframe.core.errors import SettingError

    if program not in PROGRAMS:
        raise SettingError(f"--for {program}: must be one of {', '.join(PROGRAMS)}")
    if profile and program == "nameserver":
        raise SettingError(f"--profile {profile}: name servers have no profiles; brokers and clients do")
    if data is not None and program == CLIENT:
        raise SettingError(f"--data {data}: clients keep no settings; servers do")


def _plugin_entries(resolved: Resolved) -> Iterator[Entry]:
    """Options of the plugins that settings name, as these plugins read them; of others what was given."""
    from mqframe.core.config.configuration import DEFAULT, Entry
    from mqframe.hooks.catalog import table_key

    entries = {entry.path: entry for entry in resolved.entries}
    common = resolved.plugins()
    shown = set()
    for entry in resolved.entries:
        section = entry.path.partition(".")[0]
        tables = resolved.plugins(section)
        plugins = plugin_manager().configured(tables)
        given = entries.get(f"{entry.path}_options")
        chosen = entry.value if isinstance(entry.value, tuple) else filter(None, [entry.value])
        for name in chosen if entry.plugin and entry.origin != DEFAULT else ():
            # Options of its own make it another one than that of the same name elsewhere.
            own = bool(given and given.value) or tables.get(name) != common.get(name)
            place = f"{section}.plugins.{name}" if own else f"plugins.{name}"
            options = plugins.check(entry.plugin, name, given.value if given and given.value else None)
            if options is None or place in shown:
                continue
            shown |= {place, name}
            origins = next((t.origins for key, t in tables.items() if table_key(key) == table_key(name)), {})
            if given:
                origins = {**origins, **dict.fromkeys(given.value, given.origin)}
            yield from _of_plugin(place, options, origins)
    for name, table in common.items():
        if table_key(name) in map(table_key, shown):
            continue
        for key, value in table.items():
            # What a plugin keeps secret is known to it alone, and one that is not in use is not imported.
            said = "(secret)" if is_secret_name(key) else value
            yield Entry(f"plugins.{name}.{key}", said, table.origins[key], "not in use here")


def _not_in_use(resolved: Resolved) -> Iterator[Entry]:
    """What was given to services of plugins that do not run here: they are not imported to read it."""
    from mqframe.core.config.configuration import Entry
    from mqframe_cli.settings.configuration import of_broker, sections_of_services

    for name in sorted(sections_of_services(plugin_manager()) if of_broker(resolved) else ()):
        for given in resolved.passed_over:
            path = given.path
            if path.startswith(f"{name.upper()}_"):  # of a variable
                path = f"{name}.{path.removeprefix(f'{name.upper()}_').lower()}"
            if path.startswith(f"{name}."):
                said = "(secret)" if is_secret_name(path) else given.value
                yield Entry(path, said, given.origin, _NOT_IN_USE.format(name))


def _of_plugin(place: str, options: Any, origins: Mapping[str, str]) -> Iterator[Entry]:
    """An entry below `place` for each of `options`."""
    import attrs

    from mqframe.core.config.configuration import DEFAULT, Entry

    for field in attrs.fields(type(options)):
        hidden = field.metadata.get("secret") or is_secret_name(field.name)
        yield Entry(
            f"{place}.{field.name}",
            "(secret)" if hidden else getattr(options, field.name),
            origins.get(field.name, DEFAULT),
            field.metadata.get("doc", ""),
        )


def _plain(value: object, as_json: bool) -> object:
    if isinstance(value, bool) and not as_json:
        return str(value).lower()  # as it is written in a file
    return str(value) if isinstance(value, Path | datetime) else value

"""`mqframe config`: what is set, and by whom, and changes of what may be set while brokers run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from mqframe.core.config.secret_names import is_secret_name
from mqframe.core.errors import SettingError
from mqframe_cli.access import admin_client
from mqframe_cli.commands import new_app
from mqframe_cli.contexts.chosen import choose_cluster
from mqframe_cli.output import Json, NameServer, show
from mqframe_cli.settings.run_plugins import plugin_manager

if TYPE_CHECKING:
    from mqframe.core.config.configuration import Entry, Resolved

_NOT_IN_USE: Final = "not in use: the service {} does not run here"
app = new_app(help="Look at settings, and change those of brokers that run.")
Brokers = Annotated[
    list[str] | None,
    typer.Option(
        "--broker", help="Master of this name, or any broker by host:port; may be given often. [default: all]"
    ),
]
Setting = Annotated[str, typer.Argument(help="section.key, or what RocketMQ calls it.")]


@app.callback()
def _group() -> None:
    """Look at settings, and change those of brokers that run."""


@app.command("show")
def show_settings(
    ctx: typer.Context,
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
    broker: Annotated[
        list[str] | None,
        typer.Option("--broker", help="Of this broker, which runs: a name, host:port, or all."),
    ] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not the default.")] = False,
    nameserver: Annotated[
        str,
        typer.Option("--nameserver", envvar="NAMESRV_ADDR", help="With --broker: name servers, host:port;…"),
    ] = "",
    json: Json = False,
) -> None:
    """Print every setting with its value and where that came from, and the options of plugins in use.

    As a program would start with them; with --broker as they are in force at brokers that run.
    """
    if broker:
        if given := _given(ctx, "program", "config", "set_", "profile", "data"):
            raise SettingError(
                f"--broker asks brokers that run, and {given} says how one is started; leave one out"
            )
        from mqframe_cli.live.broker_settings import brokers_meant, settings_rows

        with admin_client(choose_cluster(ctx, "nameserver", nameserver)) as admin:
            rows = settings_rows(admin, brokers_meant(admin, _names(broker)), changed=changed)
        show(rows, as_json=json, empty="everything is at its default")
        return
    _check(program, profile, data)
    show(
        _configured(program, config, set_ or (), profile, data, changed=changed, as_json=json),
        as_json=json,
        empty="everything is at its default",
    )


@app.command("set", context_settings={"ignore_unknown_options": True})  # a value may be -1
def set_setting(
    name: Setting,
    value: Annotated[str, typer.Argument(help="Its value from now on, also after a restart.")],
    broker: Brokers = None,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Change a setting of brokers that run. It counts at once, and before what a restart is told.

    What only a restart can change is refused; mqframe config show --broker NAME tells which may be changed.
    """
    _change(name, value, _names(broker), nameserver, as_json=json)


@app.command("unset")
def unset_setting(
    name: Setting, broker: Brokers = None, nameserver: NameServer = "", json: Json = False
) -> None:
    """Undo what was set while brokers ran: what they were started with counts again, at once."""
    _change(name, None, _names(broker), nameserver, as_json=json)


def _names(broker: list[str] | None) -> list[str]:
    """The brokers that are meant; empty: all."""
    return [] if broker == ["all"] else broker or []


def _change(name: str, value: str | None, names: list[str], nameserver: str, *, as_json: bool) -> None:
    from mqframe_cli.live.broker_settings import brokers_meant, setting_change

    rows: list[dict[str, Any]] = []
    with admin_client(nameserver) as admin:
        change = setting_change(admin, name, value, brokers_meant(admin, names))
        try:
            rows.extend(change.made(admin))
        finally:
            if rows:
                show(rows, as_json=as_json)


def _given(ctx: typer.Context, *parameters: str) -> str:
    """The options of `parameters` that were typed, for a message."""
    typed = {name: ctx.get_parameter_source(name) for name in parameters}
    names = {"program": "--for", "set_": "--set"}
    return ", ".join(
        names.get(name, f"--{name}")
        for name, source in typed.items()
        if source is not None and source.name == "COMMANDLINE"
    )


def _configured(
    program: str,
    config: Path | None,
    items: Sequence[str],
    profile: str,
    data: Path | None,
    *,
    changed: bool,
    as_json: bool,
) -> list[dict[str, Any]]:
    """A row for each setting as a program that is started so would have it; tells warnings."""
    from mqframe.core.config.configuration import DEFAULT, same_profile
    from mqframe.core.config.programs import CLIENT
    from mqframe_cli.settings.changed_settings import with_changes
    from mqframe_cli.settings.configuration import SERVER_DEFAULT, data_option, file_here, load

    if config is None and program == CLIENT:
        config = file_here()
    resolved = load(program, {"--data": data_option(program, data)}, config, items, profile=profile)
    if profile and not any(same_profile(profile, each.partition(".")[2]) for each in resolved.profiles):
        known = ", ".join(resolved.profiles) or "no profiles"
        raise SettingError(f"--profile {profile}: there is none of that name; there are {known}")
    for warning in resolved.warnings:
        typer.echo(f"mqframe: {warning}", err=True)
    entries = [*with_changes(resolved), *_not_in_use(resolved), *_plugin_entries(resolved)]
    return [
        {
            "setting": entry.path,
            "value": _plain(entry.value, as_json),
            "origin": entry.origin,
            "meaning": entry.doc,
        }
        for entry in entries
        if not (changed and entry.origin in (DEFAULT, SERVER_DEFAULT))
    ]


def _check(program: str, profile: str, data: Path | None) -> None:
    """Raise `SettingError` for options that do not go together."""
    from mqframe.core.config.programs import CLIENT, PROGRAMS

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

"""Pages of the reference that come from tables in the code."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import attrs
import msgspec
from mqframe_cli.built_in import COMMANDS
from mqframe_cli.settings.configuration import settings_class
from mqframe_pop import requests as pop

from mqframe.core.config.field_types import field_types, name_of
from mqframe.core.config.programs import PROGRAMS
from mqframe.core.errors import PluginError
from mqframe.core.parameters import Since, parameters
from mqframe.core.requests import REQUESTS
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.sections import added_sections

PACKAGES: Final = ("mqframe.", f"{pop.__package__}.")
"""Where requests of Apache RocketMQ are declared."""
PLUGIN_COMMANDS: Final = ("dashboard", "dashboard-user", "schedule", "spark")
"""Commands of plugins in this repository; those that are installed are shown."""


def settings_page() -> str:
    """A table for each section."""
    names = dict.fromkeys(name for names in PROGRAMS.values() for name in names) | added_sections()
    classes = {name: settings_class(name) for name in names}
    plugins = PluginManager()
    for service in plugins.names("broker_service"):
        with suppress(PluginError):  # whatever else is installed: what cannot be imported is not ours
            if (of_plugin := plugins.settings_class(service)) is not None:
                classes.setdefault(of_plugin.SECTION, of_plugin)
    return "\n".join(_section(name, cls) for name, cls in classes.items())


def requests_page() -> str:
    """One row for each request kind."""
    rows = [
        (
            str(code),
            kind.__name__,
            kind.SINCE or "–",
            _first_line(kind.__doc__),
            _fields(kind),
            _fields(kind.ANSWER),
            _bodies(kind),
        )
        for code, kind in sorted(REQUESTS.items())
        if kind.__module__.startswith(PACKAGES)  # not those of plugins that happen to be imported
    ]
    return table(("code", "name", "since", "what for", "header fields", "answer fields", "bodies"), rows)


def commands_page() -> str:
    """The help text of every command, as `mqframe … --help` prints it."""
    from mqframe_cli.app import app

    group = _click(app)
    context = _context(group)
    names = [*COMMANDS, *(name for name in PLUGIN_COMMANDS if name in group.list_commands(context))]
    return "\n".join(_command(("mqframe", name), group.get_command(context, name)) for name in names)


def table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [heading, ("-",) * len(heading), *rows]
    return "\n".join("|" + "|".join(cell.replace("|", "\\|") for cell in line) + "|" for line in lines) + "\n"


def _section(name: str, cls: type[Any]) -> str:
    types = field_types(cls)
    rows = [
        (
            f"`{field.name}`",
            name_of(types[field.name]),
            f"`{_default(field)}`",
            field.metadata["doc"] + _before(field),
            f"`{field.metadata['conf']}`" if field.metadata["conf"] else "",
            "yes" if field.metadata["live"] else "",
        )
        for field in attrs.fields(cls)
    ]
    heading = ("setting", "type", "default", "meaning", "in a broker.conf", "live")
    return f"## {name}\n\n`{cls.__name__}`: {cls.__doc__}\n\n{table(heading, rows)}"


def _default(field: Any) -> str:
    if isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]
        return "depends on the user"
    value = field.default
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str | tuple) else str(value)


def _before(field: Any) -> str:
    was = field.metadata.get("was")
    return f" (before: `{was}`)" if was else ""


def _fields(kind: type[msgspec.Struct]) -> str:
    versions = {each.name: _versions(each.since) for each in parameters(kind)}
    fields = msgspec.structs.fields(kind)
    return ", ".join(_field(field) + versions.get(field.name, "") for field in fields) or "–"


def _field(field: Any) -> str:
    return f"`{field.encode_name}`" + ("" if field.required else "?")


def _versions(since: Since) -> str:
    if since.until:
        return f" (before {since.until})"
    return f" ({since.version})" if since.version else " (mqframe)"


def _bodies(kind: Any) -> str:
    both = [("request", kind.BODY), ("answer", kind.ANSWER_BODY)]
    return ", ".join(f"{name}: {body}" for name, body in both if body) or "–"


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0]


def _click(app: Any) -> Any:
    from typer.main import get_command

    return get_command(app)


def _context(command: Any, path: tuple[str, ...] = ("mqframe",)) -> Any:
    return command.make_context(path[-1], [], resilient_parsing=True, terminal_width=100)


def _command(path: tuple[str, ...], command: Any) -> str:
    children = getattr(command, "commands", None)
    if children:
        heading = f"{'#' * len(path)} {' '.join(path)}\n\n{_first_line(command.help)}\n\n"
        return heading + "\n".join(_command((*path, name), child) for name, child in children.items())
    context = _context(command, path)
    context.info_name = " ".join(path)
    text = command.get_help(context)
    return f"{'#' * len(path)} {' '.join(path)}\n\n```text\n{text}\n```\n"

"""Pages of the reference that come from tables in the code."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import attrs
import msgspec
from distributions import Distribution, distributions, import_requests, offered
from mqframe_cli.built_in import COMMANDS
from mqframe_cli.settings.configuration import settings_class

from mqframe.core.config.field_types import field_types, name_of
from mqframe.core.config.programs import PROGRAMS
from mqframe.core.errors import PluginError
from mqframe.core.parameters import Since, parameters
from mqframe.core.requests import REQUESTS
from mqframe.hooks.built_in import BUILT_IN
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.sections import added_sections

DOES: Final = {
    "allocation": "shares queues among the members of a group",
    "selector": "chooses the queue for a sharding key",
    "codec": "makes bodies of values, and values of bodies",
    "offset_store": "keeps how far a consumer has come",
    "send_hook": "watches sends, and sets properties of messages",
    "consume_hook": "watches calls of listeners, or wraps them",
    "forbidden_hook": "forbids single sends",
    "rpc_hook": "sees every request; a server's may refuse",
    "message_filter": "understands filter expressions",
    "dispatcher": "follows the log of a broker",
    "broker_service": "adds requests, tables and periodic work to a broker",
    "authentication": "says who asks a server",
    "authorization": "says what they may do",
    "broker_role": "says what a broker is among those with the same log",
    "coordination": "keeps who leads a group of brokers",
    "exporter": "shows another system what servers measure",
    "topic_summary": "counts a topic for `mqframe quickstart`",
    "command": "adds to the command line",
}
"""What plugins of each kind are for, in the order of the page: those of clients before those of servers."""

OWN_CODES: Final = range(21000, 22000)
"""Codes of requests that RocketMQ does not have."""


def settings_page() -> str:
    """A table for each section."""
    names = [*(name for names in PROGRAMS.values() for name in names), *added_sections()]
    classes = {name: settings_class(name) for name in names}
    plugins = PluginManager()
    for service in plugins.names("broker_service"):
        with suppress(PluginError):  # whatever else is installed: what cannot be imported is not ours
            if (of_plugin := plugins.settings_class(service)) is not None:
                classes.setdefault(of_plugin.SECTION, of_plugin)
    return "\n".join(_section(name, cls) for name, cls in classes.items())


def requests_page() -> str:
    """One row for each request kind."""
    owners = {"mqframe": "", **import_requests()}
    rows = [
        (
            str(code),
            kind.__name__,
            owners[package],
            _since(kind),
            _first_line(kind.__doc__),
            _fields(kind),
            _fields(kind.ANSWER),
            _bodies(kind),
        )
        for code, kind in sorted(REQUESTS.items())
        # Not those of other plugins that happen to be imported.
        if (package := kind.__module__.partition(".")[0]) in owners
    ]
    heading = ("code", "name", "of", "since", "what for", "header fields", "answer fields", "bodies")
    return table(heading, rows)


def commands_page() -> str:
    """The help text of every command, as `mqframe … --help` prints it."""
    from mqframe_cli.app import app

    group = _click(app)
    context = _context(group)
    installed = set(group.list_commands(context))
    names = [*COMMANDS, *sorted(installed.intersection(offered("command")) - COMMANDS.keys())]
    return "\n".join(_command(("mqframe", name), group.get_command(context, name)) for name in names)


def kinds_table() -> str:
    """The kinds of plugins, each with what the kernel and the distributions of this repository have of it."""
    rows = [
        (f"[`{kind}`](../howto/{kind}.md)", does, ", ".join([*_of_kernel(kind), *map(_code, offered(kind))]))
        for kind, does in DOES.items()
    ]
    return table(("kind", "what it does", "there are"), rows)


def distributions_table() -> str:
    """The distributions of this repository, with what each adds."""
    rows = [
        (_code(each.name), each.description, _offers(each), ", ".join(map(_code, each.extras)) or "–")
        for each in distributions()
    ]
    return table(("distribution", "what for", "plugins, and names of `mqframe`", "extras"), rows)


def table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [heading, ("-",) * len(heading), *rows]
    return "\n".join("|" + "|".join(cell.replace("|", "\\|") for cell in line) + "|" for line in lines) + "\n"


def _of_kernel(kind: str) -> list[str]:
    return [f"{_code(name)} (of the kernel)" for of, name in BUILT_IN if of == kind]


def _offers(distribution: Distribution) -> str:
    kinds = dict.fromkeys(kind for kind, _ in distribution.offers)
    parts = [
        f"{kind}: " + ", ".join(_code(name) for of, name in distribution.offers if of == kind)
        for kind in kinds
    ]
    if distribution.names:
        parts.append("names: " + ", ".join(map(_code, distribution.names)))
    return "; ".join(parts)


def _code(text: str) -> str:
    return f"`{text}`"


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
    was = field.metadata.get("was", ())
    return f" (before: {', '.join(f'`{name}`' for name in was)})" if was else ""


def _since(kind: Any) -> str:
    return kind.SINCE or ("mqframe" if kind.CODE in OWN_CODES else "–")


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
        if command.invoke_without_command:
            heading += f"```text\n{command.get_help(_context(command, path))}\n```\n\n"
        return heading + "\n".join(_command((*path, name), child) for name, child in children.items())
    context = _context(command, path)
    context.info_name = " ".join(path)
    text = command.get_help(context)
    return f"{'#' * len(path)} {' '.join(path)}\n\n```text\n{text}\n```\n"

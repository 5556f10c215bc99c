"""`mqframe context`: clusters by name, so that nobody types their name servers each time."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from mqframe.core.config.secret_names import is_secret_name
from mqframe.core.errors import SettingError
from mqframe_cli.access import client_settings
from mqframe_cli.commands import new_app
from mqframe_cli.contexts.chosen import ChosenCluster, chosen_cluster
from mqframe_cli.contexts.file import Context, contexts_path, read_contexts, write_contexts
from mqframe_cli.output import Json, NameServer, show, show_one

app = new_app(help="Clusters by name: add, use, list, show and remove them.")
Name = Annotated[str, typer.Argument(help="Name of the context.")]
ALLOWED = ("net.", "plugins.", "client.operator_port")


@app.command()
def add(
    name: Name,
    nameserver: Annotated[
        list[str], typer.Argument(metavar="HOST:PORT…", help="Its name servers, one or several.")
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="net.key=value, plugins.name.key=value or client.operator_port=value; may be given often.",
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(help="Setting whose value is asked for, or read from a line of standard input."),
    ] = None,
    use: Annotated[bool, typer.Option("--use", help="Use it from now on.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Even if there is one of that name.")] = False,
    json: Json = False,
) -> None:
    """Add a cluster. Its settings count where the environment says nothing."""
    path = contexts_path()
    contexts = read_contexts(path)
    if name in contexts.contexts and not replace:
        raise SettingError(f"there is a context {name} already; add --replace to write it anew")
    settings = dict(map(_setting, set_ or ()))
    settings |= {key: _asked(key) for key in secret or ()}
    made = Context(";".join(_servers(nameserver)), settings)
    client_settings(
        ChosenCluster(made.nameserver, f"context {name}", name, settings)
    )  # or an error, before it is kept
    contexts.contexts[name] = made
    if use:
        contexts.current = name
    write_contexts(path, contexts)
    show_one(_row(name, made, contexts.current), as_json=json)


@app.command()
def use(name: Name, json: Json = False) -> None:
    """Mean this cluster where neither --nameserver, NAMESRV_ADDR nor mqframe.toml here says another."""
    path = contexts_path()
    contexts = read_contexts(path)
    found = contexts.named(name)
    contexts.current = name
    write_contexts(path, contexts)
    show_one(_row(name, found, name), as_json=json)


@app.command("list")
def list_contexts(json: Json = False) -> None:
    """List contexts."""
    contexts = read_contexts(contexts_path())
    rows = [_row(name, each, contexts.current) for name, each in sorted(contexts.contexts.items())]
    show(rows, as_json=json, empty="there is no context yet; add one: mqframe context add NAME HOST:PORT")


@app.command("show")
def show_context(nameserver: NameServer = "", json: Json = False) -> None:
    """Show which cluster commands mean, and who says so.

    --nameserver and --context go before NAMESRV_ADDR, this before mqframe.toml in the working folder, from
    which programs make their clients, and that before the context in use.
    """
    path = contexts_path()
    cluster = chosen_cluster()
    shown = {
        "nameserver": cluster.nameserver,
        "said_by": cluster.origin,
        "context": cluster.context,
        "in_use": read_contexts(path).current,
        "settings": _shown(cluster.settings),
        "file": str(path),
    }
    show_one(shown, as_json=json)


@app.command()
def remove(name: Name, json: Json = False) -> None:
    """Remove a context from the file. The cluster itself is not touched."""
    path = contexts_path()
    contexts = read_contexts(path)
    contexts.named(name)
    del contexts.contexts[name]
    if contexts.current == name:
        contexts.current = ""
    write_contexts(path, contexts)
    show_one({"context": name, "removed": True}, as_json=json)


def _servers(words: list[str]) -> list[str]:
    servers = [each.strip() for word in words for each in word.replace(",", ";").split(";") if each.strip()]
    for each in servers:
        host, colon, port = each.rpartition(":")
        if not (host and colon and port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16):
            raise SettingError(f"name server {each}: write host:port, for example 10.0.0.1:9876")
    if not servers:
        raise SettingError("a context needs a name server, host:port")
    return servers


def _setting(item: str) -> tuple[str, str]:
    key, equals, value = item.partition("=")
    if not equals:
        raise SettingError(f"--set {key}: must be written key=value")
    if is_secret_name(key):
        raise SettingError(f"--set {key}: all users of the machine can read it here; write --secret {key}")
    return _allowed(key), value


def _asked(key: str) -> str:
    _allowed(key)
    if sys.stdin.isatty():
        return str(typer.prompt(key, hide_input=True, err=True))
    value = sys.stdin.readline().rstrip("\r\n")
    if not value:
        raise SettingError(f"--secret {key}: standard input has no line for it")
    return value


def _allowed(key: str) -> str:
    if not key.startswith(ALLOWED):
        raise SettingError(f"setting {key}: a context has those of connections, {', '.join(ALLOWED)}")
    return key


def _row(name: str, context: Context, current: str) -> dict[str, Any]:
    return {
        "context": name,
        "nameserver": context.nameserver,
        "in_use": name == current,
        "settings": _shown(context.settings),
    }


def _shown(settings: Any) -> dict[str, str]:
    return {key: "(secret)" if is_secret_name(key) else value for key, value in settings.items()}

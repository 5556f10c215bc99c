"""The command `mqframe dashboard`."""

from __future__ import annotations

import logging
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer
from mqframe_cli.extension import NameServer, access

from mqframe import log
from mqframe.core.errors import SettingError
from mqframe_dashboard.changes.user_file import user_line


def dashboard(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 8080,
    interval: Annotated[
        float, typer.Option(min=1.0, max=3600.0, help="Seconds between two looks at the rates of topics.")
    ] = 10.0,
    trusted_host: Annotated[
        list[str] | None,
        typer.Option(help="Name that browsers may reach it by, such as a proxy's; may be repeated."),
    ] = None,
    sign_in: Annotated[
        str,
        typer.Option(
            help="Who may sign in and change things: cluster (users of its access control), or file:PATH "
            "(lines of mqframe dashboard-user); nobody else."
        ),
    ] = "",
    nameserver: NameServer = "",
) -> None:
    """Serve a web dashboard of the cluster until Ctrl-C; read-only, unless users may sign in."""
    # Imported when the command runs: lists and help need no web server.
    import uvicorn

    from mqframe_dashboard.app import LOOPBACK_HOSTS, create_app
    from mqframe_dashboard.connections import Room, config

    app = create_app(
        nameserver,
        trusted_hosts=[*LOOPBACK_HOSTS, host, *(trusted_host or ())],
        interval=interval,
        sign_in=sign_in,
        **access(),
    )
    if sign_in:
        log.show(level="WARNING")
        logging.getLogger("mqframe.audit").setLevel(logging.INFO)
    listener = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"dashboard=http://{shown}:{listener.getsockname()[1]}/")
    with listener:
        uvicorn.Server(config(app, Room())).run(sockets=[listener])


def dashboard_user(
    user: Annotated[str, typer.Argument(help="Name of the user.")],
    secret_file: Annotated[
        str, typer.Option(help="File with the secret; - reads standard input. Without it you are asked.")
    ] = "",
) -> None:
    """Write the line of a user for the file of `mqframe dashboard --sign-in file:PATH`."""
    typer.echo(user_line(user, _secret(user, secret_file)))


def _secret(user: str, path: str) -> str:
    if not path:
        return str(typer.prompt(f"Secret of {user}", hide_input=True, confirmation_prompt=True, err=True))
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"--secret-file {path}: cannot be read: {problem}") from None
    return text.rstrip("\r\n")


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `SettingError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        raise SettingError(
            f"--host {host} --port {port}: cannot listen there ({problem}); choose another port"
        ) from None

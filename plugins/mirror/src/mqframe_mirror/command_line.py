"""`mqframe mirror` and `mqframe mirror status`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_cli.extension import Json, access, new_app, show

from mqframe.core.errors import SettingError

if TYPE_CHECKING:
    from mqframe_mirror.mirror import Mirror
    from mqframe_mirror.settings import MirrorSettings

app = new_app(help="Copy topics of one cluster to another, and the progress of groups along with them.")

File = Annotated[Path | None, typer.Option("-f", "--file", help="TOML file with what follows, and more.")]
From = Annotated[str, typer.Option("--from", help="Name servers of the source, host:port;host:port.")]
To = Annotated[str, typer.Option("--to", help="Name servers of the target.")]
Topics = Annotated[
    list[str] | None, typer.Option("--topics", help="Topics, or patterns as orders-*; commas between them.")
]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", help="Topics that patterns do not mean.")]
FromName = Annotated[
    str, typer.Option(help="What the source is called in copies; else as its brokers call it.")
]
ToName = Annotated[str, typer.Option(help="What the target is called.")]
Rename = Annotated[
    str, typer.Option(help="What topics are called at the target, as {cluster}_{topic}; the same else.")
]


@app.callback(invoke_without_command=True)
def mirror(
    ctx: typer.Context,
    source: From = "",
    target: To = "",
    topics: Topics = None,
    groups: Annotated[
        list[str] | None, typer.Option("--groups", help="Groups whose progress goes along, or patterns.")
    ] = None,
    exclude: Exclude = None,
    from_name: FromName = "",
    to_name: ToName = "",
    rename: Rename = "",
    start: Annotated[
        str, typer.Option(help="Of what was never copied: first (all that is there), or last.")
    ] = "",
    file: File = None,
    once: Annotated[bool, typer.Option("--once", help="End once all that is there was copied.")] = False,
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics, at 127.0.0.1.")] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log one JSON object a line.")] = False,
) -> None:
    """Copy until Ctrl-C or SIGTERM. Begun again, it goes on where it was."""
    if ctx.invoked_subcommand is not None:
        return
    settings = _settings(
        file,
        {
            "from": _cluster(source, from_name),
            "to": _cluster(target, to_name),
            "topics": _names(topics),
            "groups": _names(groups),
            "exclude": _names(exclude),
            "rename": rename,
            "start": start,
        },
    )
    from mqframe.log import show as show_logs
    from mqframe_mirror.running import run_mirror

    show_logs(json=log_json)
    asyncio.run(run_mirror(settings, access(), once=once, started=_metrics(metrics_port)))


@app.command()
def status(
    source: From = "",
    target: To = "",
    topics: Topics = None,
    exclude: Exclude = None,
    from_name: FromName = "",
    to_name: ToName = "",
    rename: Rename = "",
    file: File = None,
    json: Json = False,
) -> None:
    """Show how far the copying is, by queue, as brokers keep it: also while no mirror runs."""
    settings = _settings(
        file,
        {
            "from": _cluster(source, from_name),
            "to": _cluster(target, to_name),
            "topics": _names(topics),
            "exclude": _names(exclude),
            "rename": rename,
        },
    )
    from mqframe_mirror.status import mirror_status

    rows = asyncio.run(mirror_status(settings, arguments=access()))
    if not json:
        for row in rows:
            row["committed"] = "" if row["committed"] is None else row["committed"]
    show(rows, as_json=json, empty="there is no such topic")


def _settings(file: Path | None, given: dict[str, Any]) -> MirrorSettings:
    from mqframe_mirror.settings import read_settings

    text = ""
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise SettingError(f"{file} cannot be read: {problem}") from None
    said = {name: value for name, value in given.items() if value}
    return read_settings(text, "options" if file is None else str(file), said)


def _cluster(nameserver: str, name: str) -> dict[str, str]:
    return {key: value for key, value in (("nameserver", nameserver), ("name", name)) if value}


def _names(given: list[str] | None) -> list[str]:
    return [name for text in given or () for name in text.replace(",", " ").split()]


def _metrics(port: int | None) -> Callable[[Mirror], object] | None:
    if port is None:
        return None
    from mqframe_mirror.metrics import serve_metrics

    end: list[Callable[[], object]] = []

    def serve(mirror: Mirror) -> None:
        for each in end:  # of a mirror that could not go on
            each()
        end[:] = [serve_metrics(mirror, port)]

    return serve

"""`mqframe store`: look at a broker's files while it does not run, and mend them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mqframe.cli.commands import new_app
from mqframe.cli.output import Json, show, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mqframe.store.upkeep.quarantine import Report

app = new_app(help="The files of a broker: what was damaged, and mending them.")
Directory = Annotated[Path, typer.Argument(help="Root directory of the store, in which commitlog lies.")]


@app.callback()
def _group() -> None:
    """The files of a broker: what was damaged, and mending them."""


@app.command()
def damage(directory: Directory, json: Json = False) -> None:
    """List what was taken out of the log because it was damaged, and the messages that are lost with it."""
    from mqframe.store.files.layout import Layout
    from mqframe.store.upkeep.quarantine import Quarantine

    reports = Quarantine(Layout(directory).quarantine).reports()
    show(_rows(reports), as_json=json, empty="nothing was ever set aside")


@app.command()
def recover(
    directory: Directory,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Go on where messages may have been lost from the log.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The broker's TOML file or broker.conf.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="section.key=value")] = None,
    json: Json = False,
) -> None:
    """Check every record of a stopped broker's log, and make queues and index agree with it.

    What is damaged is copied to the folder quarantine and passed over.
    """
    from mqframe.cli.configuration import load
    from mqframe.core.storage.recovery import Care
    from mqframe.net.clock import SystemClock
    from mqframe.store.message_store import MessageStore
    from mqframe.store.settings import StoreSettings

    chosen: dict[str, Any] = {"store.directory": directory}
    settings = load("broker", {"DIRECTORY": chosen}, config, set_ or ()).section(StoreSettings)
    care = Care.ACCEPT_LOSS if accept_loss else Care.THOROUGH
    store = MessageStore.open(settings, SystemClock(), care=care)
    asyncio.run(store.stop())
    found = store.recovered
    if not json:
        typer.echo(f"{found.records} records checked, the log ends at offset {store.max_offset}")
    show(_rows(found.set_aside), as_json=json, empty="all of them are sound")


def _rows(reports: Sequence[Report]) -> list[dict[str, Any]]:
    return [
        {
            "start": report.start,
            "end": report.end,
            "found": time_text(report.found_ms),
            "looks": "unfinished" if report.unfinished else "damaged",
            "messages": report.records,
            "queues": " ".join(
                f"{each.topic}:{each.queue_id}:{each.start}-{each.end - 1}" for each in report.queues
            ),
            "copy": report.copy,
        }
        for report in reports
    ]

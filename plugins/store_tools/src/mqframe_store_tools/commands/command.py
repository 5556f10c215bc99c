"""`mqframe store`: look at a broker's files while it does not run, and mend them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from mqframe_cli.extension import FAILED, Json, new_app, settings_of, show, show_one, time_text, write_json
from msgspec import to_builtins

from mqframe.core.errors import SettingError
from mqframe.core.os_errors import told
from mqframe.core.printable import printable
from mqframe_store_tools.commands.show import app as show_app
from mqframe_store_tools.commands.transfer import export, import_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mqframe_index.settings import IndexSettings

    from mqframe.store.files.layout import Layout
    from mqframe.store.settings import StoreSettings
    from mqframe.store.upkeep.quarantine import LostEntries, QuarantineReport

_PRECISION_MS: Final = 1000
"""That of a timer whose settings nobody has."""
app = new_app(help="The files of a broker: what was damaged, and mending them.")
app.add_typer(show_app, name="show")
Directory = Annotated[Path, typer.Argument(help="Root directory of the store, in which commitlog lies.")]
Config = Annotated[Path | None, typer.Option("--config", "-c", help="The broker's TOML file or broker.conf.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="section.key=value")]


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


@app.command("cuts")
def list_cuts(directory: Directory, json: Json = False) -> None:
    """List what was cut off the log, because it differed from the master's: where, when, how many messages.

    The files in the store's folder cut hold it: `mqframe store show cut FILE`, `mqframe store export FILE`.
    """
    from mqframe.store.files.layout import Layout
    from mqframe.store.upkeep.cuts import cuts

    rows = [
        {
            "from": cut.start,
            "to": cut.end,
            "records": cut.records,
            "when": time_text(cut.when_ms),
            "file": str(Layout(directory).cut / cut.file),
            "why": cut.why,
            "queues": _places(cut.queues),
        }
        for cut in cuts(Layout(directory))
    ]
    show(rows, as_json=json, empty="nothing was ever cut off")


@app.command()
def recover(
    directory: Directory,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Go on where messages may have been lost from the log.")
    ] = False,
    config: Config = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Check every record of a stopped broker's log, and make queues and index agree with it.

    What is damaged is copied to the folder quarantine and passed over.
    """
    from mqframe_index.settings import IndexSettings
    from mqframe_index.store.indexing import FileIndexing

    from mqframe.core.delay.levels import parse_levels
    from mqframe.core.storage.recovery import Care
    from mqframe.net.clock import SystemClock
    from mqframe.store.message_store import MessageStore
    from mqframe.store.settings import StoreSettings
    from mqframe_store_tools.checking.log_reading import installed_reading

    chosen: dict[str, Any] = {"store.directory": directory}
    resolved = settings_of("broker", {"DIRECTORY": chosen}, config, set_)
    settings = resolved.section(StoreSettings)
    delays = parse_levels(settings.delay_levels)
    care = Care.ACCEPT_LOSS if accept_loss else Care.THOROUGH
    open_index = FileIndexing(resolved.section(IndexSettings)).open
    store = MessageStore.open(
        settings,
        SystemClock(),
        care=care,
        delays=delays,
        open_index=open_index,
        log_reading=installed_reading(),
    )
    asyncio.run(store.stop())
    found = store.recovered
    if not json:
        typer.echo(f"{found.records} records checked, the log ends at offset {store.log.max_offset}")
    show(_rows(found.set_aside), as_json=json, empty="all of them are sound")


@app.command()
def check(directory: Directory, config: Config = None, set_: Set = None, json: Json = False) -> None:
    """Compare all files of a stopped broker with one another; nothing is changed.

    Every record's CRC, queues and index against the log, timer, checkpoints, progress of groups. Exit code 1
    when something is damaged.
    """
    from mqframe.core.delay.levels import parse_levels
    from mqframe_store_tools.checking.log_reading import installed_reading
    from mqframe_store_tools.checking.store_check import StoreCheck

    try:
        layout, settings, index, precision_ms = _known(directory, config, set_)
        delays = parse_levels(settings.delay_levels)
        found = StoreCheck(layout, settings, index, delays, precision_ms).run(installed_reading())
    except OSError as problem:
        raise SettingError(f"the store in {directory} cannot be read: {told(problem)}") from problem
    if json:
        write_json(found)
    else:
        for note in found.notes:
            typer.echo(f"note: {printable(note)}")
        typer.echo(f"{found.records} sound records, log offsets {found.log_start} to {found.log_end}")
        if found.findings:
            show([to_builtins(each) for each in found.findings], as_json=False)
        if found.total > len(found.findings):
            typer.echo(f"and {found.total - len(found.findings)} more")
        typer.echo(f"{found.total} findings" if found.total else "nothing is damaged")
    if found.total:
        raise typer.Exit(FAILED)


@app.command()
def rebuild(
    directory: Directory,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Go on where the log lacks what was there.")
    ] = False,
    config: Config = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Build queues and index of a stopped broker again from its log.

    Those there were are set aside, not deleted.
    """
    from mqframe.core.delay.levels import parse_levels
    from mqframe.net.clock import SystemClock
    from mqframe_store_tools.checking.rebuild import rebuild as build

    layout, settings, index, _ = _known(directory, config, set_)
    delays = parse_levels(settings.delay_levels)
    built = build(layout, settings, index, SystemClock(), accept_loss=accept_loss, delays=delays)
    row = {
        "records": built.records,
        "log_end": built.log_end,
        "queues": built.queues,
        "kept": str(built.kept),
    }
    show_one(row | {"damaged": _rows(built.damaged)} if json or built.damaged else row, as_json=json)


def _known(
    directory: Path, config: Path | None, items: Sequence[str] | None
) -> tuple[Layout, StoreSettings, IndexSettings, int]:
    """The store in `directory`, that nobody uses, settings with its files' sizes, its timer's slots."""
    from mqframe_cli.stopped_store import known_store, refuse_in_use
    from mqframe_index.settings import IndexSettings

    from mqframe.store.settings import StoreSettings
    from mqframe_store_tools.checking.sizes import with_index_sizes, with_sizes

    layout = known_store(directory)
    refuse_in_use(layout)
    resolved = settings_of("broker", {"DIRECTORY": {"store.directory": directory}}, config, items)
    settings = with_sizes(resolved.section(StoreSettings), layout)
    precision = (entry.value for entry in resolved.entries if entry.path == "delay.timer_precision_ms")
    index = with_index_sizes(resolved.section(IndexSettings), layout)
    return layout, settings, index, next(precision, _PRECISION_MS)


def _rows(reports: Sequence[QuarantineReport]) -> list[dict[str, Any]]:
    return [
        {
            "start": report.start,
            "end": report.end,
            "found": time_text(report.found_ms),
            "looks": "unfinished" if report.unfinished else "damaged",
            "messages": report.records,
            "queues": _places(report.queues),
            "copy": report.copy,
            "fetched": time_text(report.fetched_ms) if report.fetched_ms else "",
        }
        for report in reports
    ]


def _places(queues: Sequence[LostEntries]) -> str:
    return " ".join(f"{each.topic}:{each.queue_id}:{each.start}-{each.end - 1}" for each in queues)


app.command("export")(export)
app.command("import")(import_)

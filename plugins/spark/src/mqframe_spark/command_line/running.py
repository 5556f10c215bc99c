"""A session for one command, what is told while it works, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer
from mqframe_cli.extension import show_one, write_json

from mqframe_spark.command_line.arguments import pairs
from mqframe_spark.jobs import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mqframe_spark.jobs.progress import BatchProgress
    from mqframe_spark.jobs.watching import StopRequest, Tell, Totals

INTERRUPTED: Final = 130


def session_options(
    name: str, master: str, conf: list[str] | None, log_level: str, py_files: list[str] | None = None
) -> sessions.SessionOptions:
    """What a command was told of its session. Raises `SettingError`."""
    options = sessions.SessionOptions(name, master, pairs("--conf", conf), tuple(py_files or ()), log_level)
    sessions.check_session(options)
    return options


@contextmanager
def session(options: sessions.SessionOptions) -> Iterator[SparkSession]:
    """A Spark session that ends with the block."""
    spark = sessions.open_session(options)
    try:
        yield spark
    finally:
        spark.stop()


def note(text: str) -> None:
    """Tell people something that is no result."""
    typer.echo(f"mqframe: {text}", err=True)


def teller(as_json: bool) -> Tell:
    """Writes each micro-batch to standard error as it is done, for people or as one line of JSON."""
    import msgspec

    def tell(progress: BatchProgress) -> None:
        text = msgspec.json.encode(progress.row()).decode() if as_json else progress.line()
        print(text, file=sys.stderr, flush=True)

    return tell


def finish(totals: Totals, facts: Mapping[str, str], stop: StopRequest, *, as_json: bool) -> None:
    """Show what was done; ends with 130 when Ctrl-C stopped it before it was through."""
    show_one({**totals.row(), **facts}, as_json=as_json)
    if totals.stopped and stop.by_interrupt:
        raise typer.Exit(INTERRUPTED)


def show_lines(rows: Sequence[Mapping[str, object]]) -> None:
    """Write each row as one line of JSON."""
    for row in rows:
        write_json(row)

"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from mqframe_cli.extension import NameServer

from mqframe.core.errors import SettingError
from mqframe_spark.zones import SESSION_ZONE, in_zone, zone_of

if TYPE_CHECKING:
    from mqframe_spark.source.options import SourceOptions

Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="Option of the source, key=value; may be given often."),
]
OptionsFile = Annotated[
    str,
    typer.Option(help="TOML file with options of the source: secrets stay off the command line."),
]
Topics = Annotated[str, typer.Option(help="Topics to read, with commas between.")]
Pattern = Annotated[str, typer.Option(help="Regular expression for whole names of topics to read.")]
Master = Annotated[
    str, typer.Option(help="Spark to use: local[N], spark://host:port, yarn, k8s://…, sc://host:port.")
]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", help="Spark setting, key=value; may be given often.")
]
LogLevel = Annotated[str, typer.Option(help="Of Spark's own log: OFF, ERROR, WARN, INFO …")]
Checkpoint = Annotated[
    str, typer.Option(help="Folder that keeps the progress; by default one in ~/.local/state/mqframe/spark.")
]
AtLeastOnce = Annotated[
    bool,
    typer.Option("--at-least-once", help="Faster; what failed on the way may come twice."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count; write nothing.")]
Queues = Annotated[
    int | None, typer.Option(min=1, help="Make the topic, with so many queues on each broker.")
]
ShardingKey = Annotated[
    str,
    typer.Option(help="SQL for the sharding key: messages that share one keep their order."),
]
RowsAtOnce = Annotated[int, typer.Option(help="Messages of one micro-batch, at most.")]

__all__ = [
    "AtLeastOnce",
    "Checkpoint",
    "Conf",
    "DryRun",
    "LogLevel",
    "Master",
    "NameServer",
    "Options",
    "OptionsFile",
    "Pattern",
    "Queues",
    "RowsAtOnce",
    "ShardingKey",
    "Topics",
    "check_source",
    "pairs",
    "source_options",
    "typed_moment",
]


def pairs(option: str, given: Iterable[str] | None) -> dict[str, str]:
    """What was written key=value. Raises `SettingError` naming `option` and the text."""
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise SettingError(f"{option} {text}: must be written key=value")
        found[key.strip()] = value
    return found


def source_options(given: Iterable[str] | None, file: str = "", **fixed: str | None) -> dict[str, str]:
    """Options of the source: `fixed` ones that are there, then `given`, then those in `file`.

    Raises `SettingError` when one is said twice, and for a file that is no TOML table of plain values.
    """
    found = {name: value for name, value in fixed.items() if value}
    for where, more in (("--option", pairs("--option", given)), (f"--options-file {file}", _table(file))):
        known = {name.lower(): name for name in found}
        for name, value in more.items():
            if name.lower() in known:
                raise SettingError(f"{where}: {name} is given twice; leave one out")
            found[name] = value
    return found


def place(path: str, nameserver: str) -> dict[str, str]:
    """Options of the source for the store in `path`, or without one for the brokers behind `nameserver`."""
    return {"mode": "files", "path": path} if path else {"nameserver": nameserver}


def check_source(options: SourceOptions) -> None:
    """Raise now what Spark would raise when it has started: nobody answers, a topic that is not there."""
    from mqframe_spark.source.tasks import open_origin

    with closing(open_origin(options)) as origin:
        origin.queues()


def _table(file: str) -> Mapping[str, str]:
    if not file:
        return {}
    try:
        table: dict[str, Any] = tomllib.loads(Path(file).expanduser().read_text("utf-8"))
    except OSError as problem:
        raise SettingError(f"--options-file {file}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise SettingError(f"--options-file {file}: {problem}") from None
    for name, value in table.items():
        if not isinstance(value, str | int):
            raise SettingError(f"--options-file {file}: {name}: must be a text, a number, true or false")
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in table.items()
    }


def typed_moment(option: str, text: str, conf: list[str] | None) -> str:
    """`text`, a moment that a person typed behind `option`, with its zone, which is shown back.

    It is of the session's zone where `conf` names one, else of this machine's, which Spark takes as well.
    """
    named = pairs("--conf", conf).get(SESSION_ZONE)
    found = in_zone(text, zone_of(named) if named else None)
    if found != text:
        typer.echo(f"mqframe: {option} {text} is {found}", err=True)
    return found

"""`mqframe spark compact` and `vacuum`: what a dispatcher made, whether its broker runs or not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import typer
from mqframe_cli.extension import Json, show

from mqframe.core.errors import SettingError
from mqframe_spark.command_line.arguments import pairs

if TYPE_CHECKING:
    from mqframe_spark.lake.upkeep import Upkeep

TARGET_BYTES: Final = 128 * 1024 * 1024
Folder = Annotated[
    Path | None, typer.Argument(help="Folder that the dispatcher writes to, with a folder for each topic.")
]
Catalog = Annotated[
    list[str] | None,
    typer.Option(help="Property of an Iceberg catalog, key=value, instead of a folder; may be given often."),
]
Namespace = Annotated[str, typer.Option(help="Of Iceberg tables in their catalog.")]


def compact(
    folder: Folder = None,
    target_bytes: Annotated[
        int, typer.Option(min=2, help="Size of files that others are put together in, about, bytes.")
    ] = TARGET_BYTES,
    files: Annotated[
        int, typer.Option(min=2, help="So many small files at least, on the day that is not over (UTC).")
    ] = 2,
    compression: Annotated[str, typer.Option(help="Of the files made: zstd, snappy, gzip or none.")] = "zstd",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell where small files are; write nothing.")
    ] = False,
    catalog: Catalog = None,
    namespace: Namespace = "mqframe",
    json: Json = False,
) -> None:
    """Put small files of Parquet folders, Delta or Iceberg tables together, by topic and day.

    Readers find every message once, at any moment, and so they do when this is killed. A dispatcher may go on
    writing meanwhile.
    """
    upkeep = _upkeep(folder, target_bytes, compression, catalog, namespace)
    done = []
    for crowd in upkeep.crowds(datetime.now(UTC).strftime("%Y-%m-%d"), files):
        fewer = 0
        while not dry_run and (gone := upkeep.merge(crowd)) > 0:
            fewer += gone
        row = {"topic": crowd.topic, "day": crowd.day, "small_files": crowd.files, "bytes": crowd.size_bytes}
        done.append(row if dry_run else {**row, "fewer_files": fewer})
    show(done, as_json=json, empty="no small files lie together")


def vacuum(
    folder: Folder = None,
    hours: Annotated[
        float, typer.Option(min=1, help="Versions of tables that are older need no files any more.")
    ] = 168.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell which files would go.")] = False,
    catalog: Catalog = None,
    namespace: Namespace = "mqframe",
    json: Json = False,
) -> None:
    """Delete files that nothing needs any more: of old versions of tables, and of what was killed.

    Messages of the current version all stay. Older versions of Delta tables can be read no more; those of
    Iceberg tables are expired, but for those that a branch or tag names.
    """
    upkeep = _upkeep(folder, TARGET_BYTES, "zstd", catalog, namespace)
    gone = [{"file": place} for place in upkeep.vacuum(hours, dry_run=dry_run)]
    show(gone, as_json=json, empty="no file is older and not needed")


def _upkeep(
    folder: Path | None, target_bytes: int, compression: str, catalog: list[str] | None, namespace: str
) -> Upkeep:
    from mqframe_spark.lake.formats import make_upkeep
    from mqframe_spark.lake.parquet_options import Compression, ParquetOptions, format_of

    if bool(folder) == bool(catalog):
        raise SettingError("give either a folder or --catalog, for tables of another Iceberg catalog")
    if compression not in get_args(Compression):
        wanted = ", ".join(get_args(Compression))
        raise SettingError(f"--compression {compression}: must be one of {wanted}")
    chosen: dict[str, Any] = {
        "compact_bytes": target_bytes,
        "compression": compression,
        "namespace": namespace,
        "catalog": pairs("--catalog", catalog),
    }
    if folder is None:
        options = ParquetOptions(format="iceberg", **chosen)
        options.check()
        return make_upkeep(options, Path())
    found = format_of(folder)
    if found is None:
        raise SettingError(f"{folder} holds nothing of a dispatcher; name the folder above those of topics")
    options = ParquetOptions(format=found.format, path=folder, **chosen)
    options.check()
    return make_upkeep(options, folder)

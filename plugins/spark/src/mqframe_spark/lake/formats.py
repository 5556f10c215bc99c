"""Which landing, and which upkeep, goes with which format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mqframe_spark.durable_file import store_id
from mqframe_spark.lake.parquet_options import ParquetOptions

if TYPE_CHECKING:
    from mqframe_spark.lake.landing import Landing
    from mqframe_spark.lake.upkeep import Upkeep


def make_landing(options: ParquetOptions, data_directory: Path, broker: str) -> Landing:
    """What `options.format` names, below `options.path`.

    Raises `SettingError` when the folder holds another format, or a library is missing;
    `IcebergFailed` when a catalog does not answer.
    """
    root = root_of(options, data_directory)
    if not options.catalog:
        options.check_folder(root)
    store = store_id(data_directory)
    # Imported late: each format has a library of its own.
    if options.format == "delta":
        from mqframe_spark.lake.delta_tables import DeltaTables

        return DeltaTables(root, broker, store, options.compression)
    if options.format == "iceberg":
        from mqframe_spark.lake.iceberg_catalog import IcebergPlace
        from mqframe_spark.lake.iceberg_tables import IcebergTables

        place = IcebergPlace(root, options.catalog, options.namespace)
        return IcebergTables(place, (broker, store), options.compression)
    from mqframe_spark.lake.parquet_files import ParquetFolder

    return ParquetFolder(root, broker, store, options.compression, options.size_bytes_max)


def make_upkeep(options: ParquetOptions, root: Path) -> Upkeep:
    """For what the dispatcher with `options` has made in `root`. Raises `IcebergFailed`."""
    target_bytes, compression = options.compact_bytes, options.compression
    if options.format == "delta":
        from mqframe_spark.lake.delta_upkeep import DeltaUpkeep

        return DeltaUpkeep(root, target_bytes, compression)
    if options.format == "iceberg":
        from mqframe_spark.lake.iceberg_catalog import IcebergPlace
        from mqframe_spark.lake.iceberg_upkeep import IcebergUpkeep

        place = IcebergPlace(root, options.catalog, options.namespace)
        return IcebergUpkeep(place, target_bytes, compression)
    from mqframe_spark.lake.parquet_upkeep import ParquetUpkeep

    return ParquetUpkeep(root, target_bytes, compression)


def root_of(options: ParquetOptions, data_directory: Path) -> Path:
    """The folder of the files, whether `options` say it or not."""
    return options.path or data_directory / options.format

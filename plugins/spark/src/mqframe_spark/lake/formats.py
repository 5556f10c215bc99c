"""Which landing goes with which format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mqframe_spark.durable_file import store_id
from mqframe_spark.lake.parquet_options import ParquetOptions

if TYPE_CHECKING:
    from mqframe_spark.lake.landing import Landing


def make_landing(options: ParquetOptions, data_directory: Path, broker: str) -> Landing:
    """What `options.format` names, below `options.path`.

    Raises `SettingError` when the folder holds another format, or a library is missing;
    `IcebergFailed` when a catalog does not answer.
    """
    root = options.path or data_directory / options.format
    if not options.catalog:
        options.check_folder(root)
    store = store_id(data_directory)
    # Imported late: each format has a library of its own.
    if options.format == "delta":
        from mqframe_spark.lake.delta_tables import DeltaTables

        return DeltaTables(root, broker, store, options.compression)
    if options.format == "iceberg":
        from mqframe_spark.lake.iceberg_tables import IcebergTables

        origin = (broker, store)
        return IcebergTables(root, options.catalog, options.namespace, origin, options.compression)
    from mqframe_spark.lake.parquet_files import ParquetFolder

    return ParquetFolder(root, broker, store, options.compression, options.size_bytes_max)

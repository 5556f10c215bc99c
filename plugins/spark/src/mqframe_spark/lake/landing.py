"""Where the dispatcher's messages land: what its writer needs of a folder of files, or of tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mqframe_spark.lake.parquet_options import ParquetOptions

if TYPE_CHECKING:
    import pyarrow as pa


class Slot(NamedTuple):
    """What is published on its own, in the order of the log: a topic, and in folders a UTC day of storage.

    `day`: YYYY-MM-DD; "" where days are no matter of publishing.
    """

    topic: str
    day: str


class Landing(Protocol):
    """Publishes stretches of slots, each at once or not at all, and knows what it has published."""

    def slot(self, topic: str, day: str) -> Slot:
        """Where messages of `topic`, stored on `day`, go."""
        ...

    def published(self) -> dict[Slot, int]:
        """Up to which commit-log offset each slot is done. Clears away what was left unfinished."""
        ...

    def end(self, slot: Slot) -> int:
        """Up to which commit-log offset `slot` is published, looked up now; 0 when nothing is."""
        ...

    def publish(self, slot: Slot, start: int, end: int, table: pa.Table) -> Path:
        """Bring `table`, the messages of `slot` in [start, end) of the log, to the disk, durably.

        Gives the file or folder. Raises `OSError` or an error of mqframe: then it may have been done or not,
        which `end` tells.
        """
        ...

    def settle(self, ends: Mapping[Slot, int], log_start: int) -> None:
        """Keep that slots are done up to `ends`; then remove what is too much.

        `log_start`: the oldest commit-log offset that can still be handed over. Raises `OSError`.
        """
        ...

    def expire(self, day: str) -> None:
        """Remove the messages of the days before `day`. Raises as `publish`."""
        ...


def make_landing(options: ParquetOptions, data_directory: Path, broker: str) -> Landing:
    """What `options.format` names, below `options.path`.

    Raises `SettingError` when the folder holds the other format, or a library is missing.
    """
    from mqframe_spark.durable_file import store_id

    root = options.path or data_directory / options.format
    options.check_folder(root)
    store = store_id(data_directory)
    if options.format == "delta":
        from mqframe_spark.lake.delta_tables import DeltaTables

        return DeltaTables(root, broker, store, options.compression)
    from mqframe_spark.lake.parquet_files import ParquetFolder

    return ParquetFolder(root, broker, store, options.compression, options.size_bytes_max)

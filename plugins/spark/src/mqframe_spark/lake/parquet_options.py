"""What the dispatcher `parquet` can be told."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import SettingError

DELTA_LOG: Final = "_delta_log"
"""The folder that makes a folder a Delta table."""


_SECTION: Final = "plugins.parquet"


@settings(_SECTION)
class ParquetOptions:
    """Which topics, where to, in which format, and how large files become."""

    topics: tuple[str, ...] = setting(
        (), doc="topics to write; none: all but those of the system, retries and dead letters"
    )
    path: Path | None = setting(
        None, doc="folder for the files; none: parquet, or delta, in the broker's data folder"
    )
    format: Literal["parquet", "delta"] = setting(
        "parquet", doc="files in folders by topic and day, or a Delta table for each topic"
    )
    roll_rows: int = setting(1_000_000, doc="messages of one file at most", check=at_least(1))
    roll_bytes: int = setting(
        128 * 1024 * 1024, doc="size of a file before compression, about, bytes", check=at_least(1)
    )
    roll_seconds: float = setting(
        60.0, doc="how long a message waits for its file at most, s", check=at_least(0)
    )
    buffered_bytes_max: int = setting(
        512 * 1024 * 1024, doc="messages of all topics held in memory at most, bytes", check=at_least(1)
    )
    compression: Literal["zstd", "snappy", "gzip", "none"] = setting("zstd", doc="of the files")
    retention_days: int = setting(0, doc="days after which messages are deleted; 0: never", check=at_least(0))
    size_bytes_max: int = setting(
        0,
        doc="size of all files together, bytes; the oldest are deleted first; 0: no limit",
        check=at_least(0),
    )

    def check(self) -> None:
        """Raise `SettingError` for what cannot work: options that contradict each other, a library or a
        folder that is missing."""
        if self.format == "delta":
            if self.size_bytes_max:
                raise SettingError(
                    f"{_SECTION}.size_bytes_max = {self.size_bytes_max} is not for format = 'delta', whose"
                    " tables keep the files of former versions; use retention_days"
                )
            if find_spec("deltalake") is None:
                raise SettingError(
                    f"{_SECTION}.format = 'delta' needs deltalake, which is not installed;"
                    ' install it with: pip install "mqframe-plugin-spark[delta]"'
                )
        if self.path is not None:
            self.check_folder(self.path)

    def check_folder(self, root: Path) -> None:
        """Raise `SettingError` when `root` cannot be written to, or holds the other format."""
        there = root.absolute()
        while not there.exists():
            there = there.parent
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise SettingError(f"{_SECTION}.path = {root}: {there} is no folder that may be written to")
        other = "*/day=*" if self.format == "delta" else f"*/{DELTA_LOG}"
        for found in root.glob(other):
            if self.format == "parquet" or not (found.parent / DELTA_LOG).exists():
                raise SettingError(
                    f"{_SECTION}.path = {root} holds files that format = {self.format!r} does not go with:"
                    f" {found.parent.name}; choose another folder"
                )

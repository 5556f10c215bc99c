"""What the dispatcher `parquet` can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mqframe.core.settings import at_least, setting, settings


@settings("plugins.parquet")
class ParquetOptions:
    """Which topics, where to, and how large files become."""

    topics: tuple[str, ...] = setting(
        (), doc="topics to write; none: all but those of the system, retries and dead letters"
    )
    path: Path | None = setting(None, doc="folder for the files; none: parquet in the broker's data folder")
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
    retention_days: int = setting(0, doc="days after which files are deleted; 0: never", check=at_least(0))

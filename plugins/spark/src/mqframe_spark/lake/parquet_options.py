"""What the dispatcher `parquet` can be told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, NamedTuple

from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import SettingError

DELTA_LOG: Final = "_delta_log"
"""The folder that makes a folder a Delta table."""
CATALOG_FILE: Final = "catalog.db"
"""What makes a folder one of Iceberg tables."""

Format = Literal["parquet", "delta", "iceberg"]
Compression = Literal["zstd", "snappy", "gzip", "none"]

_MARKS: Final[dict[Format, str]] = {"delta": f"*/{DELTA_LOG}", "iceberg": CATALOG_FILE, "parquet": "*/day=*"}
_LIBRARIES: Final = {"delta": ("deltalake",), "iceberg": ("pyiceberg", "sqlalchemy")}

_SECTION: Final = "plugins.parquet"


def _hours(value: float) -> str | None:
    # Younger files may belong to a commit that is under way.
    return None if value == 0 or value >= 1 else "must be 0, or at least 1"


def _named(namespace: str) -> str | None:
    return None if all(namespace.split(".")) else "must be a name, or several with points between"


@settings(_SECTION)
class ParquetOptions:
    """Which topics, where to, in which format, and how large files become."""

    topics: tuple[str, ...] = setting(
        (), doc="topics to write; none: all but those of the system, retries and dead letters"
    )
    path: Path | None = setting(
        None, doc="folder for the files; none: parquet, delta or iceberg in the broker's data folder"
    )
    format: Format = setting(
        "parquet", doc="files in folders by topic and day, or a Delta or Iceberg table for each topic"
    )
    catalog: Mapping[str, str] = setting(
        factory=dict,
        doc="of Iceberg tables: properties of pyiceberg, and name; none: SQLite, with the tables in path",
        secret=True,
    )
    namespace: str = setting("mqframe", doc="of Iceberg tables in their catalog", check=_named)
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
    compression: Compression = setting("zstd", doc="of the files")
    compact_files: int = setting(
        0,
        doc="small files of a topic and day that are put together, a day that is over has 2; 0: never",
        check=at_least(0),
    )
    compact_bytes: int = setting(
        128 * 1024 * 1024,
        doc="size of files that others are put together in, about, bytes",
        check=at_least(2),
    )
    vacuum_hours: float = setting(
        168.0,
        doc="age of versions of tables whose files are deleted once no newer one needs them, h; 0: never",
        check=_hours,
    )
    retention_days: int = setting(0, doc="days after which messages are deleted; 0: never", check=at_least(0))
    size_bytes_max: int = setting(
        0,
        doc="size of all files together, bytes; the oldest are deleted first; 0: no limit",
        check=at_least(0),
    )

    def check(self) -> None:
        """Raise `SettingError` for what cannot work: options that contradict each other, a library or a
        folder that is missing."""
        if self.format != "parquet" and self.size_bytes_max:
            raise SettingError(
                f"{_SECTION}.size_bytes_max = {self.size_bytes_max} is not for format = {self.format!r},"
                " whose tables keep the files of former versions; use retention_days"
            )
        if self.catalog and (self.format != "iceberg" or self.path is not None):
            raise SettingError(
                f"{_SECTION}.catalog is for format = 'iceberg' without path: it says where tables lie"
            )
        for library in _LIBRARIES.get(self.format, ()):
            if find_spec(library) is None:
                raise SettingError(
                    f"{_SECTION}.format = {self.format!r} needs {library}, which is not installed;"
                    f' install it with: pip install "mqframe-plugin-spark[{self.format}]"'
                )
        if self.path is not None:
            self.check_folder(self.path)

    def check_folder(self, root: Path) -> None:
        """Raise `SettingError` when `root` cannot be written to, or holds another format."""
        there = root.absolute()
        while not there.exists():
            there = there.parent
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise SettingError(f"{_SECTION}.path = {root}: {there} is no folder that may be written to")
        held = format_of(root)
        if held is not None and held.format != self.format:
            raise SettingError(
                f"{_SECTION}.path = {root} holds files that format = {self.format!r} does not go with:"
                f" {held.name}; choose another folder"
            )


class Held(NamedTuple):
    """What a folder holds, and the name in it that shows this."""

    format: Format
    name: str


def format_of(root: Path) -> Held | None:
    """What the folder `root` holds; nothing for one that has no files yet."""
    for name, mark in _MARKS.items():  # a Delta table has folders of days, too
        for found in root.glob(mark):
            return Held(name, found.name if name == "iceberg" else found.parent.name)
    return None

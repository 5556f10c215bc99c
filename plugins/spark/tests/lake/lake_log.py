"""A commit log whose messages are known, and what was written of it."""

from pathlib import Path

import pyarrow.parquet as pq
from mqframe_spark.lake.formats import make_landing
from mqframe_spark.lake.parquet_options import ParquetOptions
from mqframe_spark.lake.parquet_writer import ParquetWriter

DAY = 86_400_000


class Log:
    """Messages one after the other in the files of a store, from the commit-log offset 0 on."""

    def __init__(self, store) -> None:
        self.store = store
        self.count = 0
        self.ends = [0]

    def add(self, topic: str, day: int = 0, **change) -> None:
        stamp = 1_700_000_000_000 + day * DAY + self.count
        change = {"queue_offset": self.count, "store_timestamp": stamp, **change}
        self.store.add(topic, self.count, **change)
        self.count += 1
        self.ends.append(self.store.end)


class Time:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Written:
    """A writer over the files of `log`, told of stretches by the numbers of messages."""

    def __init__(self, root: Path, log: Log, clock: Time | None = None, now_ms=lambda: 0, **options) -> None:
        root.mkdir(exist_ok=True)
        chosen = ParquetOptions(**{"roll_seconds": 60.0, **options})
        self.log = log
        self.writer = ParquetWriter(
            chosen, make_landing(chosen, root, "broker-a"), "broker-a", clock or Time(), now_ms
        )
        self.finish, self.roll = self.writer.finish, self.writer.roll

    def take(self, first: int, last: int) -> int:
        store, ends = self.log.store, self.log.ends
        return self.writer.take(store.folder / "commitlog", store.LOG_BYTES, ends[first], ends[last])


def stored(root: Path) -> dict[str, list[int]]:
    """Queue offsets by topic and day, in the order of files and rows."""
    found: dict[str, list[int]] = {}
    for path in sorted(root.glob("parquet/*/*/*.parquet")):
        key = f"{path.parent.parent.name}/{path.parent.name}"
        rows = pq.ParquetFile(path).read(columns=["queue_offset"])
        found.setdefault(key, []).extend(rows.column(0).to_pylist())
    return found


def delta_rows(root: Path) -> dict[str, list[int]]:
    """Queue offsets by topic, in order, of the tables below root/delta."""
    from deltalake import DeltaTable

    found = {}
    for path in sorted((root / "delta").glob("*/_delta_log")):
        rows = DeltaTable(path.parent).to_pyarrow_table(columns=["queue_offset"])
        found[path.parent.name] = sorted(rows.column(0).to_pylist())
    return found


def iceberg_rows(root: Path) -> dict[str, list[int]]:
    """Queue offsets by topic, in order, of the tables below root/iceberg."""
    from mqframe_spark.lake.iceberg_catalog import open_catalog

    catalog = open_catalog(root / "iceberg", {})
    found = {}
    for name in sorted(catalog.list_tables("mqframe")):
        rows = catalog.load_table(name).scan(selected_fields=("queue_offset",)).to_arrow()
        found[name[-1]] = sorted(rows.column(0).to_pylist())
    catalog.close()
    return found


ALL = {
    "orders/day=2023-11-14": [0, 4],
    "orders/day=2023-11-15": [8],
    "refunds/day=2023-11-14": [1, 5],
    "refunds/day=2023-11-15": [9],
}


class Range:
    """Messages `first` to `last` of a log as a broker hands them over."""

    def __init__(self, log: Log, first: int, last: int) -> None:
        self.start, self.end = log.ends[first], log.ends[last]
        self.commit_log_directory = log.store.folder / "commitlog"
        self.commit_log_file_bytes = log.store.LOG_BYTES

"""Whoever is killed, wherever: in the end each message is in the files once, and in order."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from dying_worker import POINTS, TABLE_POINTS, DyingDispatcher
from lake_log import ALL, Log, Range, delta_rows, iceberg_rows, stored
from mqframe_spark.lake.dispatcher import WorkerFailed
from mqframe_spark.lake.parquet_options import ParquetOptions

from mqframe import Admin, Message, Producer
from mqframe.core.errors import MqframeError
from mqframe.store.reader import StoreReader

HERE = Path(__file__).parent


def follow(dispatcher: DyingDispatcher, log: Log) -> int:
    """Hand the log over as a broker does, two messages at a time; gives how often that failed."""
    dispatcher.start(log.store.folder, "broker-a")
    cursor = handed = failures = 0
    while handed < len(log.ends) - 1:
        try:
            durable = dispatcher.dispatch(Range(log, handed, handed + 2))
            assert durable >= log.ends[cursor]
            cursor = log.ends.index(durable)
            handed += 2
        except WorkerFailed:
            failures += 1
            assert failures < 5
            handed = cursor - cursor % 2
    dispatcher.stop()
    return failures


@pytest.mark.parametrize(("point", "number"), [*((point, 2) for point in POINTS), ("after file", 1)])
def test_the_worker_is_killed(tmp_path, log, monkeypatch, point, number) -> None:
    monkeypatch.setenv("DYING", f"{point}|{number}|self|{tmp_path / 'died'}")
    options = ParquetOptions(path=tmp_path / "parquet", roll_rows=1)
    assert follow(DyingDispatcher(options), log) in (1, 2)
    assert (tmp_path / "died").exists()
    assert stored(tmp_path) == ALL
    assert not list(tmp_path.glob("parquet/**/*.tmp"))


@pytest.mark.parametrize(("point", "number"), [*((point, 3) for point in TABLE_POINTS), ("after commit", 1)])
def test_the_worker_is_killed_while_it_feeds_delta_tables(tmp_path, log, monkeypatch, point, number) -> None:
    deltalake = pytest.importorskip("deltalake")
    monkeypatch.setenv("DYING", f"{point}|{number}|self|{tmp_path / 'died'}")
    options = ParquetOptions(path=tmp_path / "lake", format="delta", roll_rows=1)
    assert follow(DyingDispatcher(options), log) in (1, 2)
    assert (tmp_path / "died").exists()
    for topic, wanted in {"orders": [0, 4, 8], "refunds": [1, 5, 9]}.items():
        rows = deltalake.DeltaTable(tmp_path / "lake" / topic).to_pyarrow_table(columns=["queue_offset"])
        assert sorted(rows.column(0).to_pylist()) == wanted


# A table is made by a commit of its own.
ICEBERG = [("before commit", 1), ("after commit", 3)]
MORE_ICEBERG = [("before commit", 3), ("before answer", 3), *((point, 5) for point in TABLE_POINTS)]
"""Each takes seconds."""


@pytest.mark.parametrize(
    ("point", "number"),
    [*ICEBERG, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE_ICEBERG)],
)
def test_the_worker_is_killed_while_it_feeds_iceberg_tables(
    tmp_path, log, monkeypatch, point, number
) -> None:
    pytest.importorskip("pyiceberg")
    monkeypatch.setenv("DYING", f"{point}|{number}|self|{tmp_path / 'died'}")
    options = ParquetOptions(path=tmp_path / "iceberg", format="iceberg", roll_rows=1)
    assert follow(DyingDispatcher(options), log) in (1, 2)
    assert (tmp_path / "died").exists()
    assert iceberg_rows(tmp_path) == {"orders": [0, 4, 8], "refunds": [1, 5, 9]}


MERGES = [("parquet", point) for point in ("before exchange", "after exchange", "after merge")]
MERGES += [("delta", "after merge"), ("iceberg", "after merge")]


@pytest.mark.parametrize(
    ("name", "point"), [*MERGES, pytest.param("iceberg", "before merge", marks=pytest.mark.long)]
)
def test_the_worker_is_killed_while_it_puts_files_together(tmp_path, log, monkeypatch, name, point) -> None:
    for library in {"delta": ["deltalake"], "iceberg": ["pyiceberg"]}.get(name, ()):
        pytest.importorskip(library)
    monkeypatch.setenv("DYING", f"{point}|1|self|{tmp_path / 'died'}")
    options = ParquetOptions(path=tmp_path / name, format=name, roll_rows=1, compact_files=2)
    assert follow(DyingDispatcher(options), log) in (1, 2)
    assert (tmp_path / "died").exists()
    if name == "parquet":
        assert stored(tmp_path) == ALL
    else:
        rows = {"delta": delta_rows, "iceberg": iceberg_rows}[name](tmp_path)
        assert rows == {"orders": [0, 4, 8], "refunds": [1, 5, 9]}


class Server:
    """`mqframe server` with a dispatcher whose worker kills it, once."""

    def __init__(self, root: Path, point: str, number: int) -> None:
        self.root, self.data = root, root / "data"
        (root / "server.toml").write_text(
            "[store]\ncommit_log_file_bytes = 1000000\ndisk_limits = false\n"
            '[broker]\ndispatchers = ["dying_worker:DyingDispatcher"]\n'
            '[plugins."dying_worker:DyingDispatcher"]\n'
            f'path = "{root / "parquet"}"\ntopics = "orders"\nroll_rows = 50\nroll_seconds = 0.1\n'
        )
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(HERE),
            "DYING": f"{point}|{number}|broker|{root / 'died'}",
        }

    def __enter__(self) -> str:
        words = ("--nameserver-port", "0", "--broker-port", "0", "--data", str(self.data))
        command = [
            sys.executable,
            "-m",
            "mqframe",
            "server",
            *words,
            "--config",
            str(self.root / "server.toml"),
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.environment, text=True
        )
        assert self.process.stdout is not None
        ready = dict(word.split("=") for word in self.process.stdout.readline().split()[1:])
        return ready["nameserver"]

    def __exit__(self, *problem: object) -> None:
        self.process.terminate()
        self.process.communicate(timeout=120)


def behind(nameserver: str) -> int:
    with Admin(nameserver=nameserver) as admin:
        [address] = admin.cluster.masters().values()
        return int(admin.brokers.runtime(address)["dispatcher.parquet.behindBytes"])


@pytest.mark.parametrize(("point", "number"), [("torn file", 2), ("after file", 2), ("after ends", 1)])
def test_the_broker_is_killed(tmp_path, point, number) -> None:
    server = Server(tmp_path, point, number)
    with server as nameserver, Producer(group="crash", nameserver=nameserver) as producer:
        for first in range(0, 400, 20):
            try:
                producer.send_batch([Message("orders", b"%d" % n) for n in range(first, first + 20)])
            except MqframeError:  # it was killed; what it has stored it keeps
                break
        server.process.wait(120)
    assert (tmp_path / "died").exists()
    with server as nameserver:
        with Producer(group="crash", nameserver=nameserver) as producer:
            producer.send_batch([Message("orders", b"more") for _ in range(20)])
        until = time.monotonic() + 120
        while behind(nameserver) and time.monotonic() < until:
            time.sleep(0.05)
    reader = StoreReader(server.data / "store", "broker")
    queues = {queue: reader.queue_range("orders", queue) for queue in reader.queue_ids("orders")}
    wanted = sorted((queue, offset) for queue, bounds in queues.items() for offset in range(*bounds))
    assert len(wanted) >= 40
    rows: list[tuple[int, int]] = []
    for path in tmp_path.glob("parquet/orders/*/*.parquet"):
        table = pq.ParquetFile(path).read(columns=["queue_id", "queue_offset"]).to_pydict()
        rows += zip(table["queue_id"], table["queue_offset"], strict=True)
    assert sorted(rows) == wanted

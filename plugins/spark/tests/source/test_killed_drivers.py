"""Streaming queries whose driver is killed, or what works for it: no gap, no repetition.

The sink is Spark's own for Parquet, which is exact itself, so rows can be compared with what was sent.
"""

import contextlib
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from sent_rows import Row, Sender

DRIVER = Path(__file__).parent / "crashing" / "dying_driver.py"
sys.path.insert(0, str(DRIVER.parent))

import dying_driver  # noqa: E402


def landed(out: Path) -> Counter[Row]:
    """The rows of the files that the sink's own log names: files of attempts that died do not count."""
    names = {
        Path(json.loads(line)["path"].removeprefix("file://"))
        for log in (out / "_spark_metadata").iterdir()
        if not log.name.startswith(".")
        for line in log.read_text().splitlines()[1:]
    }
    columns = ["topic", "broker", "queue_id", "queue_offset", "body"]
    tables = [pq.ParquetFile(name).read(columns=columns).to_pydict() for name in sorted(names)]
    return Counter(row for table in tables for row in zip(*table.values(), strict=True))


class Deaths:
    """Runs of the same query over one checkpoint, each of which dies at another place.

    With a `spark` that is running, what dies of its query is the process that plans for it, or reads; without
    one, or where that is asked for, a driver of the query's own with its JVM. The checkpoint cannot tell.
    """

    def __init__(self, spark: Any, folder: Path, nameserver: str, **options: str) -> None:
        self.folder = folder
        self._spark = spark
        self._nameserver = nameserver
        self._options = options

    def run(self, kill: str, *, failing: bool = False, whole: bool = False) -> list[str]:
        """The places that the run passed, the one where it died at last. `whole`: driver and JVM die."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        given = {
            "out": str(self.folder / "out"), "checkpoint": str(self.folder / "checkpoint"),
            "log": str(log), "kill": kill, "failing": failing,
            "options": {"nameserver": self._nameserver, **self._options},
        }  # fmt: skip
        run = self._whole if whole or self._spark is None else self._within
        died, said = run(given)
        places = log.read_text().splitlines()
        assert died == bool(kill), said
        assert not kill or kill in places
        return places

    def _whole(self, given: dict[str, Any]) -> tuple[bool, str]:
        done = subprocess.run(
            [sys.executable, str(DRIVER), json.dumps(given)],
            capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode != 0, done.stderr

    def _within(self, given: dict[str, Any]) -> tuple[bool, str]:
        query = dying_driver.start(self._spark, given, [])
        with contextlib.suppress(PySparkException):  # asked for below
            assert query.awaitTermination(400)
        return query.exception() is not None, str(query.exception())

    def batches(self, what: str) -> list[int]:
        folder = self.folder / "checkpoint" / what
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())

    def begun_at(self) -> dict[tuple[str, int], int]:
        """Where the query began, from its checkpoint."""
        first = (self.folder / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
        [queues] = json.loads(first).values()
        return {(key.split("/")[0], int(key.split("/")[1])): offset for key, offset in queues.items()}


def lose_it_everywhere(deaths: Deaths, sender: Sender) -> None:
    """`latest` is the hardest beginning: it is another one each time that it is asked for."""
    # Where the query begins is written down with the first batch, which dies; the next run repeats it.
    deaths.run("after partitions 1")
    assert (deaths.batches("offsets"), deaths.batches("commits")) == ([0], [])
    sender.send(5, "t")
    # Where a batch ends is known, but not written down; then it is, but nothing was read; then some.
    places = deaths.run("after latestOffset 1")
    assert places[:2] == ["before initialOffset 1", "after initialOffset 1"]
    assert deaths.batches("commits") == [0]
    deaths.run("after partitions 1")
    assert deaths.batches("offsets") == [0, 1]
    # Tasks fail, and workers are killed, and are tried again, before all of it dies.
    places = deaths.run("within read 2", failing=True, whole=True)
    assert any(place.startswith("worker dies") for place in places)
    assert (deaths.batches("offsets"), deaths.batches("commits")) == ([0, 1], [0])
    deaths.run("after read 1")
    assert deaths.batches("commits") == [0]
    sender.send(5, "t")
    # A batch is done, and the source has not heard of it.
    deaths.run("before commit 1")
    sender.send(5, "t")
    deaths.run("")
    first = deaths.begun_at()
    assert set(first.values()) == {3}
    expected = Counter(row for row in sender.rows if row[3] >= first[row[1:3]])
    assert sum(expected.values()) == 30
    assert landed(deaths.folder / "out") == expected
    # The sink has a batch that the query does not know to be done.
    last = deaths.batches("commits")[-1]
    (deaths.folder / "checkpoint" / "commits" / str(last)).unlink()
    (deaths.folder / "checkpoint" / "commits" / f".{last}.crc").unlink(missing_ok=True)
    sender.send(1, "t")
    deaths.run("")
    assert landed(deaths.folder / "out") == expected + Counter(sender.rows[-2:])


def story(cluster: Any, folder: Path, spark: Any) -> None:
    cluster.create_topic("t", 2)
    sender = Sender(cluster.nameserver)
    sender.send(3, "t")
    options = {"topic": "t", "startingOffsets": "latest", "maxOffsetsPerTrigger": "8"}
    lose_it_everywhere(Deaths(spark, folder, sender.nameserver, **options), sender)


@pytest.mark.timeout(900)
def test_a_query_killed_between_any_two_calls_goes_on_exactly(spark, tmp_path, mqframe_cluster) -> None:
    """Once with its driver and its JVM, else with the process where the place is."""
    story(mqframe_cluster, tmp_path, spark)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_driver_killed_between_any_two_calls_goes_on_exactly(tmp_path, mqframe_cluster) -> None:
    story(mqframe_cluster, tmp_path, None)

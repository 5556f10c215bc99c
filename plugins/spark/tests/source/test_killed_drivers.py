"""Streaming queries whose driver is killed: no gap, no repetition.

The sink is Spark's own for Parquet, which is exact itself, so rows can be compared with what was sent.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sent_rows import Row, Sender

DRIVER = Path(__file__).parent / "crashing" / "dying_driver.py"


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
    """Runs of the same query over one checkpoint, each killed at another place."""

    def __init__(self, folder: Path, nameserver: str, **options: str) -> None:
        self.folder = folder
        self._nameserver = nameserver
        self._options = options

    def run(self, kill: str, *, failing: bool = False) -> list[str]:
        """The places that the run passed, the one where it died at last."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        given = {
            "out": str(self.folder / "out"), "checkpoint": str(self.folder / "checkpoint"),
            "log": str(log), "kill": kill, "failing": failing, "options": self._options,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, str(DRIVER), json.dumps(given)],
            env={**os.environ, "NAMESRV_ADDR": self._nameserver},
            capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        places = log.read_text().splitlines()
        if kill:
            assert done.returncode == -signal.SIGKILL, done.stderr
            assert kill in places
        else:
            assert done.returncode == 0, done.stderr
        return places

    def batches(self, what: str) -> list[int]:
        folder = self.folder / "checkpoint" / what
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())

    def begun_at(self) -> dict[tuple[str, int], int]:
        """Where the query began, from its checkpoint."""
        first = (self.folder / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
        [queues] = json.loads(first).values()
        return {(key.split("/")[0], int(key.split("/")[1])): offset for key, offset in queues.items()}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "everywhere", [pytest.param(False, id="some"), pytest.param(True, id="all", marks=pytest.mark.long)]
)
def test_a_driver_killed_between_any_two_calls_goes_on_exactly(
    tmp_path, mqframe_cluster, everywhere: bool
) -> None:
    """`latest` is the hardest beginning: it is another one each time that it is asked for."""
    mqframe_cluster.create_topic("t", 2)
    sender = Sender(mqframe_cluster.nameserver)
    sender.send(3, "t")
    deaths = Deaths(
        tmp_path, sender.nameserver, topic="t", startingOffsets="latest", maxOffsetsPerTrigger="8"
    )
    # Where the query begins is written down with the first batch, which dies; the next run repeats it.
    deaths.run("after partitions 1")
    assert (deaths.batches("offsets"), deaths.batches("commits")) == ([0], [])
    sender.send(5, "t")
    # Where a batch ends is known, but not written down; then it is, but nothing was read; then some.
    places = deaths.run("after latestOffset 1")
    assert places[:2] == ["before initialOffset 1", "after initialOffset 1"]
    assert deaths.batches("commits") == [0]
    if everywhere:
        deaths.run("after partitions 1")
        assert deaths.batches("offsets") == [0, 1]
    deaths.run("within read 2")
    assert (deaths.batches("offsets"), deaths.batches("commits")) == ([0, 1], [0])
    if everywhere:
        deaths.run("after read 1")
        assert deaths.batches("commits") == [0]
    sender.send(5, "t")
    if everywhere:
        # A batch is done, and the source has not heard of it.
        deaths.run("before commit 1")
    # Tasks fail, and workers are killed, and are tried again.
    sender.send(5, "t")
    places = deaths.run("", failing=True)
    assert any(place.startswith("worker dies") for place in places)
    first = deaths.begun_at()
    assert set(first.values()) == {3}
    expected = Counter(row for row in sender.rows if row[3] >= first[row[1:3]])
    assert sum(expected.values()) == 30
    assert landed(tmp_path / "out") == expected
    # The sink has a batch that the query does not know to be done.
    last = deaths.batches("commits")[-1]
    (tmp_path / "checkpoint" / "commits" / str(last)).unlink()
    (tmp_path / "checkpoint" / "commits" / f".{last}.crc").unlink(missing_ok=True)
    sender.send(1, "t")
    deaths.run("")
    assert landed(tmp_path / "out") == expected + Counter(sender.rows[-2:])

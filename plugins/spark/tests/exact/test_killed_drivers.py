"""Exactly-once writes by a real Spark that is killed with SIGKILL, or whose tasks are."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mqframe import Message, Producer

DRIVER = Path(__file__).parent / "dying_writer.py"


class Deaths:
    """Runs of one query over one checkpoint, each killed at another place."""

    def __init__(self, query: Any) -> None:
        self._query = query
        nameserver = query.given["nameserver"]
        self._read = {"nameserver": nameserver, "topic": "incoming", "maxOffsetsPerTrigger": "100"}
        self._write = {
            "nameserver": nameserver,
            "topic": query.topic,
            "exactlyOnce": "true",
            "checkpointLocation": query.given["checkpointLocation"],
            "batchBytes": "1024",
        }

    def run(self, place: str = "", batch: int = -1, *, failing: bool = False) -> None:
        given = {"kill": [place, batch], "failing": failing, "read": self._read, "write": self._write}
        done = subprocess.run(
            [sys.executable, str(DRIVER), json.dumps(given)],
            capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == (-signal.SIGKILL if place else 0), done.stderr


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "everywhere", [pytest.param(False, id="some"), pytest.param(True, id="all", marks=pytest.mark.long)]
)
def test_a_stream_whose_driver_is_killed_around_its_commits(query, everywhere: bool) -> None:
    """The other places of a crash are passed without Spark, too (`test_writers.py`)."""
    query.cluster.create_topic("incoming", 2)
    rows = [b"row %d %s" % (number, b"." * 60) for number in range(400)]
    with Producer(group="sender", nameserver=query.given["nameserver"]) as producer:
        for begin in range(0, 400, 50):
            producer.send_batch([Message("incoming", row, tag="t") for row in rows[begin : begin + 50]])
    deaths = Deaths(query)
    if everywhere:
        deaths.run("before record", 1)
        assert query.record().last < 1
        deaths.run("after record", 1)
        assert query.record().open[0].batch == 1
    deaths.run("between ends", 3)
    assert query.record().open[0].batch == 3
    assert 0 < (Counter(rows) - query.bodies()).total() < 400
    deaths.run(failing=True)
    assert query.bodies() == Counter(rows)
    assert query.record().open == ()
    query.until(lambda: query.members() == 0)  # of the processes that answered, none is left
    with query.answering():
        query.settled()  # what failed attempts had stored is rolled back
    assert query.bodies() == Counter(rows)

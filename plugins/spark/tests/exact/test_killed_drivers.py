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
def test_a_stream_whose_driver_is_killed_around_its_commits(query) -> None:
    query.cluster.create_topic("incoming", 2)
    rows = [b"row %d %s" % (number, b"." * 60) for number in range(400)]
    with Producer(group="sender", nameserver=query.given["nameserver"]) as producer:
        for begin in range(0, 400, 50):
            producer.send_batch([Message("incoming", row, tag="t") for row in rows[begin : begin + 50]])
    deaths = Deaths(query)
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


@pytest.mark.timeout(300)
def test_a_frame(spark, query, tmp_path: Path) -> None:
    frame = spark.range(300).selectExpr(
        "concat('row ', id) as value",
        "if(id % 3 = 0, 'paid', 'orders') as topic",
        "concat('c', id % 5) as sharding_key",
    )
    query.cluster.create_topic("paid", 2)
    options = {
        "nameserver": query.given["nameserver"],
        "exactlyOnce": "true",
        "commitPath": str(tmp_path / "commits"),
        "queryName": "load-1",
    }
    for _ in range(2):
        frame.repartition(3).write.format("mqframe").mode("append").options(**options).save()
    orders = query.bodies()
    query.topic = "paid"
    assert orders == Counter(b"row %d" % number for number in range(300) if number % 3)
    assert query.bodies() == Counter(b"row %d" % number for number in range(0, 300, 3))
    del options["commitPath"]
    with pytest.raises(Exception, match="exactlyOnce = 'true' of a batch needs option commitPath"):
        frame.write.format("mqframe").mode("append").options(**options).save()


def test_a_frame_of_which_a_row_is_bad_leaves_nothing(spark, query, tmp_path: Path) -> None:
    frame = spark.range(300).selectExpr("if(id = 299, null, concat('row ', id)) as body")
    options = {
        "nameserver": query.given["nameserver"],
        "topic": query.topic,
        "exactlyOnce": "true",
        "commitPath": str(tmp_path / "commits"),
    }
    with pytest.raises(Exception, match="row 299"):
        frame.coalesce(1).write.format("mqframe").mode("append").options(**options).save()
    assert query.bodies() == Counter()

"""Exactly-once writes whose record is in an object store: every row once, whatever crashes or gets lost."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.exact.rules import Superseded

from mqframe import Message, Producer
from mqframe.core.errors import SettingError

DRIVER = Path(__file__).parent / "dying_writer.py"


@pytest.fixture
def stored(query: Any, s3: Any, object_folder: Any) -> Any:
    """A query with its record in the bucket."""
    query.given |= {"commitPath": s3.place, **s3.options}
    return query


@pytest.mark.parametrize(
    ("place", "times"),
    [
        ("before begin", 1),
        ("after begin", 1),
        ("before commit", 1),
        ("after commit", 1),
        ("before an end", 3),
        ("before note", 1),
        ("after note", 1),
    ],
)
def test_a_driver_that_crashes_and_comes_back(stored, places, s3, place: str, times: int) -> None:
    stored.batch(0, stored.rows(0))
    places.at(place, times)
    with pytest.raises(places.Crash):
        stored.batch(1, stored.rows(1), stored.rows(11))
    stored.batch(1, stored.rows(1), stored.rows(11))
    with stored.answering():
        stored.settled()
    assert stored.bodies() == Counter(stored.rows(0) + stored.rows(1) + stored.rows(11))
    assert stored.record().open == ()
    assert not Path(stored.given["checkpointLocation"]).exists()


def test_brokers_are_answered_from_the_bucket(stored, places, s3) -> None:
    places.at("after commit")
    with pytest.raises(places.Crash):
        stored.batch(0, stored.rows(0))
    stored.plan()
    with stored.answering():
        s3.next("GET", "/stream/", "lost", (503, "SlowDown"))  # then they ask again
        stored.settled()
    assert stored.bodies() == Counter(stored.rows(0))


@pytest.mark.parametrize("fault", ["lost", "unanswered"])
def test_a_commit_whose_answer_is_lost_counts_once(stored, s3, fault: str) -> None:
    plan = stored.plan()
    prepared = stored.task(plan, 0, stored.rows(0))
    s3.next("PUT", "/stream/", fault)
    stored.commit([prepared], 0)
    assert stored.bodies() == Counter(stored.rows(0))
    assert (stored.record().last, stored.record().open) == (0, ())


def test_another_driver_takes_over(stored) -> None:
    prepared = stored.task(stored.plan(), 0, stored.rows(0))
    stored.batch(0, stored.rows(0))
    plan = stored.plan()
    late = stored.task(plan, 1, stored.rows(1))
    stored.batch(1, stored.rows(1))
    stored.commit([prepared], 0)
    stored.commit([late], 1)
    early = stored.task(stored.plan(), 2, stored.rows(2))
    stored.plan()
    with pytest.raises(Superseded):
        stored.commit([early], 2)
    assert stored.bodies() == Counter(stored.rows(0) + stored.rows(1))


def test_a_store_that_heeds_no_condition_is_found_before_anything_is_sent(stored, s3) -> None:
    s3.honest = False
    with pytest.raises(SettingError, match=r"commit record in s3://bucket-\w+/records: .*two drivers"):
        stored.plan()
    assert stored.bodies() == Counter()


@pytest.mark.timeout(300)
def test_a_frame_that_spark_writes(spark, stored, s3, capfd: pytest.CaptureFixture[str]) -> None:
    del stored.given["checkpointLocation"]
    frame = spark.range(300).selectExpr("concat('row ', id) as value")
    options = {**stored.given, "commitPath": s3.place.replace("s3:", "s3a:"), "queryName": "load-1"}
    for _ in range(2):
        frame.repartition(3).write.format("mqframe").mode("append").options(**options).save()
    assert stored.bodies() == Counter(b"row %d" % number for number in range(300))
    assert any(key.startswith("records/named-load-1/") for key in s3.objects())
    s3.honest = False
    with pytest.raises(Exception, match="two drivers could both go on") as told:
        frame.write.format("mqframe").mode("append").options(**{**options, "queryName": "load-2"}).save()
    secret = s3.options["fs.s3a.secret.key"]
    assert secret not in str(told.value) + "".join(capfd.readouterr())


@pytest.mark.timeout(600)
def test_a_stream_whose_driver_is_killed_after_the_put(stored, s3) -> None:
    """With SIGKILL, Spark's Java process too."""
    stored.cluster.create_topic("incoming", 2)
    rows = [b"row %d %s" % (number, b"." * 60) for number in range(200)]
    with Producer(group="sender", nameserver=stored.given["nameserver"]) as producer:
        for begin in range(0, 200, 50):
            producer.send_batch([Message("incoming", row, tag="t") for row in rows[begin : begin + 50]])
    read = {
        "nameserver": stored.given["nameserver"],
        "topic": "incoming",
        "maxOffsetsPerTrigger": "100",
    }

    def run(place: str = "", batch: int = -1) -> None:
        given = {"kill": [place, batch], "failing": False, "read": read, "write": stored.given}
        done = subprocess.run(
            [sys.executable, str(DRIVER), json.dumps(given)],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if place else 0), done.stderr
        assert s3.options["fs.s3a.secret.key"] not in done.stdout + done.stderr

    run("after record", 1)
    assert [opened.batch for opened in stored.record().open] == [1]
    run()
    assert stored.bodies() == Counter(rows)
    assert stored.record().open == ()
    stored.until(lambda: stored.members() == 0)  # of the processes that answered, none is left

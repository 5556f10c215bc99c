"""Exactly-once writes by a real Spark that is killed with SIGKILL: the driver, its tasks, or what commits."""

from collections import Counter
from typing import Any

import pytest

ROWS = [b"row %d %s" % (number, b"." * 60) for number in range(400)]


def whole(query: Any) -> None:
    """All rows are there once, and nothing is left over."""
    assert query.bodies() == Counter(ROWS)
    assert query.record().open == ()
    with query.answering():
        query.settled()  # what failed attempts had stored is rolled back
    assert query.bodies() == Counter(ROWS)


@pytest.mark.timeout(900)
def test_a_stream_that_is_killed_around_its_commits(spark, query, deaths) -> None:
    """Once with its driver and its JVM, else the process that commits.

    The other places of a crash are passed without Spark, too (`test_writers.py`).
    """
    dying = deaths(query, ROWS)
    dying.run("between ends", 1, failing=True)
    assert query.record().open[0].batch == 1
    assert 0 < (Counter(ROWS) - query.bodies()).total() < 400
    query.until(lambda: query.members() == 0)  # of the processes that answered, none is left
    dying.run("before record", 2, spark=spark)
    assert query.record().last < 2
    dying.run("after record", 2, spark=spark)
    assert query.record().open[0].batch == 2
    dying.run(spark=spark)
    whole(query)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_stream_whose_driver_is_killed_around_its_commits(query, deaths) -> None:
    dying = deaths(query, ROWS)
    dying.run("before record", 1)
    assert query.record().last < 1
    dying.run("after record", 1)
    assert query.record().open[0].batch == 1
    dying.run("between ends", 3)
    assert query.record().open[0].batch == 3
    assert 0 < (Counter(ROWS) - query.bodies()).total() < 400
    dying.run(failing=True)
    query.until(lambda: query.members() == 0)
    whole(query)

"""Values as JSON has them."""

import os
import time
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from mqframe_spark.jobs.searching import Search, plain_value, search
from pyspark.sql import Row

from mqframe.core.errors import SettingError


@pytest.fixture
def elsewhere():
    """A machine whose time is not UTC: Spark hands times over in the machine's zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_all_of_sparks_values_can_be_written(elsewhere) -> None:
    moment = datetime.fromtimestamp(datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp())
    row = Row(
        text="x", n=3, ratio=0.5, nothing=None, raw=bytearray(b"a\xff"), at=moment, day=date(2026, 11, 21),
        price=Decimal("1.50"), tags=["a", b"b"], table={"k": moment}, inner=Row(a=1, b=b"c"),
    )  # fmt: skip
    assert plain_value(row) == {
        "text": "x",
        "n": 3,
        "ratio": 0.5,
        "nothing": None,
        "raw": "a\\xff",
        "at": "2026-11-21T10:00:00.000+00:00",
        "day": "2026-11-21",
        "price": "1.50",
        "tags": ["a", "b"],
        "table": {"k": "2026-11-21T10:00:00.000+00:00"},
        "inner": {"a": 1, "b": "c"},
    }


def test_an_empty_condition_is_refused() -> None:
    with pytest.raises(SettingError, match="--sql is empty"):
        search(None, Search(source={}, sql="  "))

"""Zones of times that name none."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from mqframe_spark.zones import in_zone, zone_of, zoned

from mqframe.core.errors import SettingError

SUMMER = datetime(2026, 7, 1, 12)


class Conf:
    """What a session knows."""

    def __init__(self, zone: str) -> None:
        self.conf = {"spark.sql.session.timeZone": zone}


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("UTC", 0), ("Z", 0), ("Europe/Berlin", 2), ("+01:00", 1), ("-0330", -3.5), ("GMT+8", 8),
        ("UTC-1", -1),
    ],
)  # fmt: skip
def test_zones_are_called_as_spark_calls_them(name: str, hours: float) -> None:
    assert SUMMER.replace(tzinfo=zone_of(name)).utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize("name", ["", "Berlin", "+25:00", "Europe/", "../etc/passwd"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="is no time zone; write one as Europe/Berlin"):
        zone_of(name)


def test_a_time_without_a_zone_gets_one() -> None:
    berlin = zone_of("Europe/Berlin")
    assert in_zone("2026-07-01T12:00", berlin) == "2026-07-01T12:00:00+02:00"
    assert in_zone("2026-01-31", berlin) == "2026-01-31T00:00:00+01:00"
    assert in_zone("2026-07-01T12:00", None) == SUMMER.astimezone().isoformat()
    for text in ("2026-07-01T12:00Z", "1700000000000", "20260701", "noon", "", "{"):
        assert in_zone(text, berlin) == text


def test_times_by_queue_get_one_too() -> None:
    given = {"orders": {"broker-a/0": "2026-07-01T12:00", "broker-a/1": 1700000000000, "b/0": "noon"}}
    assert json.loads(in_zone(json.dumps(given), zone_of("+02:00"))) == {
        "orders": {"broker-a/0": "2026-07-01T12:00:00+02:00", "broker-a/1": 1700000000000, "b/0": "noon"}
    }


def test_the_zone_of_the_session_counts_where_times_are_given_and_no_zone_is() -> None:
    spark = Conf("Asia/Kolkata")
    assert zoned(spark, {"topic": "t"}) == {"topic": "t"}  # type: ignore[arg-type]
    times = {"startingTimestamp": "2026-07-01T12:00"}
    assert zoned(spark, times) == {**times, "timeZone": "Asia/Kolkata"}  # type: ignore[arg-type]
    own = {**times, "TIMEZONE": "UTC"}
    assert zoned(spark, own) == own  # type: ignore[arg-type]

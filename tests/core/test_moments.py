"""Moments that programs name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from mqframe.core.errors import FixError
from mqframe.core.moments import moment_ms, read_moment, unit_of

NOON = datetime(2026, 1, 31, 12, 0, 0, 1500, tzinfo=UTC)
NOON_MS = 1_769_860_800_001


def test_a_datetime_with_a_zone_is_a_moment() -> None:
    assert moment_ms(NOON, "at") == NOON_MS
    assert moment_ms(NOON, "at", up=True) == NOON_MS + 1
    assert moment_ms(NOON.astimezone(timezone(timedelta(hours=5, minutes=45))), "at") == NOON_MS


@pytest.mark.parametrize("number", [0, -1, NOON_MS, 100_000_000_000, 253_402_300_799_999, (1 << 63) - 1])
def test_milliseconds_are_a_moment_and_so_are_the_two_ends_of_time(number: int) -> None:
    assert moment_ms(number, "at") == number


@pytest.mark.parametrize(
    ("number", "unit"),
    [
        (1, "seconds"),
        (1_769_860_800, "seconds"),
        (1_769_860_800_000_000, "microseconds"),
        (1_769_860_800_000_000_000, "nanoseconds"),
    ],
)
def test_what_counts_something_else_is_seen(number: int, unit: str) -> None:
    assert unit_of(number) == unit
    with pytest.raises(FixError, match=f"at is {number}; give ms since 1970-01-01 UTC, not {unit}"):
        moment_ms(number, "at")


@pytest.mark.parametrize("moment", [datetime(2026, 1, 31), True, 1.5, "2026-01-31", None])
def test_what_is_no_moment_is_refused(moment: object) -> None:
    with pytest.raises(FixError, match=r"without a time zone; give one|give a datetime or whole ms"):
        moment_ms(moment, "at")  # type: ignore[arg-type]


def test_texts_of_machines_have_a_zone() -> None:
    assert read_moment("2026-01-31T12:00:00.001Z", "at") == NOON_MS
    assert read_moment(" 2026-01-31T13:00:00.001+01:00 ", "at") == NOON_MS
    assert read_moment(str(NOON_MS), "at") == NOON_MS
    for text, said in (
        ("2026-01-31T12:00", "without a time zone; add one, as 2026-01-31T12:00Z"),
        ("1769860800", "not seconds"),
        ("noon", "write a time with its zone"),
    ):
        with pytest.raises(FixError, match=said):
            read_moment(text, "at")

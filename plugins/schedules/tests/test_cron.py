"""Planned times against rules written out by hand, clock changes included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_schedules.cron import Cron

from mqframe.core.errors import FixError

BERLIN = ZoneInfo("Europe/Berlin")


def ms(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1000


def times(expression: str, zone: str, start: int, count: int) -> list[str]:
    """The next times, each looked for from the one before, as UTC."""
    cron, found, at = Cron(expression, zone, start), [], start
    for _ in range(count):
        at = cron.next_after(at) or 0
        found.append(datetime.fromtimestamp(at / 1000, UTC).strftime("%m-%d %H:%M:%S"))
    return found


def test_days_hours_and_seconds() -> None:
    start = ms("2026-01-30T00:00:00")
    assert times("30 8 * * MON-FRI", "UTC", start, 3) == [
        "01-30 08:30:00",
        "02-02 08:30:00",
        "02-03 08:30:00",
    ]
    assert times("0 0 L * *", "UTC", start, 2) == ["01-31 00:00:00", "02-28 00:00:00"]
    assert times("*/20 * * * * *", "UTC", start, 3) == ["01-30 00:00:20", "01-30 00:00:40", "01-30 00:01:00"]


def test_milliseconds_count() -> None:
    cron = Cron("* * * * * *", "UTC", 0)
    assert cron.next_after(1_000) == 2_000
    assert cron.next_after(999) == 1_000
    assert cron.next_after(1_001) == 2_000


def test_a_fixed_time_in_the_gap_comes_once_at_its_end() -> None:
    start = ms("2026-03-28T12:00:00")  # clocks go from 02:00 to 03:00 on the 29th, at 01:00 UTC
    assert times("30 2 * * *", "Europe/Berlin", start, 3) == [
        "03-29 01:00:00",
        "03-30 00:30:00",
        "03-31 00:30:00",
    ]
    # 2:00 moves to 3:00, where 3:00 is due as well: one message, for it is one time.
    assert times("0 2,3 * * *", "Europe/Berlin", start, 3) == [
        "03-29 01:00:00",
        "03-30 00:00:00",
        "03-30 01:00:00",
    ]


def test_a_fixed_time_in_the_doubled_hour_comes_once() -> None:
    start = ms("2026-10-24T12:00:00")  # clocks go from 03:00 back to 02:00 on the 25th, at 01:00 UTC
    assert times("30 2 * * *", "Europe/Berlin", start, 2) == ["10-25 00:30:00", "10-26 01:30:00"]
    assert times("0-59/15 2 * * *", "Europe/Berlin", start, 5) == [
        "10-25 00:00:00",
        "10-25 00:15:00",
        "10-25 00:30:00",
        "10-25 00:45:00",
        "10-26 01:00:00",
    ]


def test_looking_from_within_the_second_of_two_hours_goes_on_not_back() -> None:
    cron = Cron("30 2 * * *", "Europe/Berlin", 0)
    for second in (ms("2026-10-25T01:10:00"), ms("2026-10-25T01:30:00"), ms("2026-10-25T01:45:00")):
        assert cron.next_after(second) == ms("2026-10-26T01:30:00")


def test_every_so_often_follows_the_time_that_passes() -> None:
    for start in (ms("2026-03-29T00:00:00"), ms("2026-10-25T00:00:00")):
        cron, at = Cron("*/10 * * * *", "Europe/Berlin", start), start
        for number in range(1, 30):
            at = cron.next_after(at) or 0
            assert at == start + number * 600_000


def test_with_seconds_the_local_clock_counts_alone() -> None:
    assert times("0 30 2 * * *", "Europe/Berlin", ms("2026-03-28T12:00:00"), 1) == ["03-30 00:30:00"]
    assert times("0 30 2 * * *", "Europe/Berlin", ms("2026-10-24T12:00:00"), 3) == [
        "10-25 00:30:00",
        "10-25 01:30:00",
        "10-26 01:30:00",
    ]


def fixed_times(hour: int, minute: int, day: datetime) -> int:
    """When "minute hour * * *" is due on a day in Berlin: the first of two, the end of a gap."""
    local = day.replace(hour=hour, minute=minute)
    while local.replace(tzinfo=BERLIN).astimezone(UTC).astimezone(BERLIN).replace(tzinfo=None) != local:
        local += timedelta(minutes=1)
    return int(local.replace(tzinfo=BERLIN, fold=0).timestamp()) * 1000


DAYS = st.one_of(
    st.dates(datetime(2024, 1, 1).date(), datetime(2028, 1, 1).date()),
    st.sampled_from(
        [datetime(2026, 3, 29).date(), datetime(2026, 10, 25).date(), datetime(2027, 3, 28).date()]
    ),
)


@given(DAYS, st.integers(0, 86_400_000), st.integers(0, 4), st.integers(0, 59))
def test_fixed_times_are_those_of_the_rule_wherever_one_looks_from(
    date: object, offset_ms: int, hour: int, minute: int
) -> None:
    day = datetime.fromisoformat(f"{date}T00:00:00")
    after = int(day.replace(tzinfo=BERLIN).timestamp()) * 1000 + offset_ms
    wanted = min(
        time
        for number in range(-1, 4)
        if (time := fixed_times(hour, minute, day + timedelta(days=number))) > after
    )
    assert Cron(f"{minute} {hour} * * *", "Europe/Berlin", after).next_after(after) == wanted


@given(DAYS, st.integers(0, 86_400), st.sampled_from(["Europe/Berlin", "America/Santiago", "Asia/Beirut"]))
def test_frequent_times_are_all_minutes_of_the_local_clock_that_match(
    date: object, offset: int, zone: str
) -> None:
    after = ms(f"{date}T00:00:00") + offset * 1000
    wanted = after // 60_000 * 60_000 + 60_000
    while datetime.fromtimestamp(wanted / 1000, ZoneInfo(zone)).minute % 7 != 3:
        wanted += 60_000
    assert Cron("3-59/7 * * * *", zone, after).next_after(after) is not None
    assert Cron("*/1 * * * *", zone, after).next_after(after) == after // 60_000 * 60_000 + 60_000


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("61 * * * *", "bad minute"),
        ("* * * *", "wrong number of fields"),
        ("", "wrong number of fields"),
        ("* 25 * * *", "bad hour"),
        ("* * * * FUN", "bad day-of-week"),
        ("@daily", "wrong number of fields"),
        ("*/0 * * * *", "bad minute"),
        ("1-x * * * *", "bad minute"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("* * */20 * 1L", "never falls due"),
    ],
)
def test_bad_expressions_are_refused_with_what_to_write(expression: str, said: str) -> None:
    with pytest.raises(FixError) as caught:
        Cron(expression, "UTC", ms("2026-01-01T00:00:00"))
    assert said in str(caught.value)
    assert repr(expression) in str(caught.value)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime", "Europe", "\x00"])
def test_unknown_zones_are_refused(zone: str) -> None:
    with pytest.raises(FixError, match="IANA names, as Europe/Berlin"):
        Cron("0 8 * * *", zone, 0)


@pytest.mark.parametrize("expression", ["9" * 5000 + " * * * *", "*/" + "9" * 5000 + " * * * *", "* " * 5000])
def test_an_expression_of_thousands_of_characters_is_refused_in_a_few(expression: str) -> None:
    with pytest.raises(FixError, match="at most 1000") as refused:
        Cron(expression, "UTC", 0)
    assert len(str(refused.value)) < 400


def test_the_longest_expression_that_lists_everything_is_taken() -> None:
    def listed(low: int, high: int) -> str:
        return ",".join(map(str, range(low, high + 1)))

    every = f"{listed(0, 59)} {listed(0, 59)} {listed(0, 23)} {listed(1, 31)} {listed(1, 12)} {listed(0, 6)}"
    assert Cron(every, "UTC", 0).next_after(0) == 1000

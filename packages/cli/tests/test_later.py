"""Times and delays as people type them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from mqframe_cli.later import parse_delay, past_ms, since_ms, typed_ms

from mqframe.core.errors import SettingError


@pytest.mark.parametrize(
    ("text", "delay"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("3d", 259_200), ("250ms", 0.25)],
)
def test_a_delay_has_a_unit(text, delay):
    assert parse_delay(text) == timedelta(seconds=delay)


@pytest.mark.parametrize("text", ["", "-5", "5 s", "s", "1w", "١s"])
def test_a_delay_that_is_none(text):
    with pytest.raises(SettingError, match="write a number and ms"):
        parse_delay(text)


def test_a_time_is_a_time(capsys):
    assert typed_ms("--to", "1700000000000") == 1_700_000_000_000
    assert typed_ms("--to", "2023-11-14T22:13:20Z") == 1_700_000_000_000
    assert typed_ms("--to", "2023-11-14T22:13:20+01:00") == 1_699_996_400_000
    assert capsys.readouterr().err == ""
    for text in ("", "tomorrow", "25:00"):
        with pytest.raises(SettingError, match=r"--to .*: write a time"):
            typed_ms("--to", text)


def test_a_time_without_zone_is_of_this_machine_and_shown_back_with_its_zone(capsys):
    local = datetime(2023, 11, 14, 22, 13, 20)
    assert typed_ms("--to", "2023-11-14T22:13:20") == int(local.timestamp() * 1000)
    shown = capsys.readouterr().err
    assert shown == f"mqframe: --to 2023-11-14T22:13:20 is {local.astimezone().isoformat()}\n"


@pytest.mark.parametrize(("text", "unit"), [("1700000000", "seconds"), ("1700000000000000", "microseconds")])
def test_a_number_of_seconds_is_told_from_one_of_milliseconds(text, unit):
    with pytest.raises(SettingError, match=f"--to {text}: these are {unit}; write milliseconds"):
        typed_ms("--to", text)


def test_a_moment_is_so_long_ago_or_a_time():
    assert since_ms("10m", now=1000.0) == 400_000
    assert since_ms("1d", now=1000.0) == 0
    assert since_ms("start") == 0
    assert since_ms("1700000000000") == 1_700_000_000_000
    assert since_ms("2023-11-14T22:13:20Z") == 1_700_000_000_000
    with pytest.raises(SettingError, match="--since noon"):
        since_ms("noon")


def test_a_moment_of_the_past_is_not_still_to_come():
    assert past_ms("10m", "--until", now=1000.0) == 400_000
    assert past_ms("0s", "--until", now=1000.0) == 1_000_000
    with pytest.raises(SettingError, match="--until 1700000000000: is yet to come"):
        past_ms("1700000000000", "--until", now=1_699_999_999.0)
    with pytest.raises(SettingError, match="--until noon: write"):
        past_ms("noon", "--until")

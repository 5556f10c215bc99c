"""Times and delays as people type them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from mqframe.cli.later import parse_delay, parse_time, since_ms
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


def test_a_time_is_a_time():
    assert parse_time("1700000000000") == 1_700_000_000_000
    assert parse_time("2023-11-14T22:13:20Z").timestamp() == 1_700_000_000
    assert parse_time("2023-11-14T22:13:20+01:00").timestamp() == 1_699_996_400
    local = parse_time("2023-11-14T22:13:20")
    assert local.tzinfo is not None
    assert local.replace(tzinfo=None) == datetime(2023, 11, 14, 22, 13, 20)
    for text in ("", "tomorrow", "25:00"):
        with pytest.raises(SettingError, match="write a time"):
            parse_time(text)


def test_a_moment_is_so_long_ago_or_a_time():
    assert since_ms("10m", now=1000.0) == 400_000
    assert since_ms("1d", now=1000.0) == 0
    assert since_ms("start") == 0
    assert since_ms("1700000000000") == 1_700_000_000_000
    assert since_ms("2023-11-14T22:13:20Z") == 1_700_000_000_000
    with pytest.raises(SettingError, match="--since noon"):
        since_ms("noon")

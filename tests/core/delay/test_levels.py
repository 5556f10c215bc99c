from __future__ import annotations

import pytest

from mqframe.core.delay.levels import DEFAULT_LEVELS, delivery_time, parse_levels
from mqframe.core.errors import SettingError


def test_default_levels():
    levels = parse_levels(DEFAULT_LEVELS)
    assert len(levels) == 18
    assert levels[:5] == (1000, 5000, 10_000, 30_000, 60_000)
    assert levels[-2:] == (3_600_000, 7_200_000)


def test_delivery_time_and_levels_above_the_last():
    levels = parse_levels("1s 2d")
    assert [delivery_time(7, level, levels) for level in (1, 2, 3, 99)] == [1007] + [172_800_007] * 3


@pytest.mark.parametrize("text", ["5", "s", "1x", "1s -2s", "1.5s", "٣s"])
def test_bad_levels_name_the_word(text):
    with pytest.raises(SettingError, match="delay level"):
        parse_levels(text)

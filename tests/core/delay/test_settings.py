"""Settings of delays: defaults, what is refused, RocketMQ's keys."""

from __future__ import annotations

from typing import Any

import pytest

from mqframe.core.config.configuration import resolve
from mqframe.core.config.layers import broker_conf
from mqframe.core.delay.levels import DEFAULT_LEVELS
from mqframe.core.delay.settings import DelaySettings
from mqframe.core.errors import SettingError


def test_defaults_are_those_of_rocketmq() -> None:
    it = DelaySettings()
    assert (it.levels, it.timer_enabled, it.timer_precision_ms) == (DEFAULT_LEVELS, True, 1000)


@pytest.mark.parametrize(
    ("name", "value"),
    [("levels", "1x"), ("levels", ""), ("timer_precision_ms", 300), ("timer_window_slots", 1)],
)
def test_bad_values_name_their_setting(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"delay.{name}"):
        DelaySettings(**{name: value})


def test_keys_of_rocketmq_mean_the_same() -> None:
    text = (
        "messageDelayLevel=1s 2s\ntimerPrecisionMs=500\ntimerWheelEnable=false\nrecallMessageEnable=false\n"
    )
    section = resolve([DelaySettings], [broker_conf(text, "broker.conf")]).section(DelaySettings)
    assert section == DelaySettings(levels="1s 2s", timer_precision_ms=500, timer_enabled=False, recall=False)

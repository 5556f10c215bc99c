"""Settings of delays: defaults, what is refused, RocketMQ's keys."""

from __future__ import annotations

from typing import Any

import pytest
from conf_files import broker_conf
from mqframe_delay.settings import DelaySettings

from mqframe.core.config.configuration import resolve
from mqframe.core.errors import SettingError


def test_defaults_are_those_of_rocketmq() -> None:
    it = DelaySettings()
    assert (it.recall, it.timer_enabled, it.timer_precision_ms) == (True, True, 1000)


@pytest.mark.parametrize(
    ("name", "value"),
    [("timer_precision_ms", 300), ("timer_window_slots", 1)],
)
def test_bad_values_name_their_setting(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"delay.{name}"):
        DelaySettings(**{name: value})


def test_keys_of_rocketmq_mean_the_same() -> None:
    text = "timerPrecisionMs=500\ntimerWheelEnable=false\nrecallMessageEnable=false\n"
    section = resolve([DelaySettings], [broker_conf(text, "broker.conf")]).section(DelaySettings)
    assert section == DelaySettings(timer_precision_ms=500, timer_enabled=False, recall=False)

"""Settings of the index: defaults, what is refused, RocketMQ's keys, the names that they had in `store`."""

from __future__ import annotations

import pytest
from conf_files import broker_conf
from mqframe_index.settings import IndexSettings

from mqframe.core.config.configuration import resolve
from mqframe.core.errors import SettingError


def test_defaults_are_those_of_rocketmq() -> None:
    it = IndexSettings()
    assert (it.enabled, it.slots, it.entries) == (True, 5_000_000, 20_000_000)


@pytest.mark.parametrize(("name", "value"), [("slots", 0), ("entries", 1)])
def test_bad_values_name_their_setting(name: str, value: int) -> None:
    with pytest.raises(SettingError, match=f"index.{name}"):
        IndexSettings(**{name: value})


def test_keys_of_rocketmq_mean_the_same() -> None:
    text = "maxHashSlotNum=7\nmaxIndexNum=9\nmessageIndexEnable=false\n"
    section = resolve([IndexSettings], [broker_conf(text, "broker.conf")]).section(IndexSettings)
    assert section == IndexSettings(slots=7, entries=9, enabled=False)

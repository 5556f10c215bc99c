"""Settings of a store: defaults, what is refused, RocketMQ's keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from conf_files import broker_conf

from mqframe.core.config.configuration import resolve
from mqframe.core.errors import SettingError
from mqframe.core.storage.cleaning import DiskLimits
from mqframe.store.settings import StoreSettings


def test_defaults_are_the_numbers_of_the_reference() -> None:
    it = StoreSettings()
    assert (it.commit_log_file_bytes, it.queue_file_bytes) == (1 << 30, 300_000 * 20)
    assert (it.flush, it.keep_hours, it.delete_when) == ("ASYNC_FLUSH", 72, "04")
    assert it.body_bytes_max == 4 << 20
    assert it.limits == DiskLimits(
        it.disk_clean_percent, it.disk_force_percent, it.disk_refuse_percent, it.disk_enough_free_bytes
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("commit_log_file_bytes", 4095),
        ("queue_file_bytes", 30),
        ("delete_when", "25"),
        ("flush", "SOMETIMES"),
        ("delay_levels", "1x"),
        ("delay_levels", ""),
    ],
)
def test_bad_values_name_their_setting(name, value) -> None:
    with pytest.raises(SettingError, match=name):
        StoreSettings(**{name: value})


def test_keys_of_rocketmq_mean_the_same() -> None:
    text = "storePathRootDir=/data\nmappedFileSizeCommitLog=8192\n"
    text += "messageDelayLevel=1s 2s\n"
    section = resolve([StoreSettings], [broker_conf(text, "broker.conf")]).section(StoreSettings)
    assert section == StoreSettings(
        directory=Path("/data"),
        commit_log_file_bytes=8192,
        delay_levels="1s 2s",
        hot_bytes=section.hot_bytes,
    )

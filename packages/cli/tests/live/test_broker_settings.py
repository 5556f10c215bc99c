"""Settings of brokers that run, of mqframe and of Apache RocketMQ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_admin.bodies import SettingInForce
from mqframe_cli.live.broker_settings import UNKNOWN, brokers_meant, setting_change, settings_rows

from mqframe.core.errors import FixedSetting, FixError, SettingError


class Foreign:
    """The administration of a cluster whose brokers take any setting, and tell nothing more of them.

    `deaf`: they pass over changes.
    """

    def __init__(self, *, deaf: bool = False) -> None:
        self.values = {"10.0.0.1:1": {"fileReservedTime": "72"}, "10.0.0.2:1": {"fileReservedTime": "48"}}
        self.deaf = deaf
        masters = {"broker-a": "10.0.0.1:1", "broker-b": "10.0.0.2:1"}
        self.cluster = SimpleNamespace(masters=lambda: masters)
        self.brokers = self

    def settings(self, address: str) -> list[SettingInForce]:
        return [SettingInForce(key, key, value, live=True) for key, value in self.values[address].items()]

    def update_config(self, address: str, values: dict[str, str], unset: Any = ()) -> None:
        if not self.deaf:
            self.values[address] |= values


def test_brokers_are_meant_by_name_or_by_address() -> None:
    admin: Any = Foreign()
    assert brokers_meant(admin, []) == {"broker-a": "10.0.0.1:1", "broker-b": "10.0.0.2:1"}
    assert brokers_meant(admin, ["broker-b", "10.0.0.9:1"]) == {
        "broker-b": "10.0.0.2:1",
        "10.0.0.9:1": "10.0.0.9:1",
    }
    with pytest.raises(
        FixError, match="--broker broker-c: no broker of that name is registered; did you mean"
    ):
        brokers_meant(admin, ["broker-c"])
    with pytest.raises(FixError, match="there are broker-a, broker-b"):
        brokers_meant(admin, ["zzz"])


def test_a_foreign_broker_is_changed_by_its_own_names_and_told_as_unknown() -> None:
    admin: Any = Foreign()
    brokers = brokers_meant(admin, [])
    rows = list(setting_change(admin, "fileReservedTime", "24", brokers).made(admin))
    assert [(row["broker"], row["before"], row["after"], row["origin"]) for row in rows] == [
        ("broker-a", "72", "24", UNKNOWN),
        ("broker-b", "48", "24", UNKNOWN),
    ]
    (row, _) = settings_rows(admin, brokers, changed=True)
    assert (row["setting"], row["value"], row["origin"]) == ("fileReservedTime", "24", UNKNOWN)


def test_what_a_foreign_broker_cannot_do_is_refused() -> None:
    admin: Any = Foreign(deaf=True)
    brokers = brokers_meant(admin, ["broker-a"])
    with pytest.raises(SettingError, match="fileReservedTim is no setting of broker broker-a; did you mean"):
        setting_change(admin, "fileReservedTim", "24", brokers)
    with pytest.raises(SettingError, match="does not know what it was started with; set fileReservedTime to"):
        setting_change(admin, "fileReservedTime", None, brokers)
    with pytest.raises(FixError, match="took no notice: fileReservedTime is still '72'"):
        list(setting_change(admin, "fileReservedTime", "24", brokers).made(admin))


def test_a_setting_that_stays_set_is_told() -> None:
    class Older(Foreign):
        def settings(self, address: str) -> list[SettingInForce]:
            return [SettingInForce("store.keep_hours", "k", "5", "changed", live=True, changed=True)]

    admin: Any = Older()
    change = setting_change(admin, "k", None, brokers_meant(admin, ["broker-a"]))
    with pytest.raises(FixError, match="broker broker-a does not set settings back; set k to"):
        list(change.made(admin))


def test_one_broker_that_cannot_keeps_all_from_being_changed() -> None:
    class Mixed(Foreign):
        def settings(self, address: str) -> list[SettingInForce]:
            live = address == "10.0.0.1:1"
            return [SettingInForce("store.keep_hours", "fileReservedTime", "5", "default", live)]

    admin: Any = Mixed()
    with pytest.raises(
        FixedSetting, match=r"broker broker-b cannot be changed while it runs; set store\.keep_hours"
    ):
        setting_change(admin, "fileReservedTime", "6", brokers_meant(admin, []))
    assert admin.values["10.0.0.1:1"] == {"fileReservedTime": "72"}

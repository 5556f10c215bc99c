"""Settings of assignments: defaults, what is refused, RocketMQ's keys, all names that they had."""

from __future__ import annotations

import pytest
from conf_files import broker_conf
from mqframe_assignment.settings import AssignmentSettings
from mqframe_cli.settings.configuration import load

from mqframe.core.config.configuration import resolve
from mqframe.core.errors import SettingError


def test_defaults_are_those_of_rocketmq() -> None:
    it = AssignmentSettings()
    assert (it.request_mode, it.pop_share_queues) == ("PULL", -1)


@pytest.mark.parametrize(("name", "value"), [("request_mode", "PUSH"), ("pop_share_queues", -2)])
def test_bad_values_name_their_setting(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"assignment.{name}"):
        AssignmentSettings(**{name: value})  # type: ignore[arg-type]


def test_keys_of_rocketmq_mean_the_same() -> None:
    text = "defaultMessageRequestMode=POP\ndefaultPopShareQueueNum=3\n"
    section = resolve([AssignmentSettings], [broker_conf(text, "broker.conf")]).section(AssignmentSettings)
    assert section == AssignmentSettings(request_mode="POP", pop_share_queues=3)


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("broker.request_mode", "POP", "assignment.request_mode"),
        ("pop.request_mode", "POP", "assignment.request_mode"),
        ("broker.pop_share_queues", 2, "assignment.pop_share_queues"),
        ("pop.share_queues", 2, "assignment.pop_share_queues"),
    ],
)
def test_old_names_go_on_working_and_say_where_the_setting_is(old: str, value: object, new: str) -> None:
    kept = load("broker", {}, None, [f"{old}={value}"], {})
    (entry,) = [each for each in kept.entries if each.path == new]
    assert (entry.value, entry.origin) == (value, f"command line --set {old}, by its old name {old}")
    assert kept.warnings == (
        f"old names of settings, which have moved: {old} (from command line --set {old}) is {new}",
    )

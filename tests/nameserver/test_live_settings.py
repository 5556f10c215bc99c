"""Settings of a running name server: what is changed is kept where it has a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqframe.core.errors import FixedSetting, SettingError, StoreError
from mqframe.nameserver.live_settings import LiveNameServerSettings
from mqframe.nameserver.settings import NameServerSettings


def made(directory: Path | None, **settings: object) -> LiveNameServerSettings:
    live = LiveNameServerSettings(NameServerSettings(directory=directory, **settings))  # type: ignore[arg-type]
    live.load()
    return live


def test_a_change_counts_in_the_next_run_whatever_that_is_told(tmp_path: Path) -> None:
    made(tmp_path).change("waitSecondsForService=3\nenableTopicList=false")
    made(tmp_path).change("enableTopicList=true")
    later = made(tmp_path, wait_seconds_for_service=9, need_wait_for_service=True).current
    assert (later.wait_seconds_for_service, later.need_wait_for_service) == (3, True)
    assert later.enable_topic_list is True
    kept = json.loads((tmp_path / "changedSettings.json").read_text())
    assert kept == {"settings": {"waitSecondsForService": "3", "enableTopicList": "true"}}


def test_what_is_refused_is_neither_in_force_nor_kept(tmp_path: Path) -> None:
    live = made(tmp_path)
    before = live.current
    for lines, error in (
        ("listenPort=3", FixedSetting),
        ("nonsense=1", SettingError),
        ("rocketmqHome=/", FixedSetting),
    ):
        with pytest.raises(error, match=lines.partition("=")[0]):
            live.change(f"enableTopicList=false\n{lines}")
    assert live.current is before
    assert list(tmp_path.iterdir()) == []


def test_a_change_that_cannot_be_kept_is_not_made(tmp_path: Path) -> None:
    live = made(tmp_path / "there")
    (tmp_path / "there").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="there"):
        live.change("enableTopicList=false")
    assert live.current.enable_topic_list is True


def test_without_a_folder_a_change_ends_with_the_server() -> None:
    live = made(None)
    live.change("enableTopicList=false")
    assert live.current.enable_topic_list is False
    assert "rocketmqHome" not in live.lines(9876)
    assert made(None).current.enable_topic_list is True


def test_where_its_files_are_is_shown(tmp_path: Path) -> None:
    lines = made(tmp_path, port=0).lines(9876).splitlines()
    assert [line for line in lines if "/" in line or "Port" in line] == [
        "listenPort=9876",
        f"rocketmqHome={tmp_path}",
        f"kvConfigPath={tmp_path}/kvConfig.json",
        f"configStorePath={tmp_path}/changedSettings.json",
    ]


def test_what_cannot_be_taken_over_is_logged_and_what_cannot_be_read_stops_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "changedSettings.json"
    file.write_text('{"settings":{"gone":"1","enableTopicList":"false"}}')
    assert made(tmp_path).current.enable_topic_list is False
    assert "gone is not a setting" in caplog.text
    file.write_text("{")
    with pytest.raises(StoreError, match=r"changedSettings\.json is broken"):
        made(tmp_path)

"""The sections `[lite_pull]` and `[puller]`: clients are made from them, without the distribution refused."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from mqframe_pull.sections import LitePullSection, PullerSection
from mqframe_pull.settings import LitePullSettings

from mqframe import LitePullConsumer, Producer, Puller, SettingError
from mqframe.client.configuration.sections import client_kinds
from mqframe.hooks import sections

TEXT = """
[client]
nameserver = "127.0.0.1:1"

[lite_pull]
group = "g"
poll_messages_max = 7

[lite_pull.late]
group = "h"

[puller]
group = "jobs"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration with both sections, and a profile of one."""
    found = tmp_path / "app.toml"
    found.write_text(TEXT)
    return found


def test_clients_are_made_from_them(file: Path) -> None:
    assert LitePullConsumer.from_config(file).group == "g"
    assert LitePullConsumer.from_config(file, "late").group == "h"
    assert Puller.from_config(file).group == "jobs"
    with pytest.raises(SettingError, match=r"wait is no argument or setting of LitePullConsumer"):
        LitePullConsumer.from_config(file, wait=1)
    with pytest.raises(SettingError, match=r"poll_messages_max"):
        LitePullConsumer.from_config(file, poll_messages_max=0)


def test_they_hold_arguments_beside_settings() -> None:
    kinds = client_kinds()
    lite, plain = kinds["lite_pull"], kinds["puller"]
    assert (lite.section, lite.settings) == (LitePullSection, LitePullSettings)
    assert {"group", "auto_commit"} <= lite.arguments
    assert "poll_messages_max" not in lite.arguments
    assert (plain.section, plain.settings) == (PullerSection, None)
    assert plain.arguments == {"group", "timeout", "rpc_hooks"}


def test_without_the_distribution_they_are_refused_with_what_to_install(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = ("client.lite_pull", "client.puller")
    others = [each for each in entry_points(group=sections.GROUP) if each.name not in ours]
    monkeypatch.setattr(sections, "entry_points", lambda **of: others)
    sections._offered.cache_clear()
    try:
        told = r"lite_pull\.group from .*app\.toml.*pip install mqframe-plugin-pull"
        with pytest.raises(SettingError, match=told):
            Producer.from_config(file, group="p")
    finally:
        sections._offered.cache_clear()

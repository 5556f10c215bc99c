"""The section `[simple]`: consumers are made from it, and without the distribution it is refused."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from mqframe import FixError, Producer, SettingError, SimpleConsumer
from mqframe.hooks import sections

TEXT = """
[client]
nameserver = "127.0.0.1:1"

[simple]
group = "g"
ordered = true

[simple.late]
group = "h"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration with the section, and a profile of it."""
    found = tmp_path / "app.toml"
    found.write_text(TEXT)
    return found


def test_consumers_are_made_from_it(file: Path) -> None:
    assert SimpleConsumer.from_config(file).group == "g"
    assert SimpleConsumer.from_config(file, "late").group == "h"
    with pytest.raises(FixError, match="consume_from 'sometime'"):
        SimpleConsumer.from_config(file, consume_from="sometime")
    with pytest.raises(SettingError, match=r"wait is no argument or setting of SimpleConsumer"):
        SimpleConsumer.from_config(file, wait=1)


def test_without_the_distribution_it_is_refused_with_what_to_install(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [each for each in entry_points(group=sections.GROUP) if each.name != "client.simple"]
    monkeypatch.setattr(sections, "entry_points", lambda **of: others)
    sections._offered.cache_clear()
    try:
        told = r"simple\.group from .*app\.toml.*pip install mqframe-plugin-pop"
        with pytest.raises(SettingError, match=told):
            Producer.from_config(file, group="p")
    finally:
        sections._offered.cache_clear()

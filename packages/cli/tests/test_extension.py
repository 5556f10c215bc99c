"""What commands of plugins may use of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_cli import extension
from mqframe_cli.extension import settings_of

from mqframe.core.errors import SettingError
from mqframe.store.settings import StoreSettings


def test_everything_that_it_names_is_there_and_told_of() -> None:
    assert extension.__doc__ is not None
    codes = {"FAILED", "OK", "RETRY", "WRONG"}
    for name in extension.__all__:
        assert hasattr(extension, name)
        assert name in codes or f"`{name}`" in extension.__doc__


def test_settings_are_those_of_options_items_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[store]\nkeep_hours = 5\nqueue_file_bytes = 40\n")
    given = {"DIRECTORY": {"store.directory": tmp_path / "store"}}
    found = settings_of("broker", given, file, ["store.queue_file_bytes=60"]).section(StoreSettings)
    assert (found.directory, found.keep_hours, found.queue_file_bytes) == (tmp_path / "store", 5, 60)
    assert settings_of("broker", {}, None, None).section(StoreSettings).keep_hours != 5
    with pytest.raises(SettingError, match=r"store\.queue_file_bytes"):
        settings_of("broker", {}, None, ["store.queue_file_bytes=many"])

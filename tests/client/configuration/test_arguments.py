"""The arguments of a client: which source counts, and what is wrong with one that does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqframe import Producer, SettingError
from mqframe.client.configuration.arguments import Sources, arguments_of


def sources(file: Path | None, profile: str = "", **given: object) -> Sources:
    return Sources("producer", profile, file, "app.toml", given)


def test_the_code_comes_before_a_profile_and_that_before_its_section(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text('[producer]\ngroup = "a"\nretries_sync = 1\n[producer.shop]\nretries_async = 7\n')
    found = arguments_of(Producer, sources(file, "shop", retries_sync=3))
    settings = found["settings"]
    assert (found["group"], settings.retries_sync, settings.retries_async) == ("a", 3, 7)
    assert sorted(found) == ["client", "group", "net", "plugins", "rpc_hooks", "settings"]


def test_a_group_that_is_missing_is_named_with_its_places() -> None:
    with pytest.raises(SettingError, match=r"producer\.group must be set: .* or \[producer\] of app\.toml"):
        arguments_of(Producer, sources(None))


def test_a_word_that_nothing_knows_is_refused() -> None:
    with pytest.raises(SettingError, match="retrys_sync is no argument or setting of Producer; did you mean"):
        arguments_of(Producer, sources(None, group="a", retrys_sync=3))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"configuration app\.toml cannot be read"):
        arguments_of(Producer, sources(tmp_path / "none.toml", group="a"))

"""Permissions in settings."""

import pytest

from mqframe.core.storage.file_modes import bad_mode, parse_mode


@pytest.mark.parametrize("text", ["", "x", "9", "400", "755", "1600", "-600"])
def test_what_are_no_permissions_of_files(text):
    with pytest.raises(ValueError, match=r"invalid literal|permissions of files"):
        parse_mode(text)


def test_permissions_are_octal():
    assert [parse_mode(text) for text in ("600", "0640", "666")] == [0o600, 0o640, 0o666]
    assert (bad_mode("600"), bool(bad_mode("755"))) == (None, True)

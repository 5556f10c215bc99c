"""Levels of logs on the command line."""

from __future__ import annotations

import pytest
from mqframe_cli.logs import LEVELS, check_level

from mqframe.core.errors import SettingError


def test_known_levels_pass_and_others_are_named() -> None:
    for level in LEVELS:
        check_level(level)
    with pytest.raises(SettingError, match="--log-level WARN: must be debug, info, warning or error"):
        check_level("WARN")

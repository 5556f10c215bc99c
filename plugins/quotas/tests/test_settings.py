"""The section of settings."""

from __future__ import annotations

import pytest
from mqframe_quotas.settings import QuotaSettings

from mqframe.core.config.field_types import convert
from mqframe.core.errors import SettingError


def test_lines_come_as_text_too() -> None:
    text = "user:* send_messages=5 send_bytes=100, topic:orders read_bytes=7"
    lines = convert(text, tuple[str, ...])
    assert QuotaSettings(limits=lines).limits == (
        "user:* send_messages=5 send_bytes=100",
        "topic:orders read_bytes=7",
    )


def test_lines_that_say_nothing_are_refused() -> None:
    with pytest.raises(SettingError, match=r"quotas\.limits = .*: 'user:a fast': 'fast' is not understood"):
        QuotaSettings(limits=("user:a fast",))

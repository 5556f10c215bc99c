"""What options are refused, and what they are by default."""

from __future__ import annotations

import pytest
from mqframe_deduplication.options import DeduplicationOptions

from mqframe.core.errors import SettingError


@pytest.mark.parametrize("name", ["KEYS", "UNIQ_KEY", "", "a b", "ä", "x" * 128, "a\x01"])
def test_a_property_that_cannot_hold_a_key_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=r"plugins.deduplication.property"):
        DeduplicationOptions(property=name)


@pytest.mark.parametrize(
    ("option", "value"), [("scope", "queue"), ("window_seconds", 0), ("keys_max", 0), ("keys_max", -1)]
)
def test_limits_and_choices(option: str, value: object) -> None:
    with pytest.raises(SettingError, match=rf"plugins.deduplication.{option}"):
        DeduplicationOptions(**{option: value})  # type: ignore[arg-type]


def test_defaults() -> None:
    options = DeduplicationOptions()
    assert (options.property, options.scope, options.window_seconds, options.keys_max) == (
        "IDEMPOTENCE_KEY",
        "topic",
        600,
        100_000,
    )

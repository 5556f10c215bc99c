from __future__ import annotations

import pytest

from mqframe.core.errors import SettingError
from mqframe.net.settings import NetSettings


def test_defaults_are_the_numbers_of_the_reference() -> None:
    settings = NetSettings()
    assert (settings.frame_bytes_max, settings.idle_seconds) == (16 * 1024 * 1024, 120)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frame_bytes_max", 10),
        ("idle_seconds", 0),
        ("connect_timeout_seconds", 21),
        ("unsent_bytes_max", 1),
        ("in_flight_requests_max", 0),
        ("in_flight_bytes_max", 0),
    ],
)
def test_bad_values_name_their_setting(name: str, value: int) -> None:
    with pytest.raises(SettingError, match=f"net.{name}"):
        NetSettings(**{name: value})

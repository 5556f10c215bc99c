"""Settings of an elected group that cannot work are refused, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from mqframe.core.errors import SettingError
from mqframe.replication.election_settings import ElectionSettings


def test_the_defaults_go_together() -> None:
    times = ElectionSettings().times(5.0)
    assert (times.ttl, times.renew, times.margin) == (5.0, 1.5, 1.0)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"lease_ms": 2000, "renew_ms": 1500}, "lease_ms = 2000 is shorter than twice"),
        ({"lease_ms": 4000, "renew_ms": 1500, "margin_ms": 2500}, "leaves no time between a renewal"),
        ({"lease_ms": 99}, "lease_ms"),
        ({"patience_ms": 0}, "patience_ms"),
    ],
)
def test_times_that_do_not_go_together_are_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        ElectionSettings(**fields)


def test_a_lease_that_the_engine_grants_shorter_than_twice_a_renewal_is_refused() -> None:
    with pytest.raises(SettingError, match="is shorter than twice"):
        ElectionSettings().times(2.0)

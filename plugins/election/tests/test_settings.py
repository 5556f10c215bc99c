"""What is asked of elections has to go together."""

from __future__ import annotations

import attrs
import pytest
from conf_files import broker_conf
from mqframe_election.rules.lease import LeaseTimes
from mqframe_election.rules.limits import ElectionLimits
from mqframe_election.settings import ElectionSettings

from mqframe.core.config.configuration import resolve
from mqframe.core.errors import SettingError

DEFAULTS = ElectionSettings()


def test_the_defaults_fit_each_other() -> None:
    assert DEFAULTS.times(5) == LeaseTimes(ttl=5, renew=1.5, margin=1)
    assert 2 * DEFAULTS.renew_ms + DEFAULTS.margin_ms <= DEFAULTS.lease_ms  # one renewal may fail
    assert DEFAULTS.coordination == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"lease_ms": 2999},
            r"election\.lease_ms = 2999 is shorter than twice election\.renew_ms = 1500: .*Take a third",
        ),
        (
            {"lease_ms": 3000, "margin_ms": 1500},
            r"election\.lease_ms = 3000 leaves no time .*renew_ms = 1500.* margin \(1500\)",
        ),
        (
            {"margin_ms": 5000},
            r"election\.lease_ms = 5000 leaves no time .*renew_ms = 1500.* margin \(5000\)",
        ),
    ],
)
def test_times_of_a_lease_that_do_not_fit_each_other_are_refused_with_their_values(
    given: dict[str, int], why: str
) -> None:
    with pytest.raises(SettingError, match=why):
        ElectionSettings(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"lease_ms": 3000}, {"lease_ms": 3001, "margin_ms": 1500}])
def test_times_that_just_fit_are_taken(given: dict[str, int]) -> None:
    assert ElectionSettings(**given).lease_ms == given["lease_ms"]  # type: ignore[arg-type]


def test_an_engine_that_grants_less_than_was_asked_for_is_refused_with_what_it_granted() -> None:
    assert DEFAULTS.times(4).ttl == 4
    with pytest.raises(SettingError, match=r"election\.lease_ms = 2000 is shorter than twice"):
        DEFAULTS.times(2)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("lease_ms", 100),
        ("renew_ms", 10),
        ("margin_ms", 0),
        ("patience_ms", 1),
        ("first_wait_ms", 0),
        ("lag_ms", 10),
        ("away_ms", 10),
    ],
)
def test_each_time_has_a_least_one_and_is_refused_below_it_by_name(name: str, least: int) -> None:
    others = {"renew_ms": 10, "margin_ms": 0} if name == "lease_ms" else {}
    assert getattr(ElectionSettings(**{**others, name: least}), name) == least  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=rf"election\.{name} = {least - 1}: must be at least {least}"):
        ElectionSettings(**{**others, name: least - 1})  # type: ignore[arg-type]


def test_elections_reckon_in_seconds() -> None:
    limits = ElectionSettings(lease_ms=6000, patience_ms=500, first_wait_ms=2500).limits(2)
    assert limits == ElectionLimits(lease=6, renew=1.5, margin=1, patience=0.5, first=2.5, members_min=2)


def test_how_long_a_broker_may_lag_is_known_by_the_key_of_rocketmq() -> None:
    layer = broker_conf("haMaxTimeSlaveNotCatchup = 15000", "broker.conf")
    resolved = resolve([ElectionSettings], [layer])
    assert resolved.section(ElectionSettings) == attrs.evolve(DEFAULTS, lag_ms=15000)
    origins = {entry.path: entry.origin for entry in resolved.entries}
    assert origins["election.lag_ms"] == "broker.conf:1 haMaxTimeSlaveNotCatchup"
    assert resolved.warnings == ()
    with pytest.raises(SettingError, match=r"lag_ms = 9: .*haMaxTimeSlaveNotCatchup"):
        resolve([ElectionSettings], [broker_conf("haMaxTimeSlaveNotCatchup = 9", "broker.conf")])

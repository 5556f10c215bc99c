"""How long a lease is trusted."""

from __future__ import annotations

import pytest
from mqframe_election.rules.lease import Lease, LeaseTimes

from mqframe.core.errors import SettingError


def test_it_is_trusted_from_when_the_renewal_was_sent_until_its_margin() -> None:
    lease = Lease(LeaseTimes(ttl=5, renew=1.5, margin=1), sent=100.0)
    assert lease.is_trusted(103.9)
    assert not lease.is_trusted(104.0)
    lease.renewed(102.0)
    assert lease.trusted_until == 106.0
    lease.renewed(101.0)  # an answer that came late
    assert lease.trusted_until == 106.0


@pytest.mark.parametrize(
    ("ttl", "renew", "margin", "why"),
    [(3, 1.6, 1, "twice"), (3, 1.5, 1.5, "no time between")],
)
def test_times_that_leave_no_time_are_refused(ttl: float, renew: float, margin: float, why: str) -> None:
    with pytest.raises(SettingError, match=why):
        LeaseTimes(ttl, renew, margin)

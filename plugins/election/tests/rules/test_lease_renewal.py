"""The renewals of a lease."""

from __future__ import annotations

from math import inf

from mqframe_election.rules.lease import Lease, LeaseTimes
from mqframe_election.rules.lease_renewal import LeaseRenewal


def test_a_lease_counts_from_when_the_renewal_was_sent_and_is_renewed_again_after_all_was_answered() -> None:
    lease, renewal = Lease(LeaseTimes(5, 1.5, 1), 0.0), LeaseRenewal(1.5)
    assert renewal.due == inf
    renewal.rest(0.1)
    assert renewal.due == 1.6
    renewal.send(1.7)
    assert renewal.due == inf
    renewal.succeeded(lease)
    assert lease.trusted_until == 5.7
    renewal.rest(2.0)
    assert renewal.due == 3.5
    renewal.end()
    assert renewal.due == inf

"""The renewals of a broker's lease, and its reports after them (election.md §5).

They go on beside whatever else the broker does.

    state      event            next       then
    off        begins           resting    until `renew` later
    resting    due              renewing   renew
    renewing   renewed          reporting  report; the lease counts from when the renewal was sent
    renewing   no answer        resting    until `renew` later
    renewing   the lease is gone  off
    reporting  reported         resting    until `renew` later
    reporting  no answer        resting    until `renew` later
    any        ends             off
"""

from __future__ import annotations

from math import inf

from mqframe_election.rules.lease import Lease


class LeaseRenewal:
    """`due`: when to renew, seconds; never while a call is under way.

    `said`: why this broker cannot store, as the report under way says it.
    """

    def __init__(self, seconds: float) -> None:
        self.due = inf
        self.said = ""
        self._seconds = seconds
        self._sent = 0.0

    def rest(self, now: float) -> None:
        """Nothing is under way at `now`; the next renewal is to come."""
        self.due = now + self._seconds

    def send(self, now: float) -> None:
        """A renewal is sent at `now`."""
        self.due, self._sent = inf, now

    def succeeded(self, lease: Lease) -> None:
        """The renewal that was sent has been answered."""
        lease.renewed(self._sent)

    def end(self) -> None:
        """Renew no more."""
        self.due = inf

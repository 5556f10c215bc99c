"""How long a leader may answer without having heard of its engine (election.md §5)."""

from __future__ import annotations

import attrs

from mqframe.core.errors import SettingError


@attrs.frozen
class LeaseTimes:
    """Seconds. `ttl`: what the engine granted; `renew`: between renewals; `margin`: how long before its end a
    lease is not trusted any more: for clocks that do not run alike, and for pauses of a process."""

    ttl: float
    renew: float
    margin: float

    def __attrs_post_init__(self) -> None:
        if self.ttl < 2 * self.renew:
            raise SettingError(
                f"election.lease_ms = {self.ttl * 1000:.0f} is shorter than twice election.renew_ms ="
                f" {self.renew * 1000:.0f}: one late renewal would end a term. Take a third for renewals"
            )
        if self.ttl <= self.renew + self.margin:
            raise SettingError(
                f"election.lease_ms = {self.ttl * 1000:.0f} leaves no time between a renewal"
                f" (renew_ms = {self.renew * 1000:.0f}) and its margin ({self.margin * 1000:.0f}):"
                " a leader would never be sure to be one"
            )


class Lease:
    """A lease at the engine, by the monotonic clock of this process. Seconds.

    What counts is when the renewal that succeeded was *sent*: the engine counts from a moment after that.
    """

    def __init__(self, times: LeaseTimes, sent: float) -> None:
        self.times = times
        self._since = sent

    def renewed(self, sent: float) -> None:
        """A renewal that was sent at `sent` succeeded."""
        self._since = max(self._since, sent)

    @property
    def trusted_until(self) -> float:
        """Until then nobody else can lead."""
        return self._since + self.times.ttl - self.times.margin

    def is_trusted(self, now: float) -> bool:
        """Whether nobody else can lead at `now`."""
        return now < self.trusted_until

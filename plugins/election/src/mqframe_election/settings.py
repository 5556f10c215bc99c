"""The settings of an elected group."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, setting, settings
from mqframe_election.rules.lease import LeaseTimes
from mqframe_election.rules.limits import ElectionLimits


@settings("election")
class ElectionSettings:
    """How the brokers of a group (`replication.role = "ELECTED"`) choose their leader."""

    coordination: str = setting(
        "",
        doc="where the group keeps who leads it: etcd, or sqlite for brokers of one machine; its options are "
        "in the table [plugins] of that name",
        plugin="coordination",
    )
    lease_ms: int = setting(
        5000,
        doc="a leader that the engine does not hear of for so long can be replaced; etcd: 2000 at least, ms",
        check=at_least(100),
    )
    renew_ms: int = setting(
        1500, doc="how often a broker renews its lease, and says how far it is, ms", check=at_least(10)
    )
    margin_ms: int = setting(
        1000,
        doc="how long before the end of its lease a leader stops, for clocks that do not run alike, and "
        "pauses of its process, ms",
        check=at_least(0),
    )
    patience_ms: int = setting(
        1000,
        doc="how long a broker that has less of the log than others leaves them the first claim, ms",
        check=at_least(1),
    )
    first_wait_ms: int = setting(
        5000,
        doc="how long the first leader of a group waits for brokers that have more, ms",
        check=at_least(0),
    )
    lag_ms: int = setting(
        5000,
        doc="a broker that did not have what its leader had so long ago is in sync no more, ms",
        check=at_least(10),
        conf="haMaxTimeSlaveNotCatchup",
    )
    away_ms: int = setting(
        1000,
        doc="a broker that is not connected for so long is in sync no more, ms",
        check=at_least(10),
    )
    brokers: int = setting(
        0,
        doc="how many brokers the group has, by which monitoring is told that one is missing; 0: as many as "
        "were ever in sync, which counts one that left for good",
        check=at_least(0),
    )
    stall_ms: int = setting(
        5000,
        doc="a leader whose disk has not answered for so long gives up the lead, where another broker in "
        "sync could store, ms",
        check=at_least(100),
    )

    def __attrs_post_init__(self) -> None:
        self.times(self.lease_ms / 1000)

    def times(self, granted: float) -> LeaseTimes:
        """The times of a lease for which the engine granted so many seconds. Raises `SettingError`."""
        return LeaseTimes(granted, self.renew_ms / 1000, self.margin_ms / 1000)

    def limits(self, members_min: int) -> ElectionLimits:
        """The times of elections; `members_min`: how many brokers have to be in sync."""
        return ElectionLimits(
            lease=self.lease_ms / 1000,
            renew=self.renew_ms / 1000,
            margin=self.margin_ms / 1000,
            patience=self.patience_ms / 1000,
            first=self.first_wait_ms / 1000,
            members_min=members_min,
        )

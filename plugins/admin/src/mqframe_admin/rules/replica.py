"""One broker among those that keep the same log, as operators are shown it."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from mqframe.core.errors import BadAnswer


@attrs.frozen
class Replica:
    """A master, whose `broker_id` is 0, or a slave.

    `role`: as `brokerRole` says, or LEADER and FOLLOWER in an elected group; empty where the broker did not
    answer, and `trouble` tells why. `log_end`:
    log offset behind the last record, bytes. Of slaves: `behind_bytes`, how much of the master's log is
    missing, and `behind_since_ms`, when the first of that was stored, epoch ms; `master`: the replication
    address that is followed, empty while none is. Of masters: `slaves` that are connected, and how many of
    these are `in_sync`. `None`: not known; brokers of Apache RocketMQ before 5.0.0 tell neither `master` nor
    `slaves`. Of elected groups: `epoch`, the newest term that the broker knows; `confirmed`: log offset
    up to where it knows that all in sync have the log; of leaders `members`: who is in sync, by number.
    """

    cluster: str
    broker: str
    broker_id: int
    address: str
    role: str = ""
    log_end: int | None = None
    behind_bytes: int | None = None
    behind_since_ms: int | None = None
    master: str | None = None
    slaves: int | None = None
    in_sync: int | None = None
    trouble: str = ""
    epoch: int | None = None
    confirmed: int | None = None
    members: tuple[int, ...] | None = None


@attrs.frozen
class ForcedElection:
    """What it takes to have a broker lead that was not in sync.

    `log_end`: where its log ends; `confirmed`: up to where brokers in sync were known to have the log when
    that was written down last, in the term `epoch`, log offsets, bytes: more may have been confirmed since;
    `members`: who was in sync then, by number.
    """

    broker: str
    address: str
    epoch: int
    log_end: int
    confirmed: int
    members: tuple[int, ...]

    @property
    def loss(self) -> str:
        """What may be lost, in words."""
        known = max(0, self.confirmed - self.log_end)
        had = ", ".join(map(str, self.members)) or "nobody"
        return (
            f"its log ends at {self.log_end}; in epoch {self.epoch} {self.confirmed} was confirmed or more,"
            f" so {known} bytes that were acknowledged are missing at least. All of them are at those that"
            f" were in sync: broker {had}"
        )


@attrs.frozen
class LeadHanded:
    """An elected group whose leader gave up the lead.

    `before`: who led, `to`: for whom it was given up, `leader`: who leads now, at `address`, by number:
    another one than `to` where that one died meanwhile; `epoch`: of the term that began.
    """

    broker: str
    before: int
    to: int
    leader: int
    address: str
    epoch: int


@attrs.frozen
class RoleChanged:
    """A broker that was promoted or demoted.

    `role`: what it is now; `log_end`: where its log ended then, bytes; `objections`: what stood against it,
    and was overruled; `ready`: of a broker that was demoted, the numbers of the slaves with the same log.
    """

    broker: str
    address: str
    role: str
    log_end: int
    objections: tuple[str, ...] = ()
    ready: tuple[int, ...] = ()


def told_log_bounds(counters: Mapping[str, str], address: str) -> tuple[int, int]:
    """Where the log of the broker at `address`, which has these `counters`, begins and ends, bytes.

    Raises `BadAnswer` where they do not say.
    """
    try:
        return int(counters["commitLogMinOffset"]), int(counters["commitLogMaxOffset"])
    except (KeyError, ValueError) as problem:
        raise BadAnswer(f"{address} does not say where its log begins and ends: {problem!r}") from None

"""One broker among those that keep the same log, as operators are shown it."""

from __future__ import annotations

import attrs


@attrs.frozen
class Replica:
    """A master, whose `broker_id` is 0, or a slave.

    `role`: as `brokerRole` says; empty where the broker did not answer, and `trouble` tells why. `log_end`:
    log offset behind the last record, bytes. Of slaves: `behind_bytes`, how much of the master's log is
    missing, and `behind_since_ms`, when the first of that was stored, epoch ms; `master`: the replication
    address that is followed, empty while none is. Of masters: `slaves` that are connected, and how many of
    these are `in_sync`. `None`: not known; brokers of Apache RocketMQ before 5.0.0 tell neither `master` nor
    `slaves`.
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

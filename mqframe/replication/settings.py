"""The settings of replication between a master and its slaves."""

from __future__ import annotations

from typing import Final

from mqframe.core.config.settings import at_least, one_of, setting, settings, within

NONE: Final = "NONE"
ASYNC_MASTER: Final = "ASYNC_MASTER"
SYNC_MASTER: Final = "SYNC_MASTER"
SLAVE: Final = "SLAVE"
REFUSE: Final = "refuse"
CUT: Final = "cut"


@settings("replication")
class ReplicationSettings:
    """Whether a broker is copied, or copies another one of the same name."""

    role: str = setting(
        NONE,
        doc="NONE: the broker is alone; ASYNC_MASTER: slaves may copy it; SYNC_MASTER: sends are answered "
        "when slaves have them; SLAVE: it copies its master, and takes no messages",
        check=one_of(NONE, ASYNC_MASTER, SYNC_MASTER, SLAVE),
        conf="brokerRole",
    )
    id: int = setting(
        0,
        doc="number of the broker among those of its name; a slave's is 1 or more, any other is 0",
        check=within(0, 2**31 - 1),
        conf="brokerId",
    )
    port: int | None = setting(
        None,
        doc="port of a master where slaves copy its log; none: that of the broker and 1, 0: any free one. It "
        "has neither accounts nor TLS: keep it in a network of brokers",
        check=lambda port: None if port is None else within(0, 65535)(port),
        conf="haListenPort",
    )
    master: str = setting(
        "",
        doc='"host:port" where a slave copies the log; empty: what the name servers say of the broker of its '
        "name with id 0",
        conf="haMasterAddress",
    )
    in_sync: int = setting(
        2,
        doc="how many brokers, a SYNC_MASTER and its slaves, have a message before its send is answered",
        check=at_least(1),
        conf="inSyncReplicas",
    )
    timeout_ms: int = setting(
        3000,
        doc="a send that slaves did not get within it is answered FLUSH_SLAVE_TIMEOUT, ms",
        check=at_least(1),
        conf="slaveTimeout",
    )
    behind_bytes_max: int = setting(
        256 << 20,
        doc="a slave that is further behind does not count; too few that do: SLAVE_NOT_AVAILABLE, bytes",
        check=at_least(1),
        conf="haMaxGapNotInSync",
    )
    batch_bytes: int = setting(
        32_768,
        doc="most bytes of the log that one frame carries",
        check=within(1, (4 << 20) - 12),
        conf="haTransferBatchSize",
    )
    heartbeat_ms: int = setting(
        5000,
        doc="an idle connection carries a heartbeat, or a report, after so long, ms",
        check=at_least(1),
        conf="haSendHeartbeatInterval",
    )
    silent_ms: int = setting(
        20_000,
        doc="a connection on which nothing came for so long is closed, ms",
        check=at_least(1),
        conf="haHousekeepingInterval",
    )
    retry_ms: int = setting(
        5000, doc="how long a slave waits before it connects again, ms", check=at_least(1)
    )
    diverged: str = setting(
        REFUSE,
        doc="what a slave does whose log is not the beginning of its master's. refuse: it does not follow, "
        "and says so; cut: it cuts its log back to the last record that both have, keeps what it cuts off in "
        "the folder cut of its store, and follows. Nobody knows whether that was acknowledged",
        check=one_of(REFUSE, CUT),
    )
    tables_interval_ms: int = setting(
        10_000,
        doc="how often a slave copies topics, groups and their progress from its master, ms",
        check=at_least(10),
    )

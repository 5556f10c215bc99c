"""The settings of replication between a master and its slaves."""

from __future__ import annotations

from typing import Any, Final, Self

import attrs

from mqframe.broker.settings import BrokerSettings
from mqframe.core.config.settings import at_least, one_of, setting, settings, within
from mqframe.core.errors import SettingError

NONE: Final = "NONE"
ASYNC_MASTER: Final = "ASYNC_MASTER"
SYNC_MASTER: Final = "SYNC_MASTER"
SLAVE: Final = "SLAVE"
ELECTED: Final = "ELECTED"
AS_NEEDED: Final = "as_needed"
ALWAYS: Final = "always"
AS_BROKER: Final = "as_broker"
OFF: Final = "off"
REFUSE: Final = "refuse"
CUT: Final = "cut"


@settings("replication")
class ReplicationSettings:
    """Whether a broker is copied, or copies another one of the same name."""

    role: str = setting(
        NONE,
        doc="NONE: the broker is alone; ASYNC_MASTER: slaves may copy it; SYNC_MASTER: messages are "
        "answered, and seen, when slaves have them; SLAVE: it copies its master, and takes no messages; "
        "ELECTED: the brokers of its name choose one that leads, and replace it when it dies (section "
        "election)",
        check=one_of(NONE, ASYNC_MASTER, SYNC_MASTER, SLAVE, ELECTED),
        conf="brokerRole",
    )
    id: int = setting(
        0,
        doc="number of the broker among those of its name; that of a slave, and of each broker of an elected "
        "group, is 1 or more, any other is 0",
        check=within(0, 2**31 - 1),
        conf="brokerId",
    )
    port: int | None = setting(
        None,
        doc="port of a master where slaves copy its log; none: that of the broker and 1, 0: any free one",
        check=lambda port: None if port is None else within(0, 65535)(port),
        conf="haListenPort",
    )
    master: str = setting(
        "",
        doc='"host:port" where a slave copies the log; empty: what the name servers say of the broker of its '
        "name with id 0",
        conf="haMasterAddress",
    )
    tls: str = setting(
        AS_BROKER,
        doc="how that port, and a slave's connections to it, are secured: `as_broker`: as other ports and "
        "connections of the broker are (`net.tls_server_mode`, `net.tls`); `off`: not at all, for partners "
        "of RocketMQ, which know no TLS there",
        check=one_of(AS_BROKER, OFF),
    )
    hello: str = setting(
        AS_NEEDED,
        doc="whether a slave says who it is, and a master takes only those that do: `as_needed`: with access "
        "control, and slaves over TLS, too, where the other side is none of RocketMQ; `always`",
        check=one_of(AS_NEEDED, ALWAYS),
    )
    in_sync: int = setting(
        2,
        doc="how many brokers, a SYNC_MASTER and its slaves, have a message before its send is answered with "
        "success, and before consumers see it; while fewer are in sync, min_in_sync decides",
        check=at_least(1),
        conf="inSyncReplicas",
    )
    min_in_sync: int = setting(
        1,
        doc="with fewer brokers in sync, a SYNC_MASTER counted, it takes no messages, and consumers see "
        "nothing new; with so many, but fewer than in_sync, that many have to have a message, and its send "
        "is answered SLAVE_NOT_AVAILABLE",
        check=at_least(1),
        conf="minInSyncReplicas",
    )
    all_acknowledge: bool = setting(
        False,
        doc="each slave that is in sync has to have a message, not only so many as in_sync says",
        conf="allAckInSyncStateSet",
    )
    auto_in_sync: bool = setting(
        False,
        doc="as many brokers as are in sync will do for a success, from min_in_sync to in_sync",
        conf="enableAutoInSyncReplicas",
    )
    timeout_ms: int = setting(
        3000,
        doc="what slaves did not get within it is answered FLUSH_SLAVE_TIMEOUT, or counts as not stored, ms",
        check=at_least(1),
        conf="slaveTimeout",
    )
    behind_bytes_max: int = setting(
        256 << 20,
        doc="a slave that is so far behind, or further, is not in sync, bytes",
        check=at_least(1),
        conf="haMaxGapNotInSync",
    )
    batch_bytes: int = setting(
        32_768,
        doc="most bytes of the log that one frame carries",
        check=within(1, (4 << 20) - 12),
        conf="haTransferBatchSize",
    )
    flow_control: bool = setting(
        False,
        doc="whether a master sends its slaves no more than `bytes_per_second_max`",
        conf="haFlowControlEnable",
    )
    bytes_per_second_max: int = setting(
        100 << 20,
        doc="most bytes of the log in a second, to all slaves together, in equal parts; with `flow_control`",
        check=at_least(1024),
        conf="maxHaTransferByteInSecond",
    )
    gather_ms: int = setting(
        5,
        doc="how long an ASYNC_MASTER gathers what it stored before it is sent to slaves, ms; 0: not at all. "
        "A SYNC_MASTER never does",
        check=at_least(0),
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
    slave_reads: bool | None = setting(
        None,
        doc="true: whoever reads further from the log's end than store.hot_bytes is sent to a slave, and a "
        "slave sends back who is near it (at 3/4 of that); false: a slave refuses readers while it follows "
        "its master; none: nobody is sent to slaves, and a slave serves whoever comes",
        conf="slaveReadEnable",
        live=True,
    )
    offset_check: bool = setting(
        False,
        doc="what a slave answers to consumers at an offset that it does not have, because it lags or began "
        "later: true: that they are to go on where its queue begins or ends, as a master does; false: that "
        "they are to wait, and ask the master",
        conf="offsetCheckInSlave",
        live=True,
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

    def __attrs_post_init__(self) -> None:
        if self.min_in_sync > self.in_sync:
            raise SettingError(
                f"replication.min_in_sync (minInSyncReplicas) = {self.min_in_sync} is more than"
                f" replication.in_sync (inSyncReplicas) = {self.in_sync}: raise the latter, or lower the"
                " former"
            )

    @property
    def plugin(self) -> str:
        """As `RoleSettings.plugin`: the role's name, `alone` where that is NONE."""
        return "alone" if self.role == NONE else self.role.lower()

    @property
    def is_slave(self) -> bool:
        """As `RoleSettings.is_slave`."""
        return self.role == SLAVE

    @property
    def shown_role(self) -> str:
        """As `RoleSettings.shown_role`."""
        return ASYNC_MASTER if self.role in (NONE, ELECTED) else self.role

    @property
    def broker_id(self) -> int:
        """As `RoleSettings.broker_id`."""
        return self.id if self.is_slave else 0

    def on_any_port(self) -> Self:
        """As `RoleSettings.on_any_port`."""
        if self.role == ELECTED:
            return self  # where the log of a leader is copied is known by the broker's port
        # What lies beside a port that was any free one may belong to others.
        before: Any = self
        same: Self = attrs.evolve(before, port=self.port or 0)
        return same

    def check(self, broker: BrokerSettings) -> None:
        """As `RoleSettings.check`."""
        if self.role == ELECTED:
            self._check_elected(broker)
        elif self.role == SLAVE:
            self._check_slave(broker)

    def _check_slave(self, broker: BrokerSettings) -> None:
        if not self.id:
            raise SettingError("replication.id (brokerId) = 0: a slave needs a number of its own, 1 or more")
        if broker.services:
            raise SettingError(
                f"broker.services = {', '.join(broker.services)}: a slave runs none, since they write to"
                " its log; leave them out, and put them back when it becomes master"
            )
        if not broker.nameservers:
            raise SettingError(
                "replication.role = SLAVE: a slave finds its master by name servers; set broker.nameservers"
                " (namesrvAddr)"
            )

    def _check_elected(self, broker: BrokerSettings) -> None:
        if not self.id:
            raise SettingError(
                "replication.id = 0: each broker of an elected group needs a number of its own for life, 1 or"
                " more"
            )
        if self.port == 0:
            raise SettingError(
                "replication.port = 0: where a leader's log is copied has to be known before it is elected;"
                " leave it out (the broker's port and 1), or name one"
            )
        if not broker.nameservers:
            raise SettingError(
                "replication.role = ELECTED: clients find the leader by name servers; set broker.nameservers"
                " (namesrvAddr)"
            )

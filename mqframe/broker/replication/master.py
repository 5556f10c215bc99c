"""A master: slaves copy its log; what a SYNC_MASTER stores waits for them (replication.md §1, §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaConnectionInfo, HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal, StoreUnavailable
from mqframe.core.measuring.family import Family, Kind, Metric, one
from mqframe.core.replication.admission import Home
from mqframe.core.replication.feed import FeedLimits
from mqframe.core.replication.hello import PROTOCOL
from mqframe.core.replication.in_sync import InSync, InSyncLimits
from mqframe.core.requests.admin import ExchangeBrokerHaAnswer, ExchangeBrokerHaInfo, GetBrokerHaStatus
from mqframe.core.requests.serving import Call, serves
from mqframe.core.storage.record import decode_record
from mqframe.hooks.interfaces import Periodic
from mqframe.log import get_logger
from mqframe.replication.feeding import SLAVES_MAX, FedSlave, Feeding
from mqframe.replication.reception import Reception
from mqframe.replication.settings import ASYNC_MASTER, OFF, SYNC_MASTER, ReplicationSettings
from mqframe.trouble import Trouble

log: Final = get_logger("replication")
LOOK_SECONDS: Final = 0.1
"""As in Apache RocketMQ: what no request has brought is sent so much later at most."""


def in_sync_of(settings: ReplicationSettings) -> InSync | None:
    """The rule of a master of these settings that waits for its slaves; `None`: it waits for nobody."""
    if settings.role != SYNC_MASTER:
        return None
    limits = InSyncLimits(
        settings.in_sync,
        settings.min_in_sync,
        settings.all_acknowledge,
        settings.auto_in_sync,
        settings.behind_bytes_max,
    )
    return InSync(limits, settings.timeout_ms / 1000)


class MasterPart(BrokerPart):
    """The replication port.

    `in_sync`: the rule by which what is stored waits for slaves, that of the store; `None`: it does not.
    `push`: sends what was appended. `enforce`: takes only those slaves whom access control lets. `feeding`:
    makes what feeds them.
    """

    def __init__(
        self,
        sections: BrokerSections,
        state: BrokerState,
        in_sync: InSync | None = None,
        feeding: Callable[..., Feeding] = Feeding,
    ) -> None:
        settings, broker = sections.replication, sections.broker
        self._host = broker.host
        port = settings.port
        self._port = (broker.port + 1 if broker.port else 0) if port is None else port
        self._identity = state.identity
        self._clock = state.clock
        self._store = state.store
        self._end_at_start = state.store.max_offset
        self._behind_bytes_max = settings.behind_bytes_max
        limits = FeedLimits(
            settings.batch_bytes,
            sections.store.commit_log_file_bytes,
            settings.heartbeat_ms / 1000,
            settings.silent_ms / 1000,
            settings.bytes_per_second_max if settings.flow_control else None,
            settings.gather_ms / 1000 if settings.role == ASYNC_MASTER else 0,
        )
        self._in_sync = in_sync
        home = Home(broker.cluster, broker.name, settings.id, limits.file_bytes)
        reception = Reception(home, settings.hello)
        self.enforce = reception.enforce
        self._feeding = feeding(state.store, state.clock, limits, self._heard, reception)
        if settings.tls != OFF:
            self._feeding.secure(sections.net)
        self.push = self._feeding.push
        self.slaves = self._feeding.slaves
        self.tables_copied: dict[str, float] = {}
        """When, by the monotonic clock, tables were asked for the last time, by host."""
        if self._in_sync is not None:
            self._in_sync.acknowledged = self._feeding.acknowledged
        self._refuses = Trouble(log, state.clock.monotonic)

    def _heard(self) -> None:
        """A slave told how far it is, or left; or the log may have grown past slaves that say nothing."""
        in_sync = self._in_sync
        if in_sync is None:
            return
        in_sync.heard()
        self._note_refusal(in_sync.refusal())

    def _note_refusal(self, refusal: StoreUnavailable | None) -> None:
        if refusal is not None:
            self._refuses.note("no messages are taken", reason=str(refusal))
        else:
            self._refuses.over("messages are taken again")

    @property
    def log_end(self) -> int:
        """Log offset behind the last record, bytes."""
        return self._store.max_offset

    def note_copied(self, host: str) -> None:
        """A slave at `host` has come to the last of the tables that it copies."""
        if host in self.tables_copied or len(self.tables_copied) < SLAVES_MAX:
            self.tables_copied[host] = self._clock.monotonic()

    def counters(self) -> Mapping[str, str]:
        """The replication port, what it speaks, how many slaves follow, how far each is behind, bytes.

        Of a SYNC_MASTER also how many brokers are in sync, itself included.
        """
        end = self._store.max_offset
        slaves = self._feeding.slaves()
        behind = " ".join(f"{slave.address}:{end - slave.acknowledged}" for slave in slaves)
        counters = {
            "replicationPort": str(self._feeding.port),
            "replicationProtocol": str(PROTOCOL),
            "replicationSlaves": str(len(slaves)),
            "replicationBehindBytes": behind,
        }
        if self._in_sync is not None:
            counters["replicationInSync"] = str(self._in_sync.brokers)
        return counters

    async def metrics(self) -> Sequence[Metric]:
        """How many slaves follow, and how far each is behind; several of one machine are one series."""
        end, now = self._store.max_offset, self._clock.now_ms()
        sizes = Family(
            "mqframe_replication_behind_bytes", Kind.GAUGE, "Bytes of the log not confirmed.", ("slave",), max
        )
        ages = Family(
            "mqframe_replication_behind_milliseconds",
            Kind.GAUGE,
            "How long the first message that is not confirmed has waited.",
            ("slave",),
            max,
        )
        slaves = self._feeding.slaves()
        least_of: dict[str, int] = {}
        for each in slaves:
            host = each.address.rpartition(":")[0]
            least_of[host] = min(each.acknowledged, least_of.get(host, each.acknowledged))
        for host, least in sorted(least_of.items()):
            sizes.add(end - least, host)
            stored_ms = now if least >= end else self._stored_ms(least)
            if stored_ms is not None:
                ages.add(max(0, now - stored_ms), host)
        count = one("mqframe_replication_slaves", Kind.GAUGE, "Slaves that are connected.", len(slaves))
        if self._in_sync is None:
            return count, sizes, ages
        brokers = self._in_sync.brokers
        in_sync = one("mqframe_replication_in_sync", Kind.GAUGE, "Brokers in sync, this one too.", brokers)
        return count, in_sync, sizes, ages

    def _stored_ms(self, offset: int) -> int | None:
        """When the record at log offset `offset` was stored; `None` when none begins there."""
        record = self._store.record_at(offset, unconfirmed=True)
        return None if record is None else decode_record(record).store_timestamp

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        end = self._store.max_offset
        slaves = [
            HaConnectionInfo(
                addr=slave.address,
                diff=end - slave.acknowledged,
                in_sync=self._counts(slave, end),
                slave_ack_offset=slave.acknowledged,
                transfer_from_where=slave.following,
                transferred_byte_in_second=slave.sent_in_second,
            )
            for slave in self._feeding.slaves()
        ]
        return HaRuntimeInfo(
            ha_connection_info=slaves,
            in_sync_slave_nums=sum(slave.in_sync for slave in slaves),
            master_commit_log_max_offset=end,
        )

    def _counts(self, slave: FedSlave, end: int) -> bool:
        """Whether `slave` is in sync, while the log ends at `end`."""
        return end - slave.acknowledged < self._behind_bytes_max

    @serves(ExchangeBrokerHaInfo)
    def ha_address(self, fields: ExchangeBrokerHaInfo, call: Call) -> ExchangeBrokerHaAnswer:
        """What a slave of an acting group asks before it serves anybody."""
        if fields.master_ha_address:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"this broker is a master itself, it does not follow {fields.master_ha_address}",
            )
        identity = self._identity
        return ExchangeBrokerHaAnswer(identity.address, identity.replication_address, self._end_at_start)

    def periodic(self) -> Sequence[Periodic]:
        """Heartbeats, what is left to send, and whether enough slaves are in sync."""
        return (Periodic(LOOK_SECONDS, self._look, "replication"),)

    def _look(self) -> None:
        self._feeding.look()
        self._heard()

    async def start(self) -> None:
        """Open the replication port. Raises `OSError` when it cannot be used."""
        await self._feeding.start(self._host, self._port)
        self._identity.replication_port = self._feeding.port
        self._heard()

    def answer_waiting(self) -> None:
        """Those who wait for slaves are answered that these did not get it in time."""
        self._store.give_up_copies()

    async def stop(self) -> None:
        """Close the replication port."""
        await self._feeding.stop()

    def abandon(self) -> None:
        """Close the replication port at once."""
        self._feeding.abandon()

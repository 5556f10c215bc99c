"""The replication port of a broker: slaves copy its log there (replication.md §1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.clock import Clock
from mqframe.core.cluster.broker_info import HaConnectionInfo, HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal, StoreUnavailable
from mqframe.core.measuring.family import Family, Metric, MetricKind, one
from mqframe.core.requests.admin import ExchangeBrokerHaAnswer, ExchangeBrokerHaInfo, GetBrokerHaStatus
from mqframe.core.requests.serving import Call, serves
from mqframe.core.storage.record import decode_record
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_replication.rules.admission import Home
from mqframe_replication.rules.feed import FeedLimits
from mqframe_replication.rules.hello import PROTOCOL
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import ASYNC_MASTER, OFF
from mqframe_replication.stream.feed_rules import FeedRules
from mqframe_replication.stream.feeding import SLAVES_MAX, FedSlave, Feeding
from mqframe_replication.stream.slave_admission import SlaveAdmission

log: Final = get_logger("replication")
LOOK_SECONDS: Final = 0.1
"""As in Apache RocketMQ: what no request has brought is sent so much later at most."""


class RefusalNotes:
    """Says in the log that no messages are taken, as copies are missing, and that they are again."""

    def __init__(self, clock: Clock) -> None:
        self._refuses = Trouble(log, clock.monotonic)

    def note(self, refusal: StoreUnavailable | None) -> None:
        """Why none are taken at the moment; `None`: they are."""
        if refusal is not None:
            self._refuses.note("no messages are taken", reason=str(refusal))
        else:
            self._refuses.over("messages are taken again")


class ReplicationPort(BrokerPart):
    """Feeds all slaves, by `rules`; whoever makes it has it `look` from time to time.

    `is_in_sync`: whether a slave is, while the log ends at an offset. `push`: sends what was appended.
    `enforce`: takes only those slaves whom access control lets.
    """

    def __init__(
        self,
        sections: BrokerSections,
        state: BrokerState,
        rules: FeedRules,
        is_in_sync: Callable[[FedSlave, int], bool],
    ) -> None:
        settings, broker = replication_of(sections), sections.broker
        self._host = broker.host
        port = settings.port
        self._port = (broker.port + 1 if broker.port else 0) if port is None else port
        self._identity = state.identity
        self._clock = state.clock
        self._store = state.store
        self._end_at_start = state.store.log.max_offset
        self._is_in_sync = is_in_sync
        limits = FeedLimits(
            settings.batch_bytes,
            sections.store.commit_log_file_bytes,
            settings.heartbeat_ms / 1000,
            settings.silent_ms / 1000,
            settings.bytes_per_second_max if settings.flow_control else None,
            settings.gather_ms / 1000 if settings.role == ASYNC_MASTER else 0,
        )
        home = Home(broker.cluster, broker.name, settings.id, limits.file_bytes)
        admission = SlaveAdmission(home, settings.hello)
        self.enforce = admission.enforce
        self._feeding = Feeding(state.store.log, state.clock, limits, rules, admission)
        if settings.tls != OFF:
            self._feeding.secure(sections.net)
        self.push = self._feeding.push
        self.look = self._feeding.look
        self.slaves = self._feeding.slaves
        self.acknowledged = self._feeding.acknowledged
        self.tables_copied: dict[str, float] = {}
        """When, by the monotonic clock, tables were asked for the last time, by host."""

    @property
    def log_end(self) -> int:
        """Log offset behind the last record, bytes."""
        return self._store.log.max_offset

    def note_copied(self, host: str) -> None:
        """A slave at `host` has come to the last of the tables that it copies."""
        if host in self.tables_copied or len(self.tables_copied) < SLAVES_MAX:
            self.tables_copied[host] = self._clock.monotonic()

    def counters(self) -> Mapping[str, str]:
        """The replication port, what it speaks, how many slaves follow, how far each is behind, bytes."""
        end = self._store.log.max_offset
        slaves = self._feeding.slaves()
        behind = " ".join(f"{slave.address}:{end - slave.acknowledged}" for slave in slaves)
        return {
            "replicationPort": str(self._feeding.port),
            "replicationProtocol": str(PROTOCOL),
            "replicationSlaves": str(len(slaves)),
            "replicationBehindBytes": behind,
        }

    async def metrics(self) -> Sequence[Metric]:
        """How many slaves follow, and how far each is behind; several of one machine are one series."""
        end, now = self._store.log.max_offset, self._clock.now_ms()
        sizes = Family(
            "mqframe_replication_behind_bytes",
            MetricKind.GAUGE,
            "Bytes of the log not confirmed.",
            ("slave",),
            max,
        )
        ages = Family(
            "mqframe_replication_behind_milliseconds",
            MetricKind.GAUGE,
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
        count = one("mqframe_replication_slaves", MetricKind.GAUGE, "Slaves that are connected.", len(slaves))
        return count, sizes, ages

    def _stored_ms(self, offset: int) -> int | None:
        """When the record at log offset `offset` was stored; `None` when none begins there."""
        record = self._store.search.record_at(offset, unconfirmed=True)
        return None if record is None else decode_record(record).store_timestamp

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        end = self._store.log.max_offset
        slaves = [
            HaConnectionInfo(
                addr=slave.address,
                diff=end - slave.acknowledged,
                in_sync=self._is_in_sync(slave, end),
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

    async def start(self) -> None:
        """Open it. Raises `OSError` when it cannot be used."""
        await self._feeding.start(self._host, self._port)
        self._identity.replication_port = self._feeding.port

    def answer_waiting(self) -> None:
        """Those who wait for slaves are answered that these did not get it in time."""
        self._store.confirming.give_up_copies()

    async def stop(self) -> None:
        """Close it."""
        await self._feeding.stop()

    def abandon(self) -> None:
        """Close it at once."""
        self._feeding.abandon()

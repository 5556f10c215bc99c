"""A master: slaves copy its log; the sends of a SYNC_MASTER wait for them (replication.md §1, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaConnectionInfo, HaRuntimeInfo
from mqframe.core.measuring.family import Family, Kind, Metric, one
from mqframe.core.replication.feed import FeedLimits
from mqframe.core.requests.admin import GetBrokerHaStatus
from mqframe.core.requests.serving import Call, serves
from mqframe.core.storage.record import decode_record
from mqframe.hooks.interfaces import Periodic
from mqframe.replication.confirmed import ReplicaLimits, ReplicaWaits
from mqframe.replication.feeding import Feeding
from mqframe.replication.settings import ASYNC_MASTER, SYNC_MASTER

LOOK_SECONDS: Final = 0.1
"""As in Apache RocketMQ: what no request has brought is sent so much later at most."""


class MasterPart(BrokerPart):
    """The replication port, and those who wait for slaves.

    `waits`: `None` for an ASYNC_MASTER. `push`: sends what was appended.
    """

    def __init__(self, sections: BrokerSections, state: BrokerState) -> None:
        settings, broker = sections.replication, sections.broker
        self._host = broker.host
        port = settings.port
        self._port = (broker.port + 1 if broker.port else 0) if port is None else port
        self._identity = state.identity
        self._clock = state.clock
        self._end = state.store
        self._behind_bytes_max = settings.behind_bytes_max
        limits = FeedLimits(
            settings.batch_bytes,
            sections.store.commit_log_file_bytes,
            settings.heartbeat_ms / 1000,
            settings.silent_ms / 1000,
            settings.gather_ms / 1000 if settings.role == ASYNC_MASTER else 0,
        )
        self._feeding = Feeding(state.store, state.clock, limits, self._reported)
        self.push = self._feeding.push
        self.waits: ReplicaWaits | None = None
        if settings.role == SYNC_MASTER:
            asked = ReplicaLimits(settings.in_sync - 1, settings.timeout_ms / 1000, settings.behind_bytes_max)
            self.waits = ReplicaWaits(state.clock, asked, self._feeding.acknowledged)

    def _reported(self) -> None:
        if self.waits is not None:
            self.waits.settle()

    def counters(self) -> Mapping[str, str]:
        """The replication port, how many slaves follow, and how far each is behind, bytes."""
        end = self._end.max_offset
        slaves = self._feeding.slaves()
        behind = " ".join(f"{slave.address}:{end - slave.acknowledged}" for slave in slaves)
        return {
            "replicationPort": str(self._feeding.port),
            "replicationSlaves": str(len(slaves)),
            "replicationBehindBytes": behind,
        }

    async def metrics(self) -> Sequence[Metric]:
        """How many slaves follow, and how far each is behind; several of one machine are one series."""
        end, now = self._end.max_offset, self._clock.now_ms()
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
        return count, sizes, ages

    def _stored_ms(self, offset: int) -> int | None:
        """When the record at log offset `offset` was stored; `None` when none begins there."""
        record = self._end.record_at(offset, unconfirmed=True)
        return None if record is None else decode_record(record).store_timestamp

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        end = self._end.max_offset
        slaves = [
            HaConnectionInfo(
                addr=slave.address,
                diff=end - slave.acknowledged,
                in_sync=end - slave.acknowledged < self._behind_bytes_max,
                slave_ack_offset=slave.acknowledged,
                transfer_from_where=slave.following,
            )
            for slave in self._feeding.slaves()
        ]
        return HaRuntimeInfo(
            ha_connection_info=slaves,
            in_sync_slave_nums=sum(slave.in_sync for slave in slaves),
            master_commit_log_max_offset=end,
        )

    def periodic(self) -> Sequence[Periodic]:
        """Heartbeats, what is left to send, and time limits."""
        return (Periodic(LOOK_SECONDS, self._look, "replication"),)

    def _look(self) -> None:
        self._feeding.look()
        if self.waits is not None:
            self.waits.expire()

    async def start(self) -> None:
        """Open the replication port. Raises `OSError` when it cannot be used."""
        await self._feeding.start(self._host, self._port)
        self._identity.replication_port = self._feeding.port

    def answer_waiting(self) -> None:
        """Sends that wait for slaves are answered that these did not get them in time."""
        if self.waits is not None:
            self.waits.give_up()

    async def stop(self) -> None:
        """Close the replication port."""
        await self._feeding.stop()

    def abandon(self) -> None:
        """Close the replication port at once."""
        self._feeding.abandon()

"""A slave: it copies the log and the tables of its master, serves readers, and refuses writes.

What it checks before it follows finds logs that differ, and what its own log lacks, which the stream itself
does not (replication.md §1.5, §1.6).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from mqframe.broker.cluster.registration import MasterPlace
from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaClientRuntimeInfo, HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.config.programs import STANDARD_SERVICES
from mqframe.core.errors import MqframeError, Refusal, RetryError, StoreError
from mqframe.core.measuring.family import Metric, MetricKind, one
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.admin import ExchangeBrokerHaInfo, GetAllDelayOffset, GetBrokerHaStatus
from mqframe.core.requests.lasting import AtSlaves
from mqframe.core.requests.serving import Answer, Call, Handler, serves
from mqframe.hooks.interfaces import Periodic
from mqframe.net.access.access import Access
from mqframe.net.client import Client
from mqframe.store.files.layout import Layout
from mqframe.store.upkeep.cuts import cuts
from mqframe_replication.broker.behind_log import BehindLog
from mqframe_replication.broker.comparison import LogsDiffer
from mqframe_replication.broker.cutting_back import CuttingBack
from mqframe_replication.broker.file_copy import COPY_SECONDS, FileCopy
from mqframe_replication.broker.followed_master import FollowedMaster, MasterUnknown, copy_of
from mqframe_replication.broker.tables import CopiedTables
from mqframe_replication.rules.following import FollowLimits
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import CUT
from mqframe_replication.stream.fetching import fetch
from mqframe_replication.stream.follower import MasterFollower


def refused_at_slaves(
    handlers: Mapping[int, Handler], refuses_readers: Callable[[], bool] = lambda: False
) -> dict[int, Handler]:
    """`handlers`, with refusals for what a slave does not serve (`Request.AT_SLAVES`).

    `refuses_readers`: whether a pull that comes now is refused.
    """
    readers = {
        code: _unless(refuses_readers, handler)
        for code, handler in handlers.items()
        if code in REQUESTS and REQUESTS[code].AT_SLAVES is AtSlaves.PULLS
    }
    return {**handlers, **refusals("this broker is a slave"), **readers}


def refusals(because: str) -> dict[int, Handler]:
    """The refusals of `refused_at_slaves` alone, which say `because`."""
    return {
        code: _refusing(kind.AT_SLAVES.code, f"{because}: {kind.AT_SLAVES.why}")
        for code, kind in REQUESTS.items()
        if kind.AT_SLAVES.refuses
    }


def _unless(refuses: Callable[[], bool], serve: Handler) -> Handler:
    refuse = _refusing(
        AtSlaves.PULLS.code,
        f"[REJECTREQUEST] replication.slave_reads (slaveReadEnable) is false; {AtSlaves.PULLS.why}",
    )
    return lambda call: refuse(call) if refuses() else serve(call)


def _refusing(code: ResponseCode, why: str) -> Handler:
    def refuse(call: Call) -> None:
        raise Refusal(code, why)

    return refuse


class SlavePart(BrokerPart):
    """Finds `master`, compares logs, follows, and copies tables."""

    def __init__(
        self,
        sections: BrokerSections,
        state: BrokerState,
        client: Client,
        master: FollowedMaster,
    ) -> None:
        self._settings = settings = replication_of(sections)
        self._store = state.store
        self._copy = copy_of(state.store)
        self._clock = state.clock
        self._live = state.live
        self._master = master
        self._behind = BehindLog(state.store, client)
        copies = state.plugins.slave_copies(STANDARD_SERVICES, state)
        tables = [table for each in copies for table in each.tables()]
        self._tables = CopiedTables(state, client, self._behind, tables)
        files = [file for each in copies for file in each.files()]
        self._files = [FileCopy(file, state, client, self._behind) for file in files]
        limits = FollowLimits(settings.heartbeat_ms / 1000, settings.silent_ms / 1000)
        self._follower = MasterFollower(self._copy, state.clock, limits, master.dialer, master.rules)
        self._next_try = 0.0
        self._cuts = len(cuts(Layout(self._store.settings.directory)))
        self._trouble = "the broker has just started"

    def enforce(self, access: Access) -> None:
        """Say to masters who this is, signed as other requests of `access` are."""
        self._master.enforce(access)

    def follow_anew(self) -> None:
        """Leave the master; another one is looked for at the next look."""
        self._follower.close()
        self._next_try = 0.0

    @property
    def cutting_back(self) -> CuttingBack | None:
        """What cuts this log where it differs; `None`: nothing does by itself."""
        return self._master.cutting_back

    @property
    def is_following(self) -> bool:
        """Whether the master is followed."""
        return self._follower.is_following

    def refuses_readers(self) -> bool:
        """Whether readers are to go to the master, which is there."""
        return self._live.replication.slave_reads is False and self.is_following

    @property
    def log_end(self) -> int:
        """Log offset behind the last record here, bytes."""
        return self._store.log.max_offset

    @property
    def known_end(self) -> int:
        """Up to where the master's log went, as far as this process ever heard, bytes."""
        return max(self._master.known_end, self._follower.heard_end)

    @property
    def tables_copied_ms(self) -> int:
        """When the master's tables were copied the last time, all of them; 0: never."""
        return self._tables.copied_ms

    async def look_for_master(self) -> str:
        """Where the master is, "host:port", asked for now; empty: nobody knows one."""
        try:
            return (await self._master.find()).address
        except MasterUnknown:
            return ""

    async def copy_tables(self, address: str) -> list[str]:
        """Take over the tables of the broker at `address`; the requests that failed."""
        return await self._tables.copy(address)

    @property
    def trouble(self) -> str:
        """Why the master is not followed, or nothing of it stored; empty while all is well."""
        follower = self._follower
        return follower.unstored or ("" if self.is_following else follower.trouble or self._trouble)

    def counters(self) -> Mapping[str, str]:
        """Whether the master is followed, and why not; how much of the log is missing, and was cut off."""
        return {
            "replicationFollows": str(self.is_following).lower(),
            "replicationTrouble": self.trouble,
            "replicationTablesTrouble": self._tables.trouble,
            "replicationMissing": str(len(self._copy.missing.reports())),
            "replicationCuts": str(self._cuts),
        }

    async def metrics(self) -> Sequence[Metric]:
        """Whether the master is followed, and whether what it sends is stored; why not is in the counters."""
        refuses = float(bool(self._follower.unstored or self._store.disk.refusal))
        refusing, following = "1: what the master sends cannot be stored.", float(self.is_following)
        return (
            one("mqframe_replication_following", MetricKind.GAUGE, "1: the master is followed.", following),
            one("mqframe_replication_refusing", MetricKind.GAUGE, refusing, refuses),
        )

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        follower = self._follower
        client = HaClientRuntimeInfo(
            activated=self.is_following,
            last_read_timestamp=follower.heard_ms,
            last_write_timestamp=follower.reported_ms,
            master_addr=self._followed_address(),
            max_offset=self._store.log.max_offset,
            transferred_byte_in_second=follower.received.last(self._clock.monotonic()),
        )
        return HaRuntimeInfo(ha_client_runtime_info=client, master=False)

    def _followed_address(self) -> str | None:
        try:
            return self._master.place().replication_address
        except StoreError:
            return None

    @serves(ExchangeBrokerHaInfo)
    def ha_address(self, fields: ExchangeBrokerHaInfo, call: Call) -> None:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            "this slave finds its master by name servers, or by replication.master (haMasterAddress); it does"
            " not act for it, so set enableSlaveActingMaster=false at the brokers of this name",
        )

    @serves(GetAllDelayOffset)
    def saved_offsets(self, fields: GetAllDelayOffset, call: Call) -> Answer:
        return self._tables.delays()

    def periodic(self) -> Sequence[Periodic]:
        """Reports, new connections, and copies of tables."""
        return (
            Periodic(self._master.times.look, self._look, "replication"),
            Periodic(self._master.times.tables, self._copy_tables, "tables of the master"),
            Periodic(COPY_SECONDS, self._copy_files, "files of the master"),
        )

    async def _look(self) -> None:
        self._follower.look()
        self._behind.settle()
        now = self._clock.monotonic()
        if self.is_following or now < self._next_try:
            return
        self._next_try = now + self._follower.pause(self._master.times.retry)
        try:
            if refusal := self._store.disk.refusal:
                # To connect would be to have the master count on what cannot come.
                raise StoreError(f"nothing is copied, for this broker cannot store: {refusal}")
            await self._follow(await self._master.find())
        except MqframeError as problem:
            may_pass = isinstance(problem, RetryError | MasterUnknown)
            self._follower.note_trouble(str(problem), may_pass=may_pass)
            self._trouble, self._follower.trouble = str(problem), ""
            cutting_back = self.cutting_back if self._settings.diverged == CUT else None
            if isinstance(problem, LogsDiffer) and cutting_back is not None:
                self._trouble += await cutting_back.begin(self._master.place().address)

    async def _follow(self, master: MasterPlace) -> None:
        address = master.replication_address
        await self._master.choose_hello(master)
        # First of all: what the master says from now on is of the process at the other end, or that is gone.
        welcome = await self._follower.connect(address)
        try:
            await self._master.compare(master, welcome)
            await self._tables.copy(master.address)
            await self._tables.tell(master.address)
            await self._mend(address)
            self._follower.begin()
        finally:
            if not self._follower.is_following:
                self._follower.close()
        self._trouble = ""

    async def _mend(self, address: str) -> None:
        """Fetch what was taken out of the middle of the log. Raises `StoreError`, or as `fetch`."""
        silent = self._settings.silent_ms / 1000
        while needed := self._copy.missing.needed():
            report = needed[0]
            data = await fetch(self._clock, address, (report.start, report.end), silent, self._master.dialer)
            self._copy.missing.put_back(report, data)

    async def _copy_tables(self) -> None:
        with contextlib.suppress(StoreError):  # it is not known where the master is
            master = self._master.place()
            await self._tables.copy(master.address)
            if self.is_following:  # else its log may be another one
                await self._tables.tell(master.address)

    async def _copy_files(self) -> None:
        for each in self._files if self.is_following else ():
            with contextlib.suppress(StoreError):  # name servers know no master any more, as after a demotion
                await each.copy(self._master.place().address)

    async def stop(self) -> None:
        """Leave the master."""
        self._follower.close()
        self._behind.settle()
        for each in self._files:
            await each.save()

    def abandon(self) -> None:
        """Leave the master at once."""
        self._follower.close()

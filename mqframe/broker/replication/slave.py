"""A slave: it copies the log and the tables of its master, serves readers, and refuses writes.

What it checks before it follows finds logs that differ, and what its own log lacks, which the stream itself
does not (replication.md §1.5, §1.6).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, cast

from mqframe.broker.cluster.registration import MasterPlace, NameServerRegistration
from mqframe.broker.replication.comparison import Comparison, LogsDiffer
from mqframe.broker.replication.tables import CopiedTables
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaClientRuntimeInfo, HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MqframeError, Refusal, StoreError
from mqframe.core.measuring.family import Kind, Metric, one
from mqframe.core.replication.following import FollowLimits
from mqframe.core.requests import Request
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    GetAllDelayOffset,
    GetBrokerHaStatus,
    InvokeBrokerToResetOffset,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateSubscriptionGroupList,
    UpdateAndCreateTopic,
    UpdateAndCreateTopicList,
)
from mqframe.core.requests.insight import UpdateAndGetGroupForbidden
from mqframe.core.requests.messages import (
    ConsumerSendMsgBack,
    EndTransaction,
    RecallMessage,
    SendBatchMessage,
    SendHalfBatch,
    SendMessage,
    SendMessageV2,
)
from mqframe.core.requests.pop import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    PopMessage,
    SetMessageRequestMode,
)
from mqframe.core.requests.serving import Answer, Call, Handler, serves
from mqframe.hooks.interfaces import Periodic
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.replication.fetching import fetch
from mqframe.replication.follower import Follower
from mqframe.replication.settings import CUT, ReplicationSettings
from mqframe.store.files.layout import Layout
from mqframe.store.replica_store import ReplicaStore
from mqframe.store.upkeep.cutting import cut_log, cuts

log = get_logger("replication")
LOOK_SECONDS: Final = 1.0
_OF_CLIENTS: Final[tuple[type[Request], ...]] = (
    SendMessage,
    SendMessageV2,
    SendBatchMessage,
    SendHalfBatch,
    RecallMessage,
    ConsumerSendMsgBack,
    EndTransaction,
    PopMessage,
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
)
_OF_OPERATORS: Final[tuple[type[Request], ...]] = (
    UpdateAndCreateTopic,
    UpdateAndCreateTopicList,
    DeleteTopicInBroker,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateSubscriptionGroupList,
    DeleteSubscriptionGroup,
    InvokeBrokerToResetOffset,
    UpdateAndGetGroupForbidden,
    SetMessageRequestMode,
)


def refused_at_slaves(handlers: Mapping[int, Handler]) -> dict[int, Handler]:
    """`handlers`, with refusals for what writes messages (14) and what changes tables that are copied (1).

    The codes are those of Apache's brokers of 4.9 (replication.md §5).
    """
    return {**handlers, **refusals("this broker is a slave")}


def refusals(because: str) -> dict[int, Handler]:
    """The refusals of `refused_at_slaves` alone, which say `because`."""
    sends = _refusing(
        ResponseCode.SERVICE_NOT_AVAILABLE, f"{because}: it takes no messages; send to its master"
    )
    changes = _refusing(
        ResponseCode.SYSTEM_ERROR, f"{because}: its tables are those of its master; change them there"
    )
    return {kind.CODE: sends for kind in _OF_CLIENTS} | {kind.CODE: changes for kind in _OF_OPERATORS}


def _refusing(code: ResponseCode, why: str) -> Handler:
    def refuse(call: Call) -> None:
        raise Refusal(code, why)

    return refuse


class SlavePart(BrokerPart):
    """Finds the master by the name servers, compares logs, follows, and copies tables."""

    def __init__(
        self,
        settings: ReplicationSettings,
        state: BrokerState,
        client: Client,
        registration: NameServerRegistration,
    ) -> None:
        self._settings = settings
        self._store = cast("ReplicaStore", state.store)
        self._clock = state.clock
        self._client = client
        self._registration = registration
        self._tables = CopiedTables(state, client)
        self._comparison = Comparison(self._store, client)
        limits = FollowLimits(settings.heartbeat_ms / 1000, settings.silent_ms / 1000)
        self._follower = Follower(self._store, state.clock, limits)
        self._next_try = 0.0
        self._layout = Layout(self._store.settings.directory)
        self._cuts = len(cuts(self._layout))
        self.reopen: Callable[[Callable[[], Awaitable[object]]], object] | None = None
        """Stops the broker, does something without it, and starts it again; `None` where nobody can."""
        self._trouble = "the broker has just started"

    @property
    def is_following(self) -> bool:
        """Whether the master is followed."""
        return self._follower.is_following

    @property
    def log_end(self) -> int:
        """Log offset behind the last record here, bytes."""
        return self._store.max_offset

    @property
    def known_end(self) -> int:
        """Up to where the master's log went, as far as this process ever heard, bytes."""
        return max(self._comparison.end, self._follower.heard_end)

    @property
    def tables_copied_ms(self) -> int:
        """When the master's tables were copied the last time, all of them; 0: never."""
        return self._tables.copied_ms

    async def look_for_master(self) -> str:
        """Where name servers know a master of this name, "host:port", asked now; empty: nowhere."""
        await self._registration.announce()
        master = self._registration.master
        return "" if master is None else master.address

    async def copy_tables(self, address: str) -> list[str]:
        """Take over the tables of the broker at `address`; the requests that failed."""
        return await self._tables.copy(address)

    @property
    def trouble(self) -> str:
        """Why the master is not followed; empty while it is."""
        return "" if self.is_following else self._follower.trouble or self._trouble

    def counters(self) -> Mapping[str, str]:
        """Whether the master is followed, and why not; how much of the log is missing, and was cut off."""
        return {
            "replicationFollows": str(self.is_following).lower(),
            "replicationTrouble": self.trouble,
            "replicationMissing": str(len(self._store.missing())),
            "replicationCuts": str(self._cuts),
        }

    async def metrics(self) -> Sequence[Metric]:
        """Whether the master is followed; the rest is in the counters."""
        following = float(self.is_following)
        return (one("mqframe_replication_following", Kind.GAUGE, "1: the master is followed.", following),)

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        master = self._registration.master
        follower = self._follower
        client = HaClientRuntimeInfo(
            activated=self.is_following,
            last_read_timestamp=follower.heard_ms,
            last_write_timestamp=follower.reported_ms,
            master_addr=self._settings.master or (master.replication_address if master else None),
            max_offset=self._store.max_offset,
        )
        return HaRuntimeInfo(ha_client_runtime_info=client, master=False)

    @serves(GetAllDelayOffset)
    def saved_offsets(self, fields: GetAllDelayOffset, call: Call) -> Answer:
        return self._tables.delays()

    def periodic(self) -> Sequence[Periodic]:
        """Reports, new connections, and copies of tables."""
        return (
            Periodic(LOOK_SECONDS, self._look, "replication"),
            Periodic(self._settings.tables_interval_ms / 1000, self._copy_tables, "tables of the master"),
        )

    async def _look(self) -> None:
        self._follower.look()
        now = self._clock.monotonic()
        if self.is_following or now < self._next_try:
            return
        self._next_try = now + self._settings.retry_ms / 1000
        if self._registration.master is None:
            await self._registration.announce()  # the next one by itself may be half a minute away
        master = self._registration.master
        try:
            if master is None:
                raise StoreError("no name server knows a master of this broker's name")
            await self._follow(master)
        except MqframeError as problem:
            if str(problem) != self._trouble:
                log.error("the master is not followed", problem=str(problem))
            self._trouble, self._follower.trouble = str(problem), ""
            if isinstance(problem, LogsDiffer) and master is not None and self._settings.diverged == CUT:
                await self._cut_back(master.address)

    async def _cut_back(self, master: str) -> None:
        """Have the log cut back to what `master` has of it, and the broker started on that."""
        if self.reopen is None:
            self._trouble += ". It is not cut back: this broker runs in a program of its own"
            return
        try:
            end = await self._comparison.last_common(master)
        except MqframeError as problem:
            self._trouble = f"the logs differ, and it is not known from where on: {problem}"
            return
        if end is None:
            self._trouble += ". They have no record in common: start this broker with an empty store"
            return

        async def cut() -> None:
            why = f"it differed from {master}"
            cut_log(self._layout.root, end, why=why, now_ms=self._clock.now_ms())

        log.warning("the log is cut back to what the master has of it", master=master, offset=end)
        self.reopen(cut)

    async def _follow(self, master: MasterPlace) -> None:
        address = self._settings.master or master.replication_address
        # First of all: what the master says from now on is of the process at the other end, or that is gone.
        await self._follower.connect(address)
        try:
            await self._comparison.compare(master.address)
            await self._copy_tables()
            await self._mend(address)
            self._follower.begin()
        finally:
            if not self._follower.is_following:
                self._follower.close()
        log.info("a master is followed", master=address, offset=self._store.max_offset)
        self._trouble = ""

    async def _mend(self, address: str) -> None:
        """Fetch what was taken out of the middle of the log. Raises `StoreError`, or as `fetch`."""
        silent = self._settings.silent_ms / 1000
        while needed := self._store.needed():
            report = needed[0]
            data = await fetch(self._clock, address, (report.start, report.end), silent)
            self._store.put_back(report, data)

    async def _copy_tables(self) -> None:
        master = self._registration.master
        if master is not None:
            await self._tables.copy(master.address)

    async def stop(self) -> None:
        """Leave the master."""
        self._follower.close()

    def abandon(self) -> None:
        """Leave the master at once."""
        self._follower.close()

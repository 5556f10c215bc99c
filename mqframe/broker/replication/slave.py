"""A slave: it copies the log and the tables of its master, serves readers, and refuses writes.

What it checks before it follows finds logs that differ, which the stream itself does not
(replication.md §1.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from mqframe.broker.cluster.registration import MasterPlace, NameServerRegistration
from mqframe.broker.replication.tables import CALL_SECONDS, CopiedTables
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaClientRuntimeInfo, HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BadAnswer, MqframeError, Refusal, StoreError, answer_error
from mqframe.core.replication.following import FollowLimits
from mqframe.core.requests import Request
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    DeleteTopicInBroker,
    GetBrokerHaStatus,
    GetBrokerRuntimeInfo,
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
    ViewMessageById,
)
from mqframe.core.requests.pop import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    PopMessage,
    SetMessageRequestMode,
)
from mqframe.core.requests.serving import Call, Handler, serves
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces import Periodic
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.replication.follower import Follower
from mqframe.replication.settings import ReplicationSettings
from mqframe.store.replica_store import ReplicaStore

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
    sends = _refusing(ResponseCode.SERVICE_NOT_AVAILABLE, "it takes no messages; send to its master")
    changes = _refusing(ResponseCode.SYSTEM_ERROR, "its tables are those of its master; change them there")
    return {
        **handlers,
        **{kind.CODE: sends for kind in _OF_CLIENTS},
        **{kind.CODE: changes for kind in _OF_OPERATORS},
    }


def _refusing(code: ResponseCode, why: str) -> Handler:
    def refuse(call: Call) -> None:
        raise Refusal(code, f"this broker is a slave: {why}")

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
        limits = FollowLimits(settings.heartbeat_ms / 1000, settings.silent_ms / 1000)
        self._follower = Follower(self._store, state.clock, limits)
        self._next_try = 0.0
        self._trouble = "the broker has just started"

    @property
    def is_following(self) -> bool:
        """Whether a connection to the master is open."""
        return self._follower.is_connected

    @property
    def trouble(self) -> str:
        """Why the master is not followed; empty while it is."""
        return "" if self.is_following else self._follower.trouble or self._trouble

    def counters(self) -> Mapping[str, str]:
        """Whether the master is followed, and why not."""
        return {"replicationFollows": str(self.is_following).lower(), "replicationTrouble": self.trouble}

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
        master = self._registration.master
        try:
            if master is None:
                raise StoreError("no name server knows a master of this broker's name")
            await self._follow(master)
        except MqframeError as problem:
            if str(problem) != self._trouble:
                log.error("the master is not followed", problem=str(problem))
            self._trouble = str(problem)

    async def _follow(self, master: MasterPlace) -> None:
        await self._compare(master.address)
        await self._copy_tables()
        address = self._settings.master or master.replication_address
        await self._follower.connect(address)
        log.info("a master is followed", master=address, offset=self._store.max_offset)
        self._trouble = ""

    async def _copy_tables(self) -> None:
        master = self._registration.master
        if master is not None:
            await self._tables.copy(master.address)

    async def _compare(self, master: str) -> None:
        """Raises `StoreError` where the log here is not the beginning of the master's."""
        end = self._store.max_offset
        if not end:
            return
        answer = await self._ask(master, GetBrokerRuntimeInfo())
        table = decode(bytes(answer.body), KVTable).table
        try:
            low, high = int(table["commitLogMinOffset"]), int(table["commitLogMaxOffset"])
        except (KeyError, ValueError) as problem:
            raise BadAnswer(f"{master} does not say where its log begins and ends: {problem!r}") from None
        if end > high:
            raise StoreError(
                f"this log ends at {end}, behind that of the master {master} at {high}: they differ, or the"
                " master has lost its end. Start this broker as master if it has what was acknowledged, or"
                " with an empty store to follow"
            )
        if end < low:
            raise StoreError(
                f"this log ends at {end}, the master {master} keeps nothing before {low}: start this broker"
                " with an empty store"
            )
        last = self._store.last_record()
        if last is not None and last[0] >= low:
            there = await self._ask(master, ViewMessageById(offset=last[0]))
            if bytes(there.body) != last[1]:
                raise StoreError(
                    f"the record at log offset {last[0]} is another one at the master {master}: the logs"
                    " differ. Start this broker with an empty store to follow"
                )

    async def _ask(self, master: str, request: Request) -> Frame:
        answer = await self._client.invoke(master, request, timeout=CALL_SECONDS)
        if answer.code:
            raise answer_error(answer.code, answer.remark, master)
        return answer

    async def stop(self) -> None:
        """Leave the master."""
        self._follower.close()

    def abandon(self) -> None:
        """Leave the master at once."""
        self._follower.close()

"""Changes of a broker's role by operators: what stands against them, and the order of the steps.

A demotion comes first: the master takes and writes nothing more, its slaves get the rest of its log, and it
becomes a slave. Then one of them is promoted. So no two masters take messages, and none is lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import attrs
from mqframe_admin.requests import GetBrokerConfig
from mqframe_admin.rules.role_change import RoleChange

from mqframe.broker.roles.group_role import Quiesce
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BadAnswer, MqframeError, Refusal, SettingError
from mqframe.core.requests import Request
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.requests.roles import DemoteBroker, PromoteBroker
from mqframe.core.requests.serving import Answer, Call, Handler, serves
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe_replication.broker.asking import ask
from mqframe_replication.broker.port import ReplicationPort
from mqframe_replication.broker.slave import SlavePart, refusals
from mqframe_replication.settings import ASYNC_MASTER, SLAVE, SYNC_MASTER, ReplicationSettings

log = get_logger("replication")
OWN_PROGRAM: Final = "this broker runs in a program of its own, which says what its role is"
WAIT_MS_MAX: Final = 600_000
_LOOK_SECONDS: Final = 0.05
_NEAR_BYTES: Final = 1 << 20
"""So far slaves may be behind when a master stops to take messages: fractions of a second."""


class RoleChanger(Protocol):
    """What makes a broker anew in another role: as `RoleByOperator`."""

    @property
    def trouble(self) -> str:
        """Why the last change failed; empty when it did not."""

    @property
    def changed_ms(self) -> int:
        """When operators changed the role the last time; 0: they did not."""

    def check(self, replication: ReplicationSettings) -> None:
        """Raises `SettingError` where the broker cannot have this role."""

    def change_soon(
        self, replication: ReplicationSettings, between: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        """Stop the broker, and start it in this role, from the next turn of the loop on.

        `between`: what is done while nobody has the directory; then the role is not one to keep.
        """


class RolePart(BrokerPart):
    """Serves operators who change the role of this broker, which is `part` of its replication.

    Until `let` was called, as in a program that has a broker of its own, the role stays what it is; `fixed`
    says why.
    """

    def __init__(
        self,
        replication: ReplicationSettings,
        part: BrokerPart,
        client: Client,
        state: BrokerState,
        fixed: str = OWN_PROGRAM,
    ) -> None:
        self._fixed = fixed
        self._replication: Any = replication
        self._part = part
        self._client = client
        self._clock, self._store = state.clock, state.store
        self._changer: RoleChanger | None = None
        self._quiesce: Quiesce | None = None
        self._under_way = False

    def let(self, changer: RoleChanger, quiesce: Quiesce) -> None:
        """Change the role by `changer`. `quiesce`: takes no more messages, and writes none."""
        self._changer, self._quiesce = changer, quiesce
        cutting_back = self._part.cutting_back if isinstance(self._part, SlavePart) else None
        if cutting_back is not None:
            cutting_back.reopen = partial(changer.change_soon, self._replication)

    def counters(self) -> Mapping[str, str]:
        """When operators changed the role, and why the last change failed."""
        changer = self._changer
        if changer is None:
            return {}
        return {"roleChangedMs": str(changer.changed_ms), "roleTrouble": changer.trouble}

    def _begin(self, replication: ReplicationSettings) -> RoleChanger:
        if self._changer is None:
            raise _refusal(self._fixed)
        if self._under_way:
            raise _refusal("the role is being changed already")
        try:
            self._changer.check(replication)
        except SettingError as problem:
            raise _refusal(str(problem)) from None
        return self._changer

    # From master to slave

    @serves(DemoteBroker)
    async def demote(self, fields: DemoteBroker, call: Call) -> Answer:
        if isinstance(self._part, SlavePart):
            raise _refusal("this broker is a slave already")
        if not (0 <= fields.wait_ms <= WAIT_MS_MAX and 0 <= fields.tables_ms <= WAIT_MS_MAX):
            raise _refusal(f"waits are 0 to {WAIT_MS_MAX} ms")
        wanted = attrs.evolve(self._replication, role=SLAVE, id=fields.id)
        changer = self._begin(wanted)
        self._under_way = True
        try:
            return await self._demote(fields, changer, wanted)
        finally:
            self._under_way = False

    async def _demote(
        self, fields: DemoteBroker, changer: RoleChanger, wanted: ReplicationSettings
    ) -> RoleChange:
        assert self._quiesce is not None
        master = self._part if isinstance(self._part, ReplicationPort) else None
        objections = [] if master is not None and await self._near(master, fields) else [_nobody(master)]
        if master is not None and fields.tables_ms:
            # Messages are taken all the while: slaves of RocketMQ may take a minute.
            objections += await self._without_tables(master, fields.tables_ms)
        if objections and not fields.force:
            raise _refusal("; ".join(objections))
        log.warning("this broker stops to take messages, to become a slave", id=fields.id)
        await self._quiesce(refusals("this broker is about to be a slave"))
        if master is not None and master.slaves():
            objections += await self._handed_over(master, fields)
        if objections and not fields.force:
            log.error("the broker stays master", problem=objections)
            changer.change_soon(self._replication)
            raise _refusal("; ".join(objections))
        changer.change_soon(wanted)
        slaves = [] if master is None else [f"{each.address}:{each.acknowledged}" for each in master.slaves()]
        return RoleChange(fields.id, self._store.log.max_offset, objections, SLAVE, slaves)

    async def _near(self, master: ReplicationPort, fields: DemoteBroker) -> bool:
        """Wait until a slave is near; whether one is."""
        return await self._until(
            lambda: any(master.log_end - each.acknowledged <= _NEAR_BYTES for each in master.slaves()),
            fields.wait_ms,
            only_while=lambda: bool(master.slaves()),
        )

    async def _without_tables(self, master: ReplicationPort, wait_ms: int) -> list[str]:
        """Wait until all slaves have copied tables from now on; what stands against going on."""
        begun = self._clock.monotonic()

        def late() -> list[str]:
            hosts = {each.address.rpartition(":")[0] for each in master.slaves()}
            return sorted(host for host in hosts if master.tables_copied.get(host, -1.0) < begun)

        if await self._until(lambda: not late(), wait_ms):
            return []
        return [f"tables were not copied within {wait_ms} ms by {', '.join(late())}"]

    async def _handed_over(self, master: ReplicationPort, fields: DemoteBroker) -> list[str]:
        """Wait until slaves have all; what stands against going on."""
        end = master.log_end
        master.push()
        if not await self._until(
            lambda: bool(master.slaves()) and all(each.acknowledged >= end for each in master.slaves()),
            fields.wait_ms,
        ) and not any(each.acknowledged >= end for each in master.slaves()):
            least = min((end - each.acknowledged for each in master.slaves()), default=end)
            return [f"no slave has the whole log within {fields.wait_ms} ms: the nearest lacks {least} bytes"]
        return []

    async def _until(
        self, done: Callable[[], bool], wait_ms: int, only_while: Callable[[], bool] = lambda: True
    ) -> bool:
        deadline = self._clock.monotonic() + wait_ms / 1000
        while not done():
            if self._clock.monotonic() >= deadline or not only_while():
                return False
            await self._clock.sleep(_LOOK_SECONDS)
        return True

    # From slave to master

    @serves(PromoteBroker)
    async def promote(self, fields: PromoteBroker, call: Call) -> Answer:
        if not isinstance(self._part, SlavePart):
            raise _refusal("this broker is no slave")
        if fields.role not in (ASYNC_MASTER, SYNC_MASTER):
            raise _refusal(f"the role {fields.role!r} is none of a master: {ASYNC_MASTER}, {SYNC_MASTER}")
        wanted = attrs.evolve(self._replication, role=fields.role, id=0)
        changer = self._begin(wanted)
        self._under_way = True
        try:
            slave = self._part
            others = [each for each in fields.former.split(";") if each]
            objections = await self._objections(slave, others)
            if not objections or fields.force:
                objections += await self._copy_tables(slave, others)
            if objections and not fields.force:
                raise _refusal("; ".join(objections))
            log.warning("this slave becomes master", role=fields.role, log_end=slave.log_end)
            changer.change_soon(wanted)
            return RoleChange(0, slave.log_end, objections, fields.role)
        finally:
            self._under_way = False

    async def _objections(self, slave: SlavePart, others: Sequence[str]) -> list[str]:
        found = []
        master = await slave.look_for_master()
        if master:
            found.append(f"name servers know a master of this name at {master}: demote or stop it first")
        elif slave.is_following:
            found.append("the master is there, and is followed: demote or stop it first")
        if slave.known_end > slave.log_end:
            found.append(f"the master's log went on for {slave.known_end - slave.log_end} bytes at least")
        for address in others:
            try:
                role, end = await self._role_of(address)
            except MqframeError as problem:
                log.warning("another broker of this name does not answer", problem=str(problem))
                continue
            if role != SLAVE and address != master:
                found.append(f"{address} is a master: demote or stop it first")
            if end > slave.log_end:
                found.append(
                    f"the log of {address} goes on for {end - slave.log_end} bytes, which would be lost"
                )
        return found

    async def _role_of(self, address: str) -> tuple[str, int]:
        runtime = await ask(self._client, address, GetBrokerRuntimeInfo())
        config = await ask(self._client, address, GetBrokerConfig())
        lines = bytes(config.body).decode(errors="replace").splitlines()
        roles = [line.partition("=")[2] for line in lines if line.startswith("brokerRole=")]
        try:
            return roles[0], int(decode(bytes(runtime.body), KVTable).table["commitLogMaxOffset"])
        except (IndexError, KeyError, ValueError) as problem:
            raise BadAnswer(f"{address} does not say its role and where its log ends: {problem!r}") from None

    async def _copy_tables(self, slave: SlavePart, others: Sequence[str]) -> list[str]:
        """Take over tables as they are now from the first of the others."""
        if others:
            lost = await slave.copy_tables(others[0])
            return [f"not copied from {others[0]}: {', '.join(lost)}"] if lost else []
        if slave.tables_copied_ms:
            return []
        return ["topics, groups and their progress were never copied from a master since this broker started"]


def _nobody(master: ReplicationPort | None) -> str:
    if master is None or not master.slaves():
        return "no slave is connected, so nobody has the messages that are here"
    least = min(master.log_end - each.acknowledged for each in master.slaves())
    return f"no slave is near the end of the log: the nearest lacks {least} bytes"


def _refusal(why: str) -> Refusal:
    return Refusal(ResponseCode.INVALID_PARAMETER, f"the role is not changed: {why}")


def noting_copies(
    master: ReplicationPort, handlers: Mapping[int, Handler], kind: type[Request]
) -> dict[int, Handler]:
    """`handlers`, that of `kind` such that `master` knows when and from which hosts it was asked."""
    handler = handlers[kind.CODE]

    def note(call: Call) -> Answer | Awaitable[Answer] | None:
        master.note_copied(call.peer.address.rpartition(":")[0])
        return handler(call)

    return {**handlers, kind.CODE: note}

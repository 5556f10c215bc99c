"""How the brokers that keep one log stand to each other."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import attrs

from mqframe.core.cluster.broker_info import HaRuntimeInfo
from mqframe.core.cluster.registration import MASTER_ID
from mqframe.core.cluster.route_bodies import BrokerData
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import FixError, GiveUpError, MqframeError, RetryError
from mqframe.core.requests.admin import GetBrokerHaStatus
from mqframe.core.requests.election import ForceElection, ForceElectionAnswer
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import ViewMessageById
from mqframe.core.requests.roles import DemoteBroker, PromoteBroker
from mqframe.core.storage.record import decode_record
from mqframe_admin.client.brokers import AsyncBrokerAdmin
from mqframe_admin.client.calls import AdminCalls, body_of, unless
from mqframe_admin.requests import HandOverLead, HandOverLeadAnswer
from mqframe_admin.rules.replica import ForcedElection, LeadHanded, Replica, RoleChanged, told_log_bounds
from mqframe_admin.rules.role_change import RoleChange

_CHANGE_SECONDS = 60.0
_LOOK_SECONDS = 0.1
_ROLE_TROUBLE, _ROLE_CHANGED = "roleTrouble", "roleChangedMs"
_BROKERS, _LEADER = "replicationBrokers", "replicationLeader"
_NOT_CONNECTED = "it is not connected to its master"
_TROUBLE = "replicationTrouble"
"""A counter of slaves of this project, and of elected leaders."""


class AsyncReplicaAdmin:
    """Masters and their slaves."""

    def __init__(self, calls: AdminCalls, brokers: AsyncBrokerAdmin) -> None:
        self._calls = calls
        self._brokers = brokers

    async def list(self, broker: str | None = None) -> builtins.list[Replica]:
        """All brokers by name and id, or those of the name `broker`; masters before their slaves.

        One that does not answer says so in its `trouble`. Raises `FixError` when none is registered.
        """
        table = (await self._calls.cluster_info()).broker_addr_table
        if broker is not None and broker not in table:
            known = ", ".join(sorted(table)) or "none"
            raise FixError(f"no broker named {broker} is registered; known: {known}")
        return await self._registered(table, broker)

    async def _there_now(self, broker: str) -> builtins.list[Replica]:
        """As `list`; none while roles change: between two of them a broker is not registered."""
        return await self._registered((await self._calls.cluster_info()).broker_addr_table, broker)

    async def _registered(
        self, table: Mapping[str, BrokerData], broker: str | None
    ) -> builtins.list[Replica]:
        groups = [
            [
                Replica(data.cluster, name, int(number), address)
                for number, address in sorted(data.broker_addrs.items())
            ]
            for name, data in sorted(table.items())
            if broker in (None, name)
        ]
        return list(chain.from_iterable(await asyncio.gather(*map(self._as_told, groups))))

    async def demote(
        self,
        broker: str,
        broker_id: int,
        *,
        wait_seconds: float = 30.0,
        tables_seconds: float = 0.0,
        force: bool = False,
    ) -> RoleChanged:
        """Let the master of the name `broker` become a slave with the number `broker_id`, 1 or more.

        It takes no more messages, waits until a slave has its whole log, at most `wait_seconds`, and this
        returns when it is a slave; `ready` are those to promote. `tables_seconds`: for so long it waits
        before, while it takes messages, until slaves have copied tables, which ours need not. `force`:
        whatever stands against it. Raises `FixError` when no master is registered, `AnswerError`
        where the broker stays master, `GiveUpError` when it could not change.
        """
        address = (await self._calls.masters(broker=broker))[broker]
        request = DemoteBroker(
            broker_id, wait_ms=int(wait_seconds * 1000), tables_ms=int(tables_seconds * 1000), force=force
        )
        timeout = 2 * wait_seconds + tables_seconds + _CHANGE_SECONDS
        change = await self._calls.ask(address, request, RoleChange, timeout)
        await self._until_role(address, change.role)
        others = [each for each in await self._there_now(broker) if each.address != address]
        ready = tuple(each.broker_id for each in others if each.log_end == change.log_end)
        return RoleChanged(broker, address, change.role, change.log_end, tuple(change.objections), ready)

    async def promote(
        self, broker: str, broker_id: int, *, role: str = "ASYNC_MASTER", force: bool = False
    ) -> RoleChanged:
        """Let the slave of the name `broker` with the number `broker_id` become its master, in `role`.

        Only where there is no other master, none of the other brokers of that name has more of the log, and
        tables are copied; `force`: whatever stands against it, and `objections` say what that was. Returns
        when it is master. Raises as `demote`.
        """
        group = await self.list(broker)
        slaves = {each.broker_id: each for each in group if each.broker_id != MASTER_ID}
        if broker_id not in slaves:
            known = ", ".join(map(str, slaves)) or "none"
            raise FixError(f"no slave {broker_id} of {broker} is registered; known: {known}")
        # The one with the most of the log first, and of these the one that was master last: its tables count.
        others = [each for each in group if each.broker_id != broker_id]
        since = {each.address: await self._changed_ms(each) for each in others}
        others.sort(key=lambda each: (each.log_end or 0, since[each.address]), reverse=True)
        request = PromoteBroker(role, ";".join(each.address for each in others), force)
        address = self._calls.for_operators(slaves[broker_id].address)
        change = await self._calls.ask(address, request, RoleChange, _CHANGE_SECONDS)
        await self._until_role(address, change.role)
        return RoleChanged(broker, address, change.role, change.log_end, tuple(change.objections))

    async def force_election(
        self, broker: str, broker_id: int, *, accept_loss: bool = False
    ) -> ForcedElection:
        """Have the follower `broker_id` of the elected group `broker` lead with what it has.

        For a group whose brokers in sync are gone for good: what was acknowledged, and is not in its log, is
        lost. Without `accept_loss` nothing is changed, and the answer says what that would be. Raises
        `FixError` when no such follower is registered, `AnswerError` where a leader is there, or force is not
        needed.
        """
        found = (await self._calls.cluster_info()).broker_addr_table.get(broker)
        known = {} if found is None else {n: a for n, a in found.broker_addrs.items() if n != MASTER_ID}
        if broker_id not in known:
            listed = ", ".join(map(str, sorted(known))) or "none"
            raise FixError(f"no follower {broker_id} of {broker} is registered; known: {listed}")
        address = self._calls.for_operators(known[broker_id])
        answer = await self._calls.call(address, ForceElection(accept_loss))
        told = decode_fields(answer.ext, ForceElectionAnswer)
        members = tuple(int(each) for each in told.members.split(",") if each)
        return ForcedElection(broker, address, told.epoch, told.end, told.confirmed, members)

    async def hand_over(self, broker: str, to: int = 0, *, wait_seconds: float = 5.0) -> LeadHanded:
        """Have the leader of the elected group `broker` give up the lead for broker `to`, 0: any in sync.

        It takes no messages until another one leads, and gives up once all that it has is confirmed, which
        may take `wait_seconds`. Returns when another one leads. Raises `FixError` where no leader is found,
        `AnswerError` where it leads on, and says why, `GiveUpError` where nobody leads for a long time.
        """
        before = await self._leader(await self.list(broker))
        if before is None:
            raise FixError(
                f"no leader of {broker} is there: see mqframe replica status. Roles that no election gives"
                " are changed by mqframe replica demote and promote"
            )
        request = HandOverLead(to, int(wait_seconds * 1000))
        timeout = wait_seconds + _CHANGE_SECONDS
        answer = await self._calls.call(before.address, request, timeout=timeout)
        told = decode_fields(answer.ext, HandOverLeadAnswer)
        clock = self._calls.instance.clock
        deadline = clock.monotonic() + _CHANGE_SECONDS
        while clock.monotonic() < deadline:
            now = await self._leader(await self._there_now(broker))
            if now is not None and now.epoch > told.epoch:
                return LeadHanded(broker, before.number, told.to, now.number, now.address, now.epoch)
            await clock.sleep(_LOOK_SECONDS)
        raise GiveUpError(
            f"{broker}: broker {before.number} gave up the lead for broker {told.to}, and nobody leads yet:"
            " see mqframe replica status"
        )

    async def _leader(self, group: Iterable[Replica]) -> _Leader | None:
        """Of the elected `group`, as its brokers say; `None`: none of them leads."""
        leaders = []
        for each in group:
            if each.members is not None and each.epoch is not None:
                address = self._calls.for_operators(each.address)
                with contextlib.suppress(RetryError):  # it has just ended
                    number = int((await self._brokers.runtime(address)).get(_LEADER, 0))
                    leaders.append(_Leader(each.epoch, number, address))
        return max(leaders, default=None)

    async def _changed_ms(self, replica: Replica) -> int:
        """When operators changed the role of a broker, ms; 0 where they did not, or it does not say."""
        try:
            return int(
                (await self._brokers.runtime(self._calls.for_operators(replica.address)))[_ROLE_CHANGED]
            )
        except (MqframeError, KeyError, ValueError):
            return 0

    async def _until_role(self, address: str, role: str) -> None:
        """Wait until the broker at `address` serves in `role`."""
        clock = self._calls.instance.clock
        deadline, trouble = clock.monotonic() + _CHANGE_SECONDS, ""
        while clock.monotonic() < deadline:
            try:
                config = await self._brokers.config(address)
                trouble = (await self._brokers.runtime(address)).get(_ROLE_TROUBLE, "")
            except RetryError:
                trouble = "it does not answer"
            else:
                if config.get("brokerRole") == role:
                    return
                if trouble:
                    break
            await clock.sleep(_LOOK_SECONDS)
        raise GiveUpError(f"the broker at {address} did not become {role}: {trouble or 'it takes too long'}")

    async def log_range(self, address: str) -> tuple[int, int]:
        """Where the log of the broker at `address` begins and ends, bytes. Raises `BadAnswer`."""
        return told_log_bounds(await self._brokers.runtime(address), address)

    async def stored_record(self, address: str, offset: int) -> bytes | None:
        """What the broker at `address` stores as a record at log `offset`, bytes as they lie there.

        `None` where it finds none; bytes that are no record where none begins there.
        """
        asked = self._calls.call(address, ViewMessageById(offset))
        answer = await unless((ResponseCode.SYSTEM_ERROR,), asked)
        return None if answer is None else bytes(answer.body)

    async def _as_told(self, group: Sequence[Replica]) -> builtins.list[Replica]:
        """`group`, the brokers of one name, with what they say; and those that only they know of."""
        told = await asyncio.gather(*map(self._ask_replica, group))
        told += await asyncio.gather(*map(self._ask_replica, _unregistered(told)))
        replicas = [each.replica for each in told]
        leaders = [each for each in told if each.replica.members is not None or each.leads_slaves]
        if not leaders:
            return replicas
        leader = max(leaders, key=lambda each: each.replica.epoch or 0)
        compared = []
        for each in told:
            replica = each.replica
            if each is not leader and replica.log_end is not None:
                replica = await self._compare(_as_known_there(each, leader), leader.replica)
            compared.append(replica)
        return compared

    async def _ask_replica(self, asked: Replica) -> _Told:
        if not asked.address:
            return _Told(attrs.evolve(asked, trouble="it is not there, as the others of its group know"))
        address = self._calls.for_operators(asked.address)
        try:
            runtime, config = await asyncio.gather(
                self._brokers.runtime(address), self._brokers.config(address)
            )
            status = await self._status(address)
            end = int(runtime["commitLogMaxOffset"])
        except (MqframeError, KeyError, ValueError) as problem:
            return _Told(attrs.evolve(asked, trouble=str(problem) or repr(problem)))
        found = _with_epoch(attrs.evolve(asked, role=config.get("brokerRole", ""), log_end=end), runtime)
        is_master = asked.broker_id == MASTER_ID or found.members is not None
        if status is None:
            return _Told(found, runtime, is_master)
        if is_master:
            slaves = status.ha_connection_info
            found = attrs.evolve(found, slaves=len(slaves), in_sync=sum(each.in_sync for each in slaves))
            hosts = tuple(each.addr.rpartition(":")[0] for each in slaves)
            return _Told(found, runtime, is_master, hosts)
        client = status.ha_client_runtime_info
        found = attrs.evolve(
            found,
            master=(client.master_addr or "") if client.activated else "",
            trouble=runtime.get(_TROUBLE, "" if client.activated else _NOT_CONNECTED) or _not_copied(runtime),
        )
        return _Told(found, runtime, slave_of=client.master_addr or "")

    async def _status(self, address: str) -> HaRuntimeInfo | None:
        """`None` from brokers that do not know the request."""
        asked = self._calls.call(address, GetBrokerHaStatus())
        answer = await unless((ResponseCode.REQUEST_CODE_NOT_SUPPORTED,), asked)
        return None if answer is None else body_of(answer, HaRuntimeInfo)

    async def _compare(self, slave: Replica, master: Replica) -> Replica:
        """`slave`, with how far it is behind `master`."""
        if slave.log_end is None or master.log_end is None:
            return slave
        behind = max(0, master.log_end - slave.log_end)
        since = await self._stored_ms(master, slave.log_end) if behind else None
        return attrs.evolve(slave, behind_bytes=behind, behind_since_ms=since)

    async def _stored_ms(self, master: Replica, offset: int) -> int | None:
        """When the record at `offset` of the master's log was stored; `None`: the master shows none."""
        try:
            request = ViewMessageById(offset, mqframe_unconfirmed=True)
            answer = await self._calls.call(self._calls.for_operators(master.address), request)
        except MqframeError:
            return None
        return decode_record(bytes(answer.body)).store_timestamp


class _Leader(NamedTuple):
    """Of an elected group, by `number`, at `address`."""

    epoch: int
    number: int
    address: str


class _Told(NamedTuple):
    """A broker, and what it told besides: `runtime`, its counters; whether it `leads_slaves`; the `hosts` of
    those that are connected; whose slave it means to be."""

    replica: Replica
    runtime: Mapping[str, str] = MappingProxyType({})
    leads_slaves: bool = False
    hosts: tuple[str, ...] = ()
    slave_of: str = ""


def _unregistered(told: Sequence[_Told]) -> list[Replica]:
    """The brokers of an elected group that name servers do not list: dead ones, and a leader that is new."""
    knowing = [each for each in told if each.runtime.get(_BROKERS)]
    if not knowing:
        return []
    newest = max(knowing, key=lambda each: each.replica.epoch or 0)
    pairs = [each.partition("=") for each in newest.runtime[_BROKERS].split()]
    listed = {each.replica.address for each in told}
    numbers = {each.replica.broker_id for each in told}
    numbers |= {int(each.runtime[_LEADER]) for each in told if each.replica.members is not None}
    first = told[0].replica
    return [
        Replica(first.cluster, first.broker, int(number), address)
        for number, _, address in pairs
        if int(number) not in numbers and address not in listed
    ]


def _as_known_there(slave: _Told, master: _Told) -> Replica:
    """`slave`; whether one of Apache RocketMQ follows only its master can tell: it says itself that it never
    does (DefaultHAService.java, `getRuntimeInfo`)."""
    replica = slave.replica
    if replica.trouble == _NOT_CONNECTED and replica.address.rpartition(":")[0] in master.hosts:
        return attrs.evolve(replica, trouble="", master=slave.slave_of or None)
    return replica


def _with_epoch(replica: Replica, runtime: Mapping[str, str]) -> Replica:
    """`replica`, with what only brokers of elected groups say."""
    epoch = runtime.get("replicationEpoch")
    if epoch is None:
        return replica
    members = runtime.get("replicationMembers")
    return attrs.evolve(
        replica,
        role="FOLLOWER" if members is None else "LEADER",
        epoch=int(epoch),
        confirmed=int(runtime.get("replicationConfirmed", 0)),
        members=None if members is None else tuple(map(int, members.split())),
        trouble="" if members is None else runtime.get(_TROUBLE, ""),
    )


def _not_copied(runtime: Mapping[str, str]) -> str:
    trouble = runtime.get("replicationTablesTrouble")
    return f"not copied from the master: {trouble}" if trouble else ""

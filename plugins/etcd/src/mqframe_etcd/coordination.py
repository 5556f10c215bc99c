"""A member's place in etcd: the steps of docs/spec/replication.md as guarded transactions."""

from __future__ import annotations

import math
from typing import NamedTuple

from mqframe.core.errors import ClosedError, CoordinationError
from mqframe.hooks.interfaces import CALLS_IN_A_LEASE, Coordination, GroupPlace, Snapshot, WaitingClock
from mqframe.log import get_logger
from mqframe_etcd.answers import NOT_FOUND, EtcdRefusal
from mqframe_etcd.gateway import Gateway
from mqframe_etcd.keys import GroupKeys, Json, number, revision_of, transaction
from mqframe_etcd.options import EtcdOptions
from mqframe_etcd.watch import KeyWatch

log = get_logger("etcd")


class _Started(NamedTuple):
    """What a member has from `start` to `stop`."""

    place: GroupPlace
    keys: GroupKeys
    lease: int
    watch: KeyWatch


class EtcdCoordination(Coordination):
    """Coordination by etcd 3.4 or later, through the JSON gateway of its members.

    The version of a state is the revision at which it was written; the fencing token is the lease, which the
    leader's key hangs on: no two claims of different objects have the same, and a claim whose answer was lost
    has it too.
    """

    Options = EtcdOptions

    def __init__(self, clock: WaitingClock, options: EtcdOptions | None = None) -> None:
        """`clock` is not asked: all times are etcd's, or those of connections."""
        self._options = options or EtcdOptions()
        self._gateway = Gateway(self._options)
        self._started: _Started | None = None
        self._read_at = -1

    async def look(self, place: GroupPlace) -> Snapshot:
        """As `Coordination.look`. `stop` closes the connections."""
        return (await self._range(self._keys(place)))[0]

    async def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        """As `Coordination.force`. `stop` closes the connections."""
        keys = self._keys(place)
        return await self._guarded([keys.has_version(version)], keys.put(keys.state, state))

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        """As `Coordination.start`. etcd grants whole seconds, and 2 at least."""
        if self._started is not None:
            await self._started.watch.close()
            await self._revoke(self._started.lease)
        self._gateway.limit_seconds = min(self._options.timeout_seconds, ttl_seconds / CALLS_IN_A_LEASE)
        answer = await self._gateway.call("/v3/lease/grant", {"TTL": str(math.ceil(ttl_seconds))})
        granted = float(number(answer, "TTL"))
        keys = self._keys(place)
        watch = KeyWatch(self._gateway, keys.all(), granted)
        self._started = _Started(place, keys, number(answer, "ID"), watch)
        self._read_at = -1
        return granted

    async def read(self) -> Snapshot:
        """As `Coordination.read`."""
        snapshot, revision = await self._range(self._here().keys)
        self._read_at = revision
        return snapshot

    async def announce(self, replica: bytes) -> None:
        """As `Coordination.announce`."""
        here = self._here()
        try:
            await self._gateway.call("/v3/kv/put", here.keys.put(here.keys.replica, replica, here.lease))
        except EtcdRefusal as problem:
            if problem.code != NOT_FOUND:
                raise
            raise CoordinationError(
                f"the lease of member {here.place.member} is gone: start anew", maybe_stored=False
            ) from None

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        """As `Coordination.claim`."""
        keys, lease = self._here().keys, self._here().lease
        guards = [keys.has_no_leader(), keys.has_version(version)]
        try:
            return await self._guarded(
                guards, keys.put(keys.leader, leader, lease), keys.put(keys.state, state)
            )
        except EtcdRefusal as problem:
            if problem.code != NOT_FOUND:  # of the lease
                raise
            return 0

    async def change(self, state: bytes, version: int) -> int:
        """As `Coordination.change`."""
        keys, lease = self._here().keys, self._here().lease
        return await self._guarded(
            [*keys.is_led_by(lease), keys.has_version(version)], keys.put(keys.state, state)
        )

    async def renew(self) -> bool:
        """As `Coordination.renew`."""
        answer = await self._gateway.call("/v3/lease/keepalive", {"ID": str(self._here().lease)})
        return number(answer.get("result", {}), "TTL") > 0

    async def step_down(self) -> None:
        """As `Coordination.step_down`."""
        keys, lease = self._here().keys, self._here().lease
        deletion = {"request_delete_range": {"key": keys.put(keys.leader, b"")["key"]}}
        await self._gateway.call("/v3/kv/txn", transaction(keys.is_led_by(lease), deletion))

    async def changed(self) -> None:
        """As `Coordination.changed`; returns early after the time of a lease without news."""
        watch = self._here().watch
        if self._read_at >= 0:
            await watch.past(self._read_at)

    async def stop(self) -> None:
        """As `Coordination.stop`."""
        started, self._started = self._started, None
        try:
            if started is not None:
                await started.watch.close()
                await self._revoke(started.lease)
        except CoordinationError as problem:
            log.warning("a lease is not given up, and runs out", problem=str(problem))
        finally:
            await self._gateway.close()

    async def _guarded(self, guards: list[Json], *puts: Json) -> int:
        """The revision at which `puts` were made; 0: the guards did not hold."""
        then = ({"request_put": each} for each in puts)
        answer = await self._gateway.call("/v3/kv/txn", transaction(guards, *then), again=False)
        return revision_of(answer) if answer.get("succeeded") else 0

    async def _range(self, keys: GroupKeys) -> tuple[Snapshot, int]:
        """All of a group, and the store's revision then; linearizable, as etcd's ranges are."""
        answer = await self._gateway.call("/v3/kv/range", keys.all())
        return keys.snapshot(answer.get("kvs", ())), revision_of(answer)

    async def _revoke(self, lease: int) -> None:
        try:
            await self._gateway.call("/v3/lease/revoke", {"ID": str(lease)})
        except EtcdRefusal as problem:
            if problem.code != NOT_FOUND:  # it is gone already
                raise

    def _keys(self, place: GroupPlace) -> GroupKeys:
        return GroupKeys(self._options.prefix, place)

    def _here(self) -> _Started:
        if self._started is None:
            raise ClosedError("coordination by etcd is not started: call start first, and not after stop")
        return self._started

"""Coordination: a group's place in a consistent store, where brokers of one name choose their leader; roles.

Source: docs/spec/replication.md. The store (the *engine*) compares versions and counts leases; it never looks
into the values, and knows no rule of replication.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from mqframe.core.clock import Clock

CALLS_IN_A_LEASE: Final = 4
"""So many calls, each as long as it may take, fit in a lease: what engines limit the time of calls by."""


class WaitingClock(Clock, Protocol):
    """A clock on which one can wait."""

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed."""


class GroupPlace(NamedTuple):
    """Which group of brokers, and which member of it: its number, 1 or more, 0 for an operator's command."""

    cluster: str
    broker: str
    member: int


class Snapshot(NamedTuple):
    """What the engine held at one moment.

    `state`: the group's state, `None` when nobody has written it yet. `version`: of `state`, 0 without one;
    every write gives it a greater one. `leader`: what the present leader says of itself, `None` when there is
    no leader. `replicas`: what each living member said of itself, by its number.
    """

    state: bytes | None
    version: int
    leader: bytes | None
    replicas: Mapping[int, bytes]


class GroupAccess(ABC):
    """What an operator's command uses, which is no member: no lease, no `start`.

    Every call ends within the time limit of the engine's options, or raises `CoordinationError` then; so do
    those of `Coordination`.
    """

    @abstractmethod
    async def look(self, place: GroupPlace) -> Snapshot:
        """What there is of the group in `place`, as `Coordination.read`; its member does not matter."""

    @abstractmethod
    async def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        """Write the state of the group in `place` without being its leader, for an unclean election.

        Takes effect only when the version of the state is `version` (0: there is none yet) at that moment;
        returns the new version, or 0: refused. It does not ask for a leader: each claim and each change of a
        leader raises the version, so that whoever looked first, and saw none, is refused when one came since.
        """


class Coordination(GroupAccess):
    """One member's connection to the engine, made as `factory(clock[, options])`, with a `WaitingClock`.

    Called in one loop. Calls may overlap, but for `start` and `stop`; any call may be cancelled. Before
    `start` and after `stop` all others raise `ClosedError`, but `look` and `force`, which need no start.

    *Atomic*: `read`, `claim`, `change` and `force` are one transaction each, and linearizable: a read that
    begins after a write has ended sees that write, whichever member of the engine is asked.

    *Time limits*: each call but `changed` ends within a time limit, which is an option of the engine and well
    below a third of the lease. When there is no answer by then it raises `CoordinationError`.

    *Unknown outcomes*: after a `CoordinationError` with `maybe_stored`, what was asked for may have been
    done, may not have been done, or may be done later still, as long as its guards (version, lease) hold. So
    an outcome is read back, and never assumed. Without `maybe_stored` it was not done and will not be.

    *The lease* carries the leader's key and this member's entry in `replicas`: both go with it, once it was
    not renewed for the granted time by the engine's own clock (which may start it anew when the engine
    changes its own leader), and never earlier. Once it is gone `claim` and `change` are refused, until
    `start` opens a new one.

    Whatever the engine refuses for reasons of its own (password, certificate, disk) is a `CoordinationError`
    as well: that may be put right while a broker waits.
    """

    @abstractmethod
    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        """Connect as the member in `place`, and open a lease; returns the seconds that were granted.

        These may be more than `ttl_seconds`, where the engine has a least of its own, and never fewer. A
        lease that this object still has is given up first, with all that it carries. After `stop`, it begins
        again. Raises `SettingError` for options that cannot be used, such as a certificate that cannot be
        read.
        """

    @abstractmethod
    async def read(self) -> Snapshot:
        """Everything there is of the group, of one moment."""

    @abstractmethod
    async def announce(self, replica: bytes) -> None:
        """Enter `replica` as what this member says of itself; in place of what is there under its number.

        It is there as long as the lease lives. Raises `CoordinationError` without `maybe_stored` when that is
        gone.
        """

    @abstractmethod
    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        """Become the leader, and write `state`, in one.

        Takes effect only when no leader is there, not even this member, the version of the state is `version`
        (0: there is none yet), and the lease lives. Returns the new version, or 0: refused.
        """

    @abstractmethod
    async def change(self, state: bytes, version: int) -> int:
        """Write `state` as the leader.

        Takes effect only while the leader's key is there by a claim under the present lease of this object
        (also one whose outcome was unknown), and when the version of the state is `version`. Returns the new
        version, or 0: refused.
        """

    @abstractmethod
    async def renew(self) -> bool:
        """Have the lease live for the granted time from now on; `False`: it is gone, and `start` is to open
        another.

        Nothing renews it otherwise. The granted time counts from when the engine got this, so that whoever
        reckons from when it was sent is on the safe side.
        """

    @abstractmethod
    async def step_down(self) -> None:
        """Take the leader's key away, when it is there by a claim of this object's lease; a claim may follow
        at once.

        Returns as well when this member does not lead. State, lease and announcement stay.
        """

    @abstractmethod
    async def changed(self) -> None:
        """Return when something of the group may have changed since this object last read it; at once before
        that.

        It may return early. What changed is told by `read`, which begins anew what counts as a change. Raises
        `CoordinationError` when it lost the engine, and did not find it again within the time limit. Where a
        network swallows what it carries, it may return late: who must not miss anything reads after some time
        anyway. One call at a time.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Give up the lease, and with it leadership and announcement; close.

        When the engine does not answer within the time limit they go with the lease, and nothing is raised.
        """


class BrokerRole(ABC):
    """What brokers are that the section `replication` names this role for: `replication.role`.

    Made as `factory()`. Unlike other plugins a role is trusted and deep: it is handed the inside of the
    broker, and makes parts of it by the interfaces named below, which change with any version. Sections of
    settings that it has are entry points of their own (`mqframe.hooks.sections`).
    """

    @abstractmethod
    def group_role(self, sections: Any) -> Any:
        """What one broker of these settings is, in a program of its own that says so.

        `sections`: `mqframe.broker.sections.BrokerSections`; returns a
        `mqframe.broker.roles.group_role.GroupRole`. Raises `SettingError`.
        """

    @abstractmethod
    def decider(self, sections: Any, clock: Any, plugins: Any, on_lost: Callable[[], object]) -> Any:
        """Who decides what the broker of a server is, and may have it made anew in another role.

        `sections`: as of `group_role`; `clock`: `mqframe.net.clock.LoopClock`; `plugins`: the `PluginManager`
        of the server; `on_lost`: to be called when no broker serves any more, because none could be started.
        Returns a `mqframe.broker.host.RoleDecider`. Raises `SettingError`, `PluginError`.
        """

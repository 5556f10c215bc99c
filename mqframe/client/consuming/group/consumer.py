"""Push and lite pull consumers from outside: how they start, stop, and are known in their group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from typing import Any

from mqframe.client.configuration.from_config import ConfigSource
from mqframe.client.connection.instance import ClientInstance, ConsumerRegistration
from mqframe.client.connection.lifecycle import AsyncClient, InstanceLease, phase_of
from mqframe.client.consuming.group.allocation import AllocationWatch
from mqframe.client.consuming.group.plan import GroupPlan
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.errors import ClosedError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.client_parts import load_part
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger

log = get_logger("client")

Pausable = MessageQueue | str | Callable[..., Any]
"""A queue, a topic, or a function that listens to one or more."""


class GroupConsumer(AsyncClient):
    """A consumer that shares the queues of its topics with the other members of its group."""

    group: str
    """The consumer group."""

    def __init__(self, plan: GroupPlan, lease: InstanceLease) -> None:
        self.group = plan.group
        self._plan = plan
        self._lease = lease
        self._runtime: ConsumerRuntime | None = None
        self._stopped = False
        self._allocation_watch: AllocationWatch | None = None
        self._followed: Any = None

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._running().instance.client_id

    def set_allocation(self, allocate: object, options: object = None) -> None:
        """Share queues by another strategy from now on: name, class or object, and its options.

        The queues are shared anew at once, without a stop. Every member must be told: as long as members
        share by different strategies, some queues have two members, which may see the same messages, or none,
        which come late; each member looks again every `rebalance_seconds`. Raises `PluginError`,
        `SettingError`; the present strategy stays then.
        """
        self._change_allocation(allocate, options)

    def pause(self, what: Collection[Pausable]) -> None:
        """Pull nothing more of `what` until `resume`; what was pulled of it is still handed out.

        Of queues that are ours, until they go to another member; of topics, and of all that functions listen
        to, whichever queues of it are ours. Raises `FixError` for what is not read here.
        """
        self._set_paused(what, paused=True)

    @property
    def paused(self) -> list[MessageQueue]:
        """The queues that are ours and paused, sorted."""
        return self._runtime.paused if self._runtime is not None else []

    def _set_paused(self, what: Collection[Pausable], *, paused: bool) -> None:
        load_part("pauses")(self._plan.subscriptions, self._runtime, what, paused=paused)

    def _follow(self, pattern: str, subscribe: Callable[[str], None], *, join: bool = False) -> None:
        """Have `subscribe` called with topics that `pattern` means; `join`: beside those who have it now."""
        followed = self._followed or load_part("topic-patterns")(self._plan, self.unsubscribe)
        followed.add(pattern, subscribe, join=join)
        self._followed = followed
        if self._runtime is not None:
            self._runtime.instance.spawn(self._followed.look(self._runtime))

    def _watch(self, source: ConfigSource, seconds: float) -> None:
        self._allocation_watch = AllocationWatch(source, seconds, type(self), self._change_allocation)

    def _change_allocation(
        self, allocate: object, options: object, plugins: PluginManager | None = None
    ) -> None:
        allocation = self._plan.allocation
        allocation.change(allocate, options, plugins)
        log.info("allocation changed", group=self.group, strategy=type(allocation.strategy).__qualname__)
        if self._runtime is not None:
            self._runtime.members_changed()

    @abstractmethod
    def unsubscribe(self, topic: str) -> None:
        """Give `topic` up. Its queues are committed and go to other members."""

    @abstractmethod
    def _assemble(self, instance: ClientInstance) -> ConsumerRuntime:
        """The consumer on `instance`, not joined yet."""

    async def _joined(self, runtime: ConsumerRuntime) -> None:
        """What is to be done once the group was joined."""

    async def _join(self) -> None:
        if self._stopped:
            raise ClosedError(f"the consumer of group {self.group} was stopped; make a new one")
        if self._runtime is not None:
            return
        runtime = self._runtime = self._assemble(await self._lease.open())
        registered = ConsumerRegistration(self._heartbeat_data, runtime.members_changed, self._routes_changed)
        try:
            if self._followed is not None:
                await self._followed.join(runtime)
            await runtime.join(registered)
            await self._joined(runtime)
            if self._allocation_watch is not None:
                self._allocation_watch.start(self._plan.clock)
        except BaseException:
            await self._leave()
            raise

    async def _leave(self, seconds: float = 0.0) -> None:
        """Leave, unless that was done before; `seconds`: the longest wait for running listeners."""
        if self._runtime is not None:
            self._runtime.instance.remoting.check_loop()
        for watch in (self._allocation_watch, self._followed):
            if watch is not None:
                watch.stop()
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.leave(seconds)
            await self._lease.close(runtime.instance)

    def _phase(self) -> str:
        return phase_of(running=self._runtime is not None, stopped=self._stopped)

    def _running(self) -> ConsumerRuntime:
        if self._runtime is None:
            raise ClosedError(f"the consumer of group {self.group} is not running")
        return self._runtime

    def _subscriptions_changed(self) -> None:
        if self._runtime is not None:
            self._runtime.subscriptions_changed()

    def _routes_changed(self) -> None:
        if self._runtime is not None:
            self._runtime.routes_changed()

    def _heartbeat_data(self) -> ConsumerData:
        return self._plan.heartbeat_data(self._plan.subscriptions.data())

"""Push and lite pull consumers from outside: how they start, stop, and are known in their group."""

from __future__ import annotations

from abc import abstractmethod

from mqframe.client.connection.instance import ClientInstance, ConsumerRegistration
from mqframe.client.connection.lifecycle import AsyncClient, InstanceLease
from mqframe.client.consuming.group.plan import GroupPlan
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.errors import ClosedError


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

    @property
    def client_id(self) -> str:
        """What this member is called in its group. Known once it was started."""
        return self._running().instance.client_id

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
            await runtime.join(registered)
            await self._joined(runtime)
        except BaseException:
            await self._leave()
            raise

    async def _leave(self, seconds: float = 0.0) -> None:
        """Leave, unless that was done before; `seconds`: the longest wait for running listeners."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.leave(seconds)
            await self._lease.close(runtime.instance)

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

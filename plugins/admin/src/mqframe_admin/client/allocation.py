"""Administration of allocation: what another strategy, or other members, would move."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

import attrs

from mqframe.client.consuming.group.allocation import DEFAULT, KIND
from mqframe.client.consuming.group.allocation_port import GroupPort, prepare
from mqframe.client.consuming.group.members import group_members
from mqframe.core.cluster.client_registry import BROADCASTING
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import FixError, MqframeError, RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import RETRY_PREFIX, check_group
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.manager import PluginManager
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.groups import AsyncGroupAdmin
from mqframe_admin.client.members import AsyncMemberAdmin
from mqframe_admin.rules.allocation_plan import (
    AllocationPlan,
    TopicPlan,
    conflicts,
    faults_of_now,
    plan_topic,
)

Held = Mapping[str, Collection[MessageQueue]]


@attrs.define
class _Found:
    """What is known of a group before anything is planned."""

    routes: dict[str, TopicRoute]
    members: dict[str, list[str]]
    held: dict[str, set[MessageQueue]]
    silent: dict[str, str]
    problems: list[str]


class AsyncAllocationAdmin:
    """Who owns which queue of a group, and who would."""

    def __init__(
        self, calls: AdminCalls, groups: AsyncGroupAdmin, members: AsyncMemberAdmin, plugins: PluginManager
    ) -> None:
        self._calls = calls
        self._groups = groups
        self._members = members
        self._plugins = plugins

    async def plan(
        self,
        group: str,
        allocate: object = DEFAULT,
        options: object = None,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
    ) -> AllocationPlan:
        """What would move if all members of `group` had the allocation strategy `allocate`. Changes nothing.

        `allocate`, `options`: as for consumers; the strategy is made and runs here. `add`, `remove`: client
        ids of members that come and go as well. Each member is asked what it holds, Java ones too; one that
        does not answer is in `AllocationPlan.silent`. Raises `FixError` for a group that is unknown, whose
        members are offline or broadcast, and for a strategy that fails; `PluginError` for a wrong one.
        """
        check_group(group)
        strategy: AllocationStrategy = self._plugins.create(KIND, allocate, options)
        title = allocate if isinstance(allocate, str) else type(strategy).__qualname__
        found = await self._look(group, await self._subscribed(group))
        now = sorted(set().union(*found.members.values()))
        strangers = sorted(set(remove).difference(now))
        if strangers:
            raise FixError(
                f"no member of {group} is called {', '.join(strangers)}; members: {', '.join(now)}"
            )
        topics: list[TopicPlan] = []
        wrong: list[str] = []
        for topic, route in found.routes.items():
            then = sorted(set(found.members[topic]).difference(remove).union(add))
            plan, problem = await self._plan_topic(group, strategy, title, route, then, found)
            topics.append(plan)
            found.problems += [*([problem] if problem else ()), *faults_of_now(plan)]
            wrong += conflicts(plan, title, route.read_queues())
        return AllocationPlan(
            group=group,
            strategy=title,
            now=tuple(now),
            then=tuple(sorted(set(now).difference(remove).union(add))),
            silent=found.silent,
            topics=tuple(topics),
            problems=(*found.problems, *wrong),
            conflicts=tuple(wrong),
        )

    async def _subscribed(self, group: str) -> list[str]:
        """The topics of a group that shares them. Raises `FixError`."""
        connections = await self._members.consumers(group)
        if not connections.connection_set:
            if group not in await self._groups.list():
                raise FixError(
                    f"no broker knows consumer group {group}; mqframe group list shows those there are"
                )
            raise FixError(
                f"nobody of consumer group {group} is online: there are no members to share queues"
            )
        if connections.message_model == BROADCASTING:
            raise FixError(
                f"consumer group {group} broadcasts: each member has all queues, none is shared out"
            )
        return sorted(connections.subscription_table)

    async def _look(self, group: str, topics: Sequence[str]) -> _Found:
        found = _Found({}, {}, {}, {}, [])
        for topic in topics:
            try:
                route = await self._calls.instance.route(topic, refresh=True)
                found.members[topic] = await group_members(self._calls.instance, group, route)
                found.routes[topic] = route
            except MqframeError as problem:
                # The retry topic of a group without failures may not be there yet.
                if not (isinstance(problem, RouteError) and topic.startswith(RETRY_PREFIX)):
                    found.problems.append(f"topic {topic} is left out: {problem}")
        if not found.routes:
            raise FixError(f"no topic of consumer group {group} can be read: {'; '.join(found.problems)}")
        clients = sorted(set().union(*found.members.values()))
        for client, held in zip(
            clients, await asyncio.gather(*[self._held(group, client) for client in clients]), strict=True
        ):
            if isinstance(held, str):
                found.silent[client] = held
                found.problems.append(f"member {client} does not say what it holds: {held}")
            else:
                found.held[client] = held
        return found

    async def _held(self, group: str, client: str) -> set[MessageQueue] | str:
        """What a member holds; a text says why it does not tell."""
        try:
            info = await self._members.running_info(group, client)
        except MqframeError as problem:
            return str(problem)
        held = {queue for queue, each in info.mq_table.items() if not each.dropped}
        return held | {queue for queue, each in info.mq_pop_table.items() if not each.dropped}

    async def _plan_topic(
        self,
        group: str,
        strategy: AllocationStrategy,
        title: str,
        route: TopicRoute,
        members: Sequence[str],
        found: _Found,
    ) -> tuple[TopicPlan, str]:
        """The plan of one topic, and why the strategy could not look before."""
        topic, queues = route.topic, route.read_queues()
        port = GroupPort(group, self._calls.instance, self._calls.instance.clock, None)
        problem = await prepare(strategy, port, group, topic, queues, members)
        plan = plan_topic(
            strategy.allocate,
            title,
            group,
            topic,
            queues,
            members,
            found.held,
            all_answered=not found.silent,
        )
        said = f"{title} could not look at topic {topic} before: {problem}" if problem else ""
        return attrs.evolve(plan, basis=strategy.basis(group, topic)), said

"""A consumer that joined its group: carries out what `core.consuming.group_member` decides.

Pulled messages do not come by here: they go from the `QueueFetcher` to a process queue and from there to a
consume service or a prefetch buffer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import attrs

from mqframe.client.connection.instance import ClientInstance, ConsumerRegistration
from mqframe.client.connection.operator_requests import InspectableConsumer
from mqframe.client.consuming.group.group_offsets import GroupOffsets
from mqframe.client.consuming.group.joining import check_filters, look_up
from mqframe.client.consuming.group.plan import GroupPlan, nothing_to_wait_for
from mqframe.client.consuming.group.queue_fetcher import QueueFetcher
from mqframe.client.consuming.group.rebalance_service import RebalanceService
from mqframe.client.sending.hook_port import AttachedHooks
from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.consuming.group_member import Do, GroupMember, QueueAction
from mqframe.core.errors import MqframeError
from mqframe.core.measuring.sampled import SAMPLE_SECONDS
from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger
from mqframe.net.clock import Every

log = get_logger("client")

Step = Callable[[], Awaitable[object] | None]


async def _all_ended(_: float) -> bool:
    return True


@attrs.frozen(kw_only=True)
class Listening:
    """What a consumer that calls listeners adds to joining, leaving and lost brokers; by default nothing.

    `read_group_config`: asks brokers for the retry interval of a group that consumes in order; `start`:
    begins to watch listeners; `stop`: begins nothing more, waits up to so many seconds for running listeners,
    and returns whether all of them ended; `find_retry_route`: looks for the route of the retry topic until it
    names all brokers of those topics; `stop_retry_route`: looks no more; `doubt_lock`: the connection to the
    broker of that queue broke; `release`: releases the locks of queues that were given up.
    """

    read_group_config: Callable[[], Awaitable[None]] = nothing_to_wait_for
    start: Callable[[], None] = lambda: None
    stop: Callable[[float], Awaitable[bool]] = _all_ended
    find_retry_route: Callable[[Sequence[str]], None] = lambda _: None
    stop_retry_route: Callable[[], Awaitable[None]] = nothing_to_wait_for
    doubt_lock: Callable[[MessageQueue], None] = lambda _: None
    release: Callable[[Sequence[MessageQueue]], Awaitable[None]] = nothing_to_wait_for


@attrs.frozen(kw_only=True)
class ConsumerParts:
    """What a consumer is made of.

    `statistics`: sampled while it runs; `save_seconds`: how often offsets are saved meanwhile.
    """

    offsets: GroupOffsets
    queues: QueueFetcher
    rebalance: RebalanceService
    running_info: InspectableConsumer
    listening: Listening = Listening()
    statistics: ConsumerStatistics | None = None
    save_seconds: float = 0.0


class ConsumerRuntime:
    """The shell around `member`. All methods belong to the loop.

    `assemble` makes the parts, which need the runtime to report to, while the runtime needs them to act on:
    so it is called by the constructor, and nothing is put in later.
    """

    def __init__(
        self,
        plan: GroupPlan,
        instance: ClientInstance,
        member: GroupMember,
        assemble: Callable[[ConsumerRuntime], ConsumerParts],
    ) -> None:
        self.instance = instance
        self._plan = plan
        self._member = member
        self._heartbeat_task: asyncio.Task[None] | None = None
        self._registered: ConsumerRegistration | None = None
        self._timers: list[Every] = []
        self._attached: AttachedHooks | None = None
        self._stop_seconds = 0.0
        self.parts = assemble(self)
        self.queues = self.parts.queues
        self.queues.stands = plan.subscriptions.stands
        self._steps = self._steps_of(self.parts)
        self._actions: dict[Do, Callable[[QueueAction], object]] = {
            Do.HEARTBEAT: lambda _: self._start_heartbeat(),
            Do.ANNOUNCE: lambda _: instance.spawn(self._announce()),
            Do.REBALANCE: lambda _: self.parts.rebalance.soon(),
            Do.FIND_RETRY_ROUTE: lambda _: self._find_retry_route(),
            Do.DOUBT_LOCK: lambda action: self.parts.listening.doubt_lock(*action.queues),
            Do.ASSIGN: self._assign,
            Do.GIVE_UP: self._give_up,
            Do.FORGET: self._forget,
            Do.SEEK: self._seek,
        }

    def _steps_of(self, parts: ConsumerParts) -> dict[Do, Step]:
        return {
            Do.LOAD_OFFSETS: parts.offsets.store.load,
            Do.LOOK_UP_TOPICS: self._look_up_topics,
            Do.CHECK_FILTERS: self._check_filters,
            Do.REGISTER: self._register,
            Do.READ_GROUP_CONFIG: parts.listening.read_group_config,
            Do.START_LISTENERS: parts.listening.start,
            Do.START_TIMERS: self._start_timers,
            Do.ATTACH_HOOKS: self._attach_hooks,
            Do.SERVE_OPERATORS: self._serve_operators,
            Do.START_REBALANCE: parts.rebalance.start,
            Do.FIND_RETRY_ROUTE: self._find_retry_route,
            Do.STOP_SERVING_OPERATORS: self._stop_serving_operators,
            Do.STOP_RETRY_ROUTE: parts.listening.stop_retry_route,
            Do.STOP_REBALANCE: parts.rebalance.stop,
            Do.STOP_PULLS: parts.queues.stop,
            Do.STOP_LISTENERS: self._stop_listeners,
            Do.STOP_TIMERS: self._stop_timers,
            Do.GIVE_UP_ALL: self._give_up_all,
            Do.DETACH_HOOKS: self._detach_hooks,
            Do.STOP_HEARTBEATS: self._stop_heartbeats,
            Do.UNREGISTER: self._unregister,
            Do.CLOSE_OFFSETS: parts.offsets.store.close,
        }

    # Joining and leaving

    async def join(self, registered: ConsumerRegistration) -> None:
        """Enter the group; the client instance notifies `registered` of changes.

        Raises `RouteError` when no name server answers, `AnswerError` when a broker refuses an expression,
        and `AccessError` when one does not let its user in, or not into this group.
        """
        self._registered = registered
        for do in self._member.join():
            await self._step(do)

    async def leave(self, seconds: float = 0.0) -> None:
        """Pull nothing more, wait up to `seconds` for running listeners, commit, leave the group."""
        self._stop_seconds = seconds
        for do in self._member.leave():
            await self._step(do)

    async def _step(self, do: Do) -> None:
        done = self._steps[do]()
        if done is not None:
            await done

    async def _look_up_topics(self) -> None:
        topics = self._own_topics()

        async def look() -> None:
            await look_up(self.instance, self._plan.group, topics)
            await self.parts.offsets.begin(topics)

        await self.instance.patience.through(look)

    def _own_topics(self) -> list[str]:
        return sorted(self._plan.subscriptions.by_topic)

    async def _check_filters(self) -> None:
        await check_filters(self.instance, self._plan.group, self._plan.subscriptions.own())

    async def _register(self) -> None:
        assert self._registered is not None
        self.instance.register_consumer(self._plan.group, self._registered)
        # Brokers refuse pulls of a group whose subscription they have not heard of.
        await self.instance.heartbeat_now()
        if refusal := self.instance.outages.take_refusal():
            raise refusal
        await self.parts.offsets.keep_begun(self.queues.queues)

    def _start_timers(self) -> None:
        clock, seconds = self._plan.clock, self.parts.save_seconds
        self._timers = [
            Every(clock, seconds, self._save, name="save offsets"),
            Every(clock, SAMPLE_SECONDS, self._sample, name="statistics"),
        ]

    async def _save(self) -> None:
        await self.parts.offsets.try_to_save(self.queues.queues)

    def _sample(self) -> None:
        if self.parts.statistics is not None:
            self.parts.statistics.keep(self._plan.subscriptions.topics())
            self.parts.statistics.sample()

    async def _attach_hooks(self) -> None:
        plan = self._plan
        self._attached = AttachedHooks(plan.hooks, self.instance, plan.clock, plan.group, "CONSUME")
        await self._attached.start()

    def _serve_operators(self) -> None:
        self.instance.operator_requests.add(self._plan.group, self.parts.running_info)

    def _find_retry_route(self) -> None:
        self.parts.listening.find_retry_route(self._own_topics())

    def _stop_serving_operators(self) -> None:
        self.instance.operator_requests.remove(self._plan.group)

    async def _stop_listeners(self) -> None:
        if not await self.parts.listening.stop(self._stop_seconds):
            log.warning("listeners still run after the time for stopping", group=self._plan.group)

    def _stop_timers(self) -> None:
        for timer in self._timers:
            timer.stop()

    async def _give_up_all(self) -> None:
        owned = self.queues.queues
        await self._plan.revoked(owned)
        for queue in owned:
            self.queues.give_up(queue)
        try:
            if owned:
                await self.parts.offsets.save(owned)
        except MqframeError as problem:
            log.error("offsets were not committed", group=self._plan.group, reason=str(problem))
        await self.parts.listening.release(owned)

    async def _detach_hooks(self) -> None:
        if self._attached is not None:
            await self._attached.stop()

    def _stop_heartbeats(self) -> None:
        if self._heartbeat_task is not None:
            self._heartbeat_task.cancel()

    def _unregister(self) -> Awaitable[None]:
        return self.instance.unregister_consumer(self._plan.group)

    @property
    def paused(self) -> list[MessageQueue]:
        """Our queues of which nothing is pulled because somebody wants it so, sorted."""
        return sorted(each.queue for each in self.queues.assigned if self.queues.stands_still(each))

    # Notices of the application, the client instance and the parts

    def subscriptions_changed(self) -> None:
        """Topics came or went, or have other filters."""
        self._act(self._member.subscriptions_changed(self.queues.queues, self._plan.subscriptions.topics()))

    def assign(self, queues: Sequence[MessageQueue]) -> None:
        """The application assigns exactly `queues`: nothing is shared out from now on."""
        self.parts.rebalance.halt()
        self._act(self._member.queues_assigned(self.queues.queues, queues))

    def members_changed(self) -> None:
        """Members of the group came or went."""
        self._act(self._member.members_changed())

    def routes_changed(self) -> None:
        """Queues or brokers of a topic in use changed."""
        self._act(self._member.routes_changed())

    def subscription_unknown(self) -> None:
        """A broker does not know the member or its subscriptions."""
        self._act(self._member.subscription_unknown())

    def pull_failed(self, queue: MessageQueue, problem: MqframeError) -> None:
        """A pull of `queue` raised `problem`."""
        self._act(self._member.pull_failed(queue, problem))

    def locks_lost(self, queues: Iterable[MessageQueue]) -> None:
        """Another member has the lock of `queues`."""
        self._act(self._member.locks_lost(queues))

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """An operator set the offsets of the group; returns when they are saved."""
        actions = self._member.offsets_reset(self.queues.queues, topic, offsets)
        self._act(actions)
        if any(action.do is Do.SAVE_OFFSETS for action in actions):
            log.info(
                "offsets reset by an operator",
                group=self._plan.group,
                topic=topic,
                offsets={
                    f"{queue.broker_name}/{queue.queue_id}": offset for queue, offset in offsets.items()
                },
            )
            await self.parts.offsets.save(self.queues.queues)

    # Carrying out

    def _act(self, actions: Iterable[QueueAction]) -> None:
        for action in actions:
            carry_out = self._actions.get(action.do)
            if carry_out is not None:
                carry_out(action)

    def _start_heartbeat(self) -> None:
        task = self._heartbeat_task = asyncio.ensure_future(self.instance.heartbeat_now())
        task.add_done_callback(lambda _: self._act(self._member.heartbeat_ended()))

    async def _announce(self) -> None:
        try:
            await self._look_up_topics()
        except MqframeError as problem:
            log.warning("topics were not looked up", group=self._plan.group, reason=str(problem))
        await self.instance.heartbeat_now()
        await self.parts.offsets.keep_begun(self.queues.queues)
        self.parts.rebalance.soon()

    def _assign(self, action: QueueAction) -> None:
        for queue in action.queues:
            self.queues.own(queue, None)

    def _give_up(self, action: QueueAction) -> None:
        owned = self.queues.queues
        for queue in action.queues:
            self.queues.give_up(queue)
        self.instance.spawn(self._leave_behind(owned, action.queues))

    async def _leave_behind(self, owned: Sequence[MessageQueue], gone: Sequence[MessageQueue]) -> None:
        await self.parts.offsets.save(owned)
        for queue in gone:
            if self.queues.get(queue) is None:
                self.parts.offsets.store.forget(queue)

    def _forget(self, action: QueueAction) -> None:
        for queue in action.queues:
            self.queues.give_up(queue)
            self.parts.offsets.store.forget(queue)
        self._plan.lost(action.queues)

    def _seek(self, action: QueueAction) -> None:
        for queue in action.queues:
            self.queues.seek(queue, action.offset)
            self.parts.offsets.store.update(queue, action.offset, increase_only=False)

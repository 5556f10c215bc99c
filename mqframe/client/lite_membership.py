"""A lite pull consumer that runs: what it holds, where it stands, and how it shares with its group."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import attrs

from mqframe.client.beginning import Beginning
from mqframe.client.filter_check import check_filters
from mqframe.client.hook_port import AttachedHooks
from mqframe.client.instance import ClientInstance, Member
from mqframe.client.interests import Interest
from mqframe.client.lite_pull_service import LitePullService
from mqframe.client.lite_pull_settings import LitePullSettings
from mqframe.client.lite_report import LiteReport
from mqframe.client.offset_saver import OffsetSaver
from mqframe.client.rebalance_service import RebalanceService
from mqframe.client.topic_lookup import look_up
from mqframe.core.consume_rules import ConsumeFrom, MessageModel
from mqframe.core.errors import FixError, MqframeError
from mqframe.core.lite_pull import Position
from mqframe.core.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy, ConsumeHook, OffsetStore, ReadFrom
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("client")


@attrs.frozen(kw_only=True)
class LitePlan:
    """What a lite pull consumer was made with. `interests` by topic changes while it runs.

    `assignment_changed`: called after a rebalance that changed something.
    """

    group: str
    model: MessageModel
    begin: tuple[ConsumeFrom, int]
    settings: LitePullSettings
    clock: LoopClock
    strategy: AllocationStrategy
    make_store: Callable[[ClientInstance], OffsetStore]
    interests: Mapping[str, Interest]
    auto_commit: bool
    hooks: Sequence[ConsumeHook]
    assignment_changed: Callable[[], None]


class LiteMembership:
    """Pulls ahead, balances and commits for one group on `instance`, which is started already."""

    def __init__(self, plan: LitePlan, instance: ClientInstance) -> None:
        self.instance = instance
        self._plan = plan
        self._store = plan.make_store(instance)
        self._saver = OffsetSaver(self._store)
        self._beginning = Beginning(instance, self._store, plan.begin)
        self.pulls = LitePullService(plan.group, instance, plan.clock, plan.settings, self)
        self.rebalance = RebalanceService(
            plan.group,
            instance.client_id,
            plan.model,
            instance,
            plan.clock,
            plan.strategy,
            self._store,
            self.pulls,
            self,
            self._beginning,
            plan.settings.rebalance_seconds,
        )
        self._report = LiteReport(plan, self.pulls, self._store, self._saver.save)
        self._attached: AttachedHooks | None = None
        self._joined = False
        self._telling: asyncio.Task[None] | None = None
        self._next_commit = plan.clock.monotonic()

    async def join(self, member: Member, *, subscribed: bool) -> None:
        """Enter the group. `subscribed`: queues come by rebalances; else the application assigns them.

        Raises `RouteError` when no name server answers, `AnswerError` when a broker refuses an expression.
        """
        plan = self._plan
        await self._store.load()
        await look_up(self.instance, plan.group, self.topics())
        if subscribed:
            await check_filters(self.instance, plan.group, plan.interests.values())
        self.instance.register_consumer(plan.group, member)
        await self.instance.heartbeat_now()
        self._attached = AttachedHooks(plan.hooks, self.instance, plan.clock, plan.group, "CONSUME")
        self.instance.inspection.add(plan.group, self._report)
        self._joined = True
        if subscribed:
            self.rebalance.start()

    async def leave(self) -> None:
        """Pull nothing more, commit, leave the group."""
        self.instance.inspection.remove(self._plan.group)
        await self.rebalance.stop()
        await self.pulls.stop()
        queues = self.pulls.queues
        for queue in queues:
            self.pulls.give_up(queue)
        if self._joined and queues:
            try:
                await self._saver.save(queues)
            except MqframeError as problem:
                log.error("progress was not committed", group=self._plan.group, reason=str(problem))
        if self._telling is not None:
            self._telling.cancel()
        if self._attached is not None:
            await self._attached.stop()
        await self.instance.unregister_consumer(self._plan.group)
        await self._store.close()

    def assign(self, queues: Sequence[MessageQueue]) -> None:
        """Pull exactly `queues`. Those that were assigned before and are not now are committed beside."""
        owned, wanted = self.pulls.queues, set(queues)
        gone = [queue for queue in owned if queue not in wanted]
        for queue in gone:
            self.pulls.give_up(queue)
        for queue in sorted(wanted.difference(owned)):
            self.pulls.own(queue, None)
        if gone:
            self.instance.spawn(self._leave_behind(owned, gone))

    def interests_changed(self) -> None:
        """Subscribed topics came or went, or are wanted by other expressions."""
        owned = self.pulls.queues
        gone = [queue for queue in owned if queue.topic not in self._plan.interests]
        for queue in gone:
            self.pulls.give_up(queue)
        if gone:
            self.instance.spawn(self._leave_behind(owned, gone))
        self.instance.spawn(self._tell_and_share())

    # Committing

    def settle(self) -> None:
        """A poll begins: what earlier ones handed out was done with, and is committed when it is time."""
        if not self._plan.auto_commit:
            return
        for position in self.pulls.positions:
            position.settle()
        now = self._plan.clock.monotonic()
        if now >= self._next_commit:
            self._next_commit = now + self._plan.settings.auto_commit_seconds
            if self._remember([(p.queue, p.settled) for p in self.pulls.positions]):
                self.instance.spawn(self._save())

    async def commit(self, offsets: Mapping[MessageQueue, int] | None) -> None:
        """Remember `offsets`, or what was handed out of every queue, and make that durable."""
        if offsets is None:
            for position in self.pulls.positions:
                position.settle()
            pairs: list[tuple[MessageQueue, int | None]] = [
                (position.queue, position.consumed) for position in self.pulls.positions
            ]
        else:
            for queue, offset in offsets.items():
                if self.pulls.position(queue) is None:
                    raise FixError(f"{queue} is not assigned to this consumer; nothing was committed")
                if offset < 0:
                    raise FixError(f"offset {offset} of {queue} is negative; nothing was committed")
            pairs = list(offsets.items())
        if self._remember(pairs):
            await self._saver.save(self.pulls.queues)

    async def committed(self, queue: MessageQueue) -> int | None:
        """What the group has committed of `queue`."""
        return await self._store.read(queue, ReadFrom.MEMORY_THEN_STORE)

    def _remember(self, offsets: Sequence[tuple[MessageQueue, int | None]]) -> bool:
        known = [(queue, offset) for queue, offset in offsets if offset is not None]
        for queue, offset in known:
            self._store.update(queue, offset, increase_only=False)
        return bool(known)

    async def _save(self) -> None:
        try:
            await self._saver.save(self.pulls.queues)
        except MqframeError as problem:
            log.warning("progress was not committed yet", group=self._plan.group, reason=str(problem))

    async def _tell_and_share(self) -> None:
        try:
            await look_up(self.instance, self._plan.group, self.topics())
        except MqframeError as problem:
            log.warning("topics were not looked up", group=self._plan.group, reason=str(problem))
        await self.instance.heartbeat_now()
        self.rebalance.soon()

    async def _leave_behind(self, owned: Sequence[MessageQueue], gone: Sequence[MessageQueue]) -> None:
        await self._saver.save(owned)
        for queue in gone:
            if self.pulls.position(queue) is None:
                self._store.forget(queue)

    # What the pull service needs

    def interest(self, topic: str) -> Interest | None:
        """What is wanted of `topic`."""
        return self._plan.interests.get(topic)

    async def begin(self, queue: MessageQueue) -> int:
        """The first offset of a queue that was assigned by the application."""
        await self._saver.idle()  # it may have been ours just before
        return await self._beginning.offset(queue)

    def leaving(self, position: Position) -> None:
        """Its progress is to be made durable by whoever gives it up."""
        if self._plan.auto_commit:
            self._remember([(position.queue, position.settled)])

    async def correct(self, queue: MessageQueue, offset: int) -> None:
        """The offset of `queue` did not exist; remember `offset` instead, durably."""
        if self._plan.auto_commit:
            self._store.update(queue, offset, increase_only=False)
            await self._save()

    def subscription_unknown(self) -> None:
        """A broker does not know the group's subscription (any more)."""
        if self._telling is None or self._telling.done():
            self._telling = asyncio.ensure_future(self.instance.heartbeat_now())

    def assignment_changed(self) -> None:
        """A rebalance changed the queues."""
        self._plan.assignment_changed()

    # What the rebalance service needs

    def topics(self) -> Sequence[str]:
        """The topics that are subscribed, or of which queues are assigned, sorted."""
        return sorted(self._plan.interests)

    async def told(self) -> None:
        """Tell brokers what the group wants, and return once they know."""
        await self.instance.heartbeat_now()

    async def persist(self, queues: Sequence[MessageQueue]) -> None:
        """Make durable how far we are in `queues`."""
        await self._saver.save(queues)

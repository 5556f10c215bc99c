"""The consumers of a broker: one for each group, whatever number of topics its subscribers want.

All members of a group have to want the same, so what an application subscribes to in one group is one member.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol

import attrs

from mqframe import AsyncPushConsumer, ConsumerSettings, MqframeError
from mqframe.log import get_logger
from mqframe_faststream.connection import Connection
from mqframe_faststream.errors import OptionError
from mqframe_faststream.options import SubscriberPlan

log = get_logger("faststream")

TASKS_MAX = 10_000
SPARE_TASKS = 32
"""In a group of several subscribers calls that wait for a worker of theirs take so many tasks each."""
STOP_SECONDS_MAX = 86_400.0
QUEUE_SECONDS = 3.0
"""How long a start waits for queues; a group with more members than queues leaves some without."""
QUEUE_STEP_SECONDS = 0.005


class GroupSubscriber(Protocol):
    """A subscriber, as its group knows it."""

    @property
    def subscription(self) -> SubscriberPlan:
        """What it wants."""

    @property
    def topic(self) -> str:
        """Its topic, prefixes included."""

    @property
    def group(self) -> str:
        """Its group."""

    async def listen(self, messages: Any, context: Any) -> Any:
        """The listener."""

    def share_tasks(self) -> None:
        """Its group has other subscribers: from now on it minds its own number of workers."""


class Group:
    """The subscribers of one group, and their consumer once they run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[str, GroupSubscriber] = {}
        self.consumer: AsyncPushConsumer | None = None

    def add(self, member: GroupSubscriber) -> None:
        """Raises `OptionError` when `member` does not go with the others."""
        topic = member.topic
        known = self.members.get(topic)
        if known is member:
            return
        if known is not None:
            raise OptionError(
                f"group {self.name} has two subscribers of topic {topic}; give one another group, or "
                "register both handlers with one subscriber, each with a filter"
            )
        for other in self.members.values():
            if differing := member.subscription.disagreements(other.subscription):
                raise OptionError(
                    f"subscribers of {other.topic} and {topic} are of group {self.name}, and differ in "
                    f"{', '.join(differing)}; say the same, or give one another group"
                )
        self.members[topic] = member
        if self.consumer is not None:
            member.share_tasks()
            self._subscribe(self.consumer, member)

    async def start(self, connection: Connection, stop_seconds: float) -> None:
        """Join the group, unless that was done."""
        if self.consumer is not None or not self.members:
            return
        await connection.need_topics(list(self.members))
        members = list(self.members.values())
        if len(members) > 1:
            for member in members:
                member.share_tasks()
        consumer = self._consumer(connection, members, stop_seconds)
        for member in members:
            self._subscribe(consumer, member)
        self.consumer = consumer
        try:
            await consumer.start()
        except BaseException:
            self.consumer = None
            await consumer.stop()
            raise

    async def ready(self) -> None:
        """Wait for queues: where a new group begins is settled then, and what is published later comes.

        Whoever pops has none: that is settled with its start.
        """
        consumer = self.consumer
        if consumer is None or consumer.mode == "pop":
            return
        wanted = {topic for topic in self.members if not topic.startswith("%")}
        loop = asyncio.get_running_loop()
        until = loop.time() + QUEUE_SECONDS
        while not wanted <= {queue.topic for queue in consumer.queues} and loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(QUEUE_STEP_SECONDS)

    async def stop(self) -> None:
        """Pull nothing more, let running handlers finish, commit, leave."""
        consumer, self.consumer = self.consumer, None
        if consumer is not None:
            await consumer.stop()

    def _consumer(
        self, connection: Connection, members: list[GroupSubscriber], stop_seconds: float
    ) -> AsyncPushConsumer:
        options, first = connection.options, members[0].subscription
        tasks = sum(member.subscription.max_workers for member in members)
        if len(members) > 1:
            tasks *= SPARE_TASKS
        records = max(member.subscription.max_records for member in members)
        base = options.consumer
        changes: dict[str, Any] = {
            "consume_tasks": min(tasks, TASKS_MAX),
            "stop_seconds": stop_seconds,
            "pull_messages_max": max(base.pull_messages_max, records),
        }
        if first.max_reconsume_times is not None:
            changes["max_reconsume_times"] = first.max_reconsume_times
        if first.consume_timeout is not None:
            changes["consume_timeout_seconds"] = first.consume_timeout
        settings: ConsumerSettings = attrs.evolve(base, **changes)  # type: ignore[misc]
        return AsyncPushConsumer(
            self.name,
            ordered=first.ordered,
            broadcasting=first.broadcasting,
            mode=first.mode,
            mode_options=first.mode_options,
            consume_from=first.consume_from,
            consume_hooks=options.consume_hooks,
            rpc_hooks=options.rpc_hooks if first.broadcasting else (),
            settings=settings,
            client=options.client,
            net=options.net,
            plugins=options.plugins,
            # Local offsets lie under the client id, which must be the same after a restart.
            instance=None if first.broadcasting else connection.instance,
        )

    @staticmethod
    def _subscribe(consumer: AsyncPushConsumer, member: GroupSubscriber) -> None:
        wanted = member.subscription
        size = wanted.max_records if wanted.batch else 1
        consumer.subscribe(member.topic, wanted.expression, member.listen, batch_max=size)


class Groups:
    """All groups of a broker.

    `stop_seconds`: how long a stop waits for running handlers, `None` for as long as they take.
    """

    def __init__(self, connection: Connection, stop_seconds: float | None) -> None:
        self.connection = connection
        self._stop_seconds = STOP_SECONDS_MAX if stop_seconds is None else stop_seconds
        self._groups: dict[str, Group] = {}
        self._later: set[asyncio.Task[Any]] = set()
        self._together = False

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Groups that are joined in the block start at its end, each with all of its subscribers."""
        self._together = True
        try:
            yield
        finally:
            self._together = False
        groups = list(self._groups.values())
        for group in groups:
            await group.start(self.connection, self._stop_seconds)
        await asyncio.gather(*[group.ready() for group in groups])

    async def join(self, member: GroupSubscriber) -> None:
        """Have `member` called with messages. Raises `OptionError`, and as `AsyncPushConsumer.start`."""
        group = self._groups.setdefault(member.group, Group(member.group))
        if group.consumer is not None:
            await self.connection.need_topics([member.topic])
        group.add(member)
        if not self._together:
            await group.start(self.connection, self._stop_seconds)
            await group.ready()

    async def leave(self, member: GroupSubscriber) -> None:
        """Call `member` no more; returns when its running calls are over."""
        group = self._groups.get(member.group)
        if group is None or group.members.get(member.topic) is not member:
            return
        del group.members[member.topic]
        if group.members and group.consumer is not None:
            group.consumer.unsubscribe(member.topic)
        else:
            del self._groups[member.group]
            await group.stop()

    def leave_later(self, member: GroupSubscriber) -> None:
        """As `leave`, for a member that is called right now and cannot wait for itself."""
        self._spawn(self.leave(member))

    async def stop(self) -> None:
        """Leave all groups."""
        if self._later:
            await asyncio.gather(*self._later)
        groups, self._groups = list(self._groups.values()), {}
        for failed in await asyncio.gather(*[group.stop() for group in groups], return_exceptions=True):
            if isinstance(failed, MqframeError):
                log.warning("a group was not left in good order", reason=str(failed))
            elif isinstance(failed, BaseException):
                raise failed

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)

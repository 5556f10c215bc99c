"""The consumers of a broker: one for each group, whatever number of topics its subscribers want.

All members of a group have to want the same, so what an application subscribes to in one group is one member.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import attrs
from mqframe_steering.rules.follower import GoneTopics
from mqframe_steering.rules.follower import owner_of as pattern_owner
from mqframe_steering.rules.patterns import TopicPattern

from mqframe import AsyncPushConsumer, ConsumerSettings, MessageQueue, MqframeError
from mqframe.log import get_logger
from mqframe_faststream.connection import Connection
from mqframe_faststream.consuming.queue_reader import QueueReader, ReadingSubscriber
from mqframe_faststream.errors import OptionError

log = get_logger("faststream")

TASKS_MAX = 10_000
SPARE_TASKS = 32
"""In a group of several subscribers calls that wait for a worker of theirs take so many tasks each."""
STOP_SECONDS_MAX = 86_400.0
QUEUE_SECONDS = 3.0
"""How long a start waits for queues; a group with more members than queues leaves some without."""
QUEUE_STEP_SECONDS = 0.005


class GroupSubscriber(ReadingSubscriber, Protocol):
    """A subscriber, as its group knows it."""

    @property
    def pattern(self) -> TopicPattern | None:
        """Which topics it wants, if it does not name one."""

    @property
    def queues(self) -> Mapping[MessageQueue, int | None]:
        """The queues that it reads by itself, if it shares none."""


S = TypeVar("S", bound=GroupSubscriber)


def owner_of(topic: str, members: Iterable[S]) -> S | None:
    """Which of the `members` of one group that have patterns has `topic`: whose pattern says most of it."""
    by_pattern = {pattern: member for member in members if (pattern := member.pattern) is not None}
    owner = pattern_owner(topic, {pattern: pattern for pattern in by_pattern})
    return None if owner is None else by_pattern[owner]


class Group:
    """The subscribers of one group, and their consumer once they run.

    `members`: by topic or text of a pattern; `topics`: what their consumer subscribes to, and for whom.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[str, GroupSubscriber] = {}
        self.topics: dict[str, GroupSubscriber] = {}
        self._gone = GoneTopics()
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
            if member.pattern is None:
                self._subscribe(self.consumer, topic, member)

    def drop(self, member: GroupSubscriber) -> None:
        """Subscribe no more to what `member` has, which is no longer a member."""
        for topic in [topic for topic, owner in self.topics.items() if owner is member]:
            del self.topics[topic]
            if self.consumer is not None:
                self.consumer.unsubscribe(topic)

    @property
    def follows(self) -> bool:
        """Whether a member wants topics by a pattern."""
        return any(member.pattern is not None for member in self.members.values())

    def meant(self, known: Iterable[str]) -> dict[str, GroupSubscriber]:
        """The topics among `known` that patterns mean and nobody has yet, and who wants each."""
        found: dict[str, GroupSubscriber] = {}
        for topic in known:
            if topic in self.topics or topic in self.members:
                continue  # who names a topic has it
            if (owner := owner_of(topic, self.members.values())) is not None:
                found[topic] = owner
        return found

    async def start(self, connection: Connection, stop_seconds: float) -> None:
        """Join the group, unless that was done, or no topic is known yet that its patterns mean."""
        if self.consumer is not None or not self.members:
            return
        named = [topic for topic, member in self.members.items() if member.pattern is None]
        await connection.need_topics(named)
        found = self.meant(await connection.topics()) if self.follows else {}
        await self._join(connection, stop_seconds, found)

    async def follow(
        self, connection: Connection, stop_seconds: float, known: Iterable[str], *, late: bool
    ) -> None:
        """Subscribe to those of the topics `known` that are meant, and were not; give up what is gone.

        `late`: they came after the patterns. A group that begins with what comes gets all of them, as what
        was there before it looked came after it began.
        """
        known = set(known)
        self._give_up_missing(known)
        found = self.meant(sorted(known))
        for topic, member in found.items():
            wanted = member.subscription
            if late and wanted.consume_from == "last" and not wanted.broadcasting:
                await connection.begin_with_all(self.name, topic)
            log.info("a topic is followed", topic=topic, group=self.name, pattern=member.topic)
        await self._join(connection, stop_seconds, found)

    def _give_up_missing(self, known: Collection[str]) -> None:
        followed = [topic for topic, member in self.topics.items() if member.pattern is not None]
        for topic in self._gone.look(followed, known):
            log.info("a topic is gone, and followed no more", topic=topic, group=self.name)
            del self.topics[topic]
            if self.consumer is not None:
                self.consumer.unsubscribe(topic)

    async def _join(
        self, connection: Connection, stop_seconds: float, found: Mapping[str, GroupSubscriber]
    ) -> None:
        """Subscribe to what members name, and to the topics `found` for them."""
        named = {topic: member for topic, member in self.members.items() if member.pattern is None}
        # Members may have come and left since these were found.
        still = {topic: member for topic, member in found.items() if member in self.members.values()}
        topics = {
            topic: member
            for topic, member in {**still, **named}.items()
            if self.topics.get(topic) is not member
        }
        if self.consumer is not None:
            for topic, member in topics.items():
                self._subscribe(self.consumer, topic, member)
            return
        if not topics:
            return
        members = list(self.members.values())
        if len(members) > 1:
            for member in members:
                member.share_tasks()
        consumer = self._consumer(connection, members, stop_seconds)
        for topic, member in topics.items():
            self._subscribe(consumer, topic, member)
        self.consumer = consumer
        try:
            await consumer.start()
        except BaseException:
            self.consumer = None
            self.topics.clear()
            await consumer.stop()
            raise

    async def ready(self) -> None:
        """Wait for queues: where a new group begins is settled then, and what is published later comes.

        Whoever pops has none: that is settled with its start.
        """
        consumer = self.consumer
        if consumer is None or consumer.mode == "pop":
            return
        wanted = {topic for topic in self.topics if not topic.startswith("%")}
        loop = asyncio.get_running_loop()
        until = loop.time() + QUEUE_SECONDS
        while not wanted <= {queue.topic for queue in consumer.queues} and loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(QUEUE_STEP_SECONDS)

    async def stop(self) -> None:
        """Pull nothing more, let running handlers finish, commit, leave."""
        consumer, self.consumer = self.consumer, None
        self.topics.clear()
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
            consume_from="last" if first.consume_from is None else first.consume_from,
            consume_hooks=options.consume_hooks,
            rpc_hooks=options.rpc_hooks if first.broadcasting else (),
            settings=settings,
            client=options.client,
            net=options.net,
            plugins=options.plugins,
            # Local offsets lie under the client id, which must be the same after a restart.
            instance=None if first.broadcasting else connection.instance,
        )

    def _subscribe(self, consumer: AsyncPushConsumer, topic: str, member: GroupSubscriber) -> None:
        wanted = member.subscription
        size = wanted.max_records if wanted.batch else 1
        self.topics[topic] = member
        consumer.subscribe(topic, wanted.expression, member.listen, batch_max=size)


class Groups:
    """All groups of a broker, and its readers of queues.

    `stop_seconds`: how long a stop waits for running handlers, `None` for as long as they take.
    """

    def __init__(self, connection: Connection, stop_seconds: float | None) -> None:
        self.connection = connection
        self._stop_seconds = STOP_SECONDS_MAX if stop_seconds is None else stop_seconds
        self._groups: dict[str, Group] = {}
        self._readers: dict[tuple[str, str], QueueReader] = {}
        self._later: set[asyncio.Task[Any]] = set()
        self._together = False
        self._following: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Groups that are joined in the block start at its end, each with all of its subscribers."""
        self._together = True
        try:
            yield
        finally:
            self._together = False
        groups, readers = list(self._groups.values()), list(self._readers.values())
        for group in groups:
            await group.start(self.connection, self._stop_seconds)
        for reader in readers:
            await reader.start()
        await asyncio.gather(*[group.ready() for group in groups])
        self._follow_patterns()

    async def join(self, member: GroupSubscriber) -> None:
        """Have `member` called with messages. Raises `OptionError`, and as `AsyncPushConsumer.start`."""
        if member.queues:
            await self._read(member)
            return
        if any(name == member.group for name, _ in self._readers):
            raise OptionError(_mixed(member.group))
        group = self._groups.setdefault(member.group, Group(member.group))
        running = group.consumer is not None
        if running and member.pattern is None:
            await self.connection.need_topics([member.topic])
        group.add(member)
        if self._together:
            return
        await group.start(self.connection, self._stop_seconds)
        if running and member.pattern is not None:
            known = await self.connection.topics()
            await group.follow(self.connection, self._stop_seconds, known, late=False)
        await group.ready()
        self._follow_patterns()

    async def leave(self, member: GroupSubscriber) -> None:
        """Call `member` no more; returns when its running calls are over."""
        reader = self._readers.get((member.group, member.topic))
        if reader is not None and reader.member is member:
            del self._readers[member.group, member.topic]
            await reader.stop()
            return
        group = self._groups.get(member.group)
        if group is None or group.members.get(member.topic) is not member:
            return
        del group.members[member.topic]
        if group.members:
            group.drop(member)
        else:
            del self._groups[member.group]
            await group.stop()

    def leave_later(self, member: GroupSubscriber) -> None:
        """As `leave`, for a member that is called right now and cannot wait for itself."""
        self._spawn(self.leave(member))

    async def stop(self) -> None:
        """Leave all groups."""
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
            await asyncio.wait({following})
        if self._later:
            await asyncio.gather(*self._later)
        all_of_them: list[Group | QueueReader] = [*self._groups.values(), *self._readers.values()]
        self._groups, self._readers = {}, {}
        for failed in await asyncio.gather(*[each.stop() for each in all_of_them], return_exceptions=True):
            if isinstance(failed, MqframeError):
                log.warning("a group was not left in good order", reason=str(failed))
            elif isinstance(failed, BaseException):
                raise failed

    async def _read(self, member: GroupSubscriber) -> None:
        if member.group in self._groups:
            raise OptionError(_mixed(member.group))
        place = member.group, member.topic
        if place in self._readers:
            raise OptionError(
                f"group {member.group} has two subscribers with queues of topic {member.topic}; name all"
                " queues with one, or give one another group"
            )
        reader = self._readers[place] = QueueReader(member, self.connection, self._stop_seconds)
        if not self._together:
            await reader.start()

    def _follow_patterns(self) -> None:
        if self._following is None and any(group.follows for group in self._groups.values()):
            self._following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self.connection.options.pattern_seconds)
            following = [group for group in self._groups.values() if group.follows]
            try:
                known = await self.connection.topics() if following else []
                for group in following:
                    await group.follow(self.connection, self._stop_seconds, known, late=True)
            except MqframeError as problem:
                log.warning("topics that patterns mean were not looked for", reason=str(problem))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)


def _mixed(group: str) -> str:
    return (
        f"subscribers of group {group}: some name queues, others share them; who names queues keeps under the"
        " group's name how far it is, so give it a group of its own"
    )

"""A mirror: copies topics of one cluster to another, until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from mqframe.core.errors import FixError, MqframeError, RetryError
from mqframe.log import get_logger
from mqframe_mirror.checkpoints import MirrorCheckpoints
from mqframe_mirror.groups import GroupProgress
from mqframe_mirror.link import MirrorLink
from mqframe_mirror.reading import told
from mqframe_mirror.rules.queues import assigned, read, written
from mqframe_mirror.settings import MirrorSettings
from mqframe_mirror.side import MirrorSide
from mqframe_mirror.topic import TopicMirror

log = get_logger("mirror")

NAMESPACE: Final = "MQFRAME_MIRROR"
"""Where name servers of the target keep, by the mirror's group, what it has to find again."""
BROKERS: Final = "brokers"
SINCE: Final = "since"
REFRESH_AT_ONCE: Final = 8


class Mirror:
    """Copies topics as `settings` say.

        async with Mirror(settings) as mirror:
            await mirror.run()

    Progress is kept by brokers of both clusters, so that another process goes on where this one was. One
    mirror may copy a topic at a time. `arguments`: keyword arguments of the clients of both sides, as
    `plugins`; `clock`: for tests. Raises `SettingError` for topics that make no sense, and for secrets that
    are not there.
    """

    def __init__(
        self, settings: MirrorSettings, *, arguments: dict[str, Any] | None = None, clock: Any = None
    ) -> None:
        self.settings = settings
        self._choice = settings.choice
        self.source = MirrorSide(settings.source, arguments, clock)
        self.target = MirrorSide(settings.target, arguments, clock)
        self.link = MirrorLink(self.source, self.target, settings)
        self.topics: dict[str, TopicMirror] = {}
        self.problems: dict[str, str] = {}
        """What holds topics up, by name; also of what is done for all of them."""
        self._missing: set[str] = set()
        self._checkpoints = MirrorCheckpoints(self.link)
        self.groups = GroupProgress(self.link)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Mirror:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Look at both clusters, and begin to copy.

        Raises `FixError` for two clusters that have one name, or are one, and what calls raise.
        """
        source, target = await self.source.find_name(), await self.target.find_name()
        if source == target:
            raise FixError(
                f"both clusters are called {source}: give them names, by --from-name and --to-name"
                " or name = in [from] and [to]; copies say by these where they have been"
            )
        masters = [set((await side.masters()).values()) for side in (self.source, self.target)]
        if masters[0] & masters[1]:
            raise FixError(
                f"{self.source.nameserver} and {self.target.nameserver} are one cluster: "
                f"both have the broker at {min(masters[0] & masters[1])}"
            )
        await self.source.open(self.link.group)
        await self.target.open(self.link.group)
        await self.source.ensure_group(self.link.group)
        await self.target.ensure_group(self.link.group)
        await self._remember_since()
        await self.refresh()
        self._every(self.settings.topics_seconds, self.refresh, "topics")
        self._every(self.settings.commit_seconds, self.commit, "commits")
        if self.settings.groups:
            self._every(self.settings.groups_seconds, self.move_groups, "groups")

    async def run(self) -> None:
        """Copy until the task is cancelled, or `stop` is called."""
        await asyncio.gather(*self._tasks)

    async def stop(self) -> None:
        """Copy no more: what is under way is waited for, and progress is committed."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        topics = list(self.topics.values())
        lanes = [lane for topic in topics for lane in topic.lanes.values()]
        await asyncio.gather(*[lane.stop() for lane in lanes])
        if topics:
            await self._checkpoints.commit(topics)
        self.topics = {}
        await self.source.close()
        await self.target.close()

    async def kill(self) -> None:
        """End as a killed process does, for tests: nothing is waited for, and nothing committed."""
        for task in self._tasks:
            task.cancel()
        for topic in self.topics.values():
            topic.kill()
        self._tasks, self.topics = [], {}
        for side in (self.source, self.target):
            await side.close()

    @property
    def caught_up(self) -> bool:
        """Whether nothing was left to copy when each queue was looked at last, and nothing is held up."""
        lanes = [lane for topic in self.topics.values() for lane in topic.lanes.values()]
        return not self.problems and all(lane.is_idle for lane in lanes)

    @property
    def held_up(self) -> MqframeError | None:
        """What somebody has to mend before a queue goes on, where there is such a thing."""
        lanes = [lane for topic in self.topics.values() for lane in topic.lanes.values()]
        failures = [lane.failure for lane in lanes if lane.failure is not None]
        return next((each for each in failures if not isinstance(each, RetryError)), None)

    async def commit(self) -> None:
        """Commit how far the copying is."""
        await self._checkpoints.commit(self.topics.values())

    async def move_groups(self) -> None:
        """Bring the progress of groups to the target."""
        await self.groups.move(list(self.topics.values()))

    async def refresh(self) -> None:
        """Look for topics, queues and brokers that came or went; a topic that fails waits for next time."""
        await self._assign_brokers()
        there = await self.source.puller.topics()
        hidden = await self.source.hidden_topics()
        chosen = self._choice.chosen(there, hidden, self.target.name)
        for gone in self.topics.keys() - set(chosen):
            await self.topics.pop(gone).end()
            self.problems.pop(gone, None)
        self._tell_missing(set(there))
        room = asyncio.Semaphore(REFRESH_AT_ONCE)
        for topic in chosen:
            if topic not in self.topics:
                name = self._choice.target(topic, self.source.name)
                self.topics[topic] = TopicMirror(self.link, topic, name)
        await asyncio.gather(*[self._refresh_topic(room, topic) for topic in chosen])

    def _tell_missing(self, there: set[str]) -> None:
        """Log topics that were named and are not there, once."""
        missing = self._choice.missing(there)
        for topic in sorted(missing - self._missing):
            log.warning("topic is not there yet", topic=topic, cluster=self.source.name)
        self._missing = missing

    async def _refresh_topic(self, room: asyncio.Semaphore, topic: str) -> None:
        async with room:
            try:
                await self.topics[topic].refresh()
                self.problems.pop(topic, None)
            except MqframeError as problem:
                self._note(topic, problem)

    async def _assign_brokers(self) -> None:
        """Give each broker of the source one of the target's, which it keeps, whoever runs the mirror."""
        kv, group = self.target.admin.kv, self.link.group
        known = self.link.brokers or read(await kv.get(NAMESPACE, f"{group}.{BROKERS}") or "")
        found = assigned(known, await self.source.masters(), await self.target.masters())
        if found != known:
            await kv.put(NAMESPACE, f"{group}.{BROKERS}", written(found))
        self.link.brokers = found

    async def _remember_since(self) -> None:
        kv, key = self.target.admin.kv, f"{self.link.group}.{SINCE}"
        since = await kv.get(NAMESPACE, key)
        if since is None or not since.isdecimal():
            since = str(self.link.clock.now_ms())
            await kv.put(NAMESPACE, key, since)
        self.link.since_ms = int(since)

    def _every(self, seconds: float, work: Callable[[], Awaitable[None]], name: str) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._repeat(seconds, work, name)))

    async def _repeat(self, seconds: float, work: Callable[[], Awaitable[None]], name: str) -> None:
        while True:
            await self.link.clock.sleep(seconds)
            try:
                await work()
                self.problems.pop(name, None)
            except MqframeError as problem:
                self._note(name, problem)

    def _note(self, name: str, problem: MqframeError) -> None:
        text = told(problem)
        if self.problems.get(name) != text:
            log.warning("mirror waits", what=name, problem=text)
        self.problems[name] = text

"""The topics that a consumer subscribes to by patterns: those that there are, and those that come later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import attrs

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.plan import GroupPlan
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.errors import MqframeError
from mqframe.core.messages.names import is_system_topic
from mqframe.core.requests.nameserver import GetAllTopicList
from mqframe.core.wire import loose_json
from mqframe.log import get_logger
from mqframe.net.clock import Every
from mqframe_steering.rules.follower import GoneTopics, owner_of
from mqframe_steering.rules.patterns import TopicPattern

log = get_logger("client")

Subscribe = Callable[[str], None]


async def known_topics(instance: ClientInstance) -> list[str]:
    """The topics that name servers know but those of the system, sorted.

    Raises `RouteError` when none answers, `AnswerError` when one refuses.
    """
    answer = await instance.call_nameserver(GetAllTopicList())
    known = loose_json.decode(memoryview(answer.body), TopicList).topic_list
    return sorted(topic for topic in known if not is_system_topic(topic))


@attrs.define
class _Followed:
    """One pattern. `late`: name servers were asked since it was there, so that what comes is new."""

    pattern: TopicPattern
    subscribe: list[Subscribe]
    late: bool = False


class FollowedTopics:
    """Has a consumer subscribe to what its patterns mean, as it joins and as often as routes are asked for.

    A topic belongs to the pattern that says most of its name, and to none when the application named it. A
    new group that begins with what comes gets all messages of topics that come later. What name servers know
    no more is given up after a while. `plan`: of the consumer; `unsubscribe`: gives one of its topics up. All
    methods belong to the loop.
    """

    def __init__(self, plan: GroupPlan, unsubscribe: Callable[[str], None]) -> None:
        self._plan = plan
        self._unsubscribe = unsubscribe
        self._patterns: dict[str, _Followed] = {}
        self._topics: dict[str, tuple[str, object]] = {}
        """Followed topics: by which pattern, and the subscription that they got."""
        self._gone = GoneTopics()
        self._every: Every | None = None
        self._one_look = asyncio.Lock()

    def add(self, text: str, subscribe: Subscribe, *, join: bool = False) -> None:
        """Follow what the pattern `text` means: `subscribe` subscribes to a topic.

        It takes the place of what the pattern had before, unless it is to `join` that. Raises `FixError` for
        what is no pattern.
        """
        pattern = TopicPattern(text)
        before = self._patterns.get(text)
        if before is not None and join:
            before.subscribe.append(subscribe)
        else:
            self._patterns[text] = _Followed(pattern, [subscribe], before is not None and before.late)
        for topic in self._of(text):
            if not join:
                self._unsubscribe(topic)
            subscribe(topic)
            self._note(topic, text)

    def drop(self, text: str) -> None:
        """Follow the pattern `text` no more: its topics are given up."""
        self._patterns.pop(text, None)
        for topic in self._of(text):
            self._let_go(topic)

    async def join(self, runtime: ConsumerRuntime) -> None:
        """Subscribe to what is there, before the member `runtime` joins, and look again and again.

        Raises `RouteError` when no name server answers, `AnswerError` when one refuses.
        """
        instance = runtime.instance
        known = await instance.patience.through(lambda: known_topics(instance))
        async with self._one_look:
            await self._follow(runtime, known)
        self._every = Every(
            self._plan.clock,
            instance.settings.route_poll_seconds,
            lambda: self.look(runtime),
            name="topics of patterns",
        )

    async def look(self, runtime: ConsumerRuntime) -> None:
        """Subscribe to what has come, and give up what has gone. Trouble is logged; the next look comes."""
        outages, group = runtime.instance.outages, self._plan.group
        async with self._one_look:
            try:
                known = await known_topics(runtime.instance)
                await self._follow(runtime, known)
            except MqframeError as problem:
                outages.note("topics that patterns mean were not looked for", group, problem, group=group)
            else:
                outages.over("topics that patterns mean were not looked for", group)

    def stop(self) -> None:
        """Look no more."""
        if self._every is not None:
            self._every.stop()

    async def _follow(self, runtime: ConsumerRuntime, known: Sequence[str]) -> None:
        for topic in self._gone.look(list(self._topics), set(known)):
            log.info("a topic is gone, and followed no more", topic=topic, group=self._plan.group)
            self._let_go(topic)
        patterns = {text: each.pattern for text, each in self._patterns.items()}
        asked = list(self._patterns.values())
        named = self._plan.subscriptions.by_topic
        new = [topic for topic in known if topic not in self._topics and topic not in named]
        found = {topic: text for topic in new if (text := owner_of(topic, patterns)) is not None}
        late = [topic for topic, text in found.items() if self._patterns[text].late]
        await runtime.parts.offsets.begin(late, late=True)
        for topic, text in found.items():
            followed = self._patterns.get(text)
            if followed is None or topic in named:
                continue  # the application was quicker
            log.info("a topic is followed", topic=topic, group=self._plan.group, pattern=text)
            for subscribe in followed.subscribe:
                subscribe(topic)
            self._note(topic, text)
        for each in asked:
            each.late = True

    def _note(self, topic: str, text: str) -> None:
        self._topics[topic] = text, self._plan.subscriptions.by_topic.get(topic)

    def _of(self, text: str) -> list[str]:
        return [topic for topic, (pattern, _) in self._topics.items() if pattern == text]

    def _let_go(self, topic: str) -> None:
        _, subscription = self._topics.pop(topic)
        # The application may have named it since, or given it up.
        if self._plan.subscriptions.by_topic.get(topic) is subscription is not None:
            self._unsubscribe(topic)

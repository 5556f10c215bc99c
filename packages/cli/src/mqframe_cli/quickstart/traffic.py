"""The traffic of quickstart: one producer, and the two members of one consumer group."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Final

import attrs

from mqframe import ConsumeResult, ConsumerSettings, Message, Producer, PushConsumer, ReceivedMessage
from mqframe.core.errors import CallTimeout
from mqframe.hooks.interfaces import TagSummary
from mqframe_cli.quickstart.events import Event
from mqframe_cli.quickstart.summary import add

GROUP: Final = "quickstart"
REPORT_EVERY: Final = 1000
WAITING_MAX: Final = 20_000
"""Sends without answer at once; their results are collected in the order of sending."""
SILENCE_SECONDS_MAX: Final = 30.0

Progress = Callable[[int], object]


@attrs.define
class SentTraffic:
    """What was sent. `ids` are the unique keys of the messages in the order of the input."""

    ids: list[str] = attrs.field(factory=list)
    expected: defaultdict[str, TagSummary] = attrs.field(factory=lambda: defaultdict(TagSummary))
    seconds: float = 0.0


def publish(nameserver: str, topic: str, events: Iterable[Event], progress: Progress) -> SentTraffic:
    """Send every event, its sharding key choosing the queue, and wait until all are stored."""
    sent = SentTraffic()
    waiting: deque[Any] = deque()
    started = time.perf_counter()
    with Producer(group=GROUP, nameserver=nameserver) as producer:
        for number, event in enumerate(events, 1):
            message = Message(topic, event.body, tag=event.tag, keys=[event.key])
            waiting.append(producer.submit(message, sharding_key=event.sharding_key))
            add(sent.expected, event.tag, event.value)
            if len(waiting) >= WAITING_MAX:
                sent.ids.append(waiting.popleft().result().message_id)
            if number % REPORT_EVERY == 0:
                progress(len(sent.ids))
        while waiting:
            sent.ids.append(waiting.popleft().result().message_id)
            if len(sent.ids) % REPORT_EVERY == 0:
                progress(len(sent.ids))
    progress(len(sent.ids))
    sent.seconds = time.perf_counter() - started
    return sent


@attrs.define
class ConsumerTally:
    """What one consumer of the group got. `messages` counts deliveries, repeated ones too."""

    name: str
    messages: int = 0
    queues: set[int] = attrs.field(factory=set)


class Consumers:
    """Two members of one group that read `topic` from its start. A context manager."""

    def __init__(
        self, nameserver: str, topic: str, strategy: Callable[[], object], progress: Progress
    ) -> None:
        self.members = [ConsumerTally("consumer-1"), ConsumerTally("consumer-2")]
        self.seen: set[str] = set()
        self.tags: dict[str, int] = {}
        self.repeated = 0
        self.seconds = 0.0
        self._first = 0.0
        self._progress = progress
        self._changed = threading.Condition()
        self._running = ExitStack()
        self._consumers = [self._consumer(member, nameserver, topic, strategy()) for member in self.members]

    def __enter__(self) -> Consumers:
        for consumer in self._consumers:
            self._running.enter_context(consumer)
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def wait_for(self, ids: set[str]) -> None:
        """Return once all of `ids` came. Raises `CallTimeout` when nothing new comes for 30 s."""
        with self._changed:
            while len(self.seen) < len(ids) or not ids <= self.seen:
                if not self._changed.wait_for(self._grown_beyond(len(self.seen)), SILENCE_SECONDS_MAX):
                    raise CallTimeout(
                        f"{len(ids - self.seen)} of {len(ids)} messages did not come to a consumer, "
                        f"and nothing new came for {SILENCE_SECONDS_MAX:g} s"
                    )

    def _grown_beyond(self, before: int) -> Callable[[], bool]:
        """Whether there is anything new: repeated messages wake who waits, too."""
        return lambda: len(self.seen) > before

    def _consumer(self, member: ConsumerTally, nameserver: str, topic: str, allocate: object) -> PushConsumer:
        consumer = PushConsumer(
            group=GROUP,
            nameserver=nameserver,
            allocate=allocate,
            consume_from="first",
            settings=ConsumerSettings(
                consume_threads=2, consume_message_batch_max_size=256, pull_messages_max=256
            ),
        )

        def handle(messages: Sequence[ReceivedMessage], context: Any) -> ConsumeResult:
            self._take(member, messages)
            return ConsumeResult.SUCCESS

        consumer.subscribe(topic, "*", handle)
        return consumer

    def _take(self, member: ConsumerTally, messages: Sequence[ReceivedMessage]) -> None:
        facts = [(message.message_id, message.tag or "") for message in messages]
        with self._changed:
            now = time.perf_counter()
            self._first = self._first or now
            member.messages += len(facts)
            member.queues.add(messages[0].queue_id)
            for message_id, tag in facts:
                if message_id in self.seen:
                    self.repeated += 1
                else:
                    self.seen.add(message_id)
                    self.tags[tag] = self.tags.get(tag, 0) + 1
            self.seconds = now - self._first
            self._progress(len(self.seen))
            self._changed.notify_all()

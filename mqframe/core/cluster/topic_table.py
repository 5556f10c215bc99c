"""The topics of one broker: what exists, what may be created, by whom (wire.md §8, store.md §5).

Source: TopicConfigManager.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from mqframe.core.clock import Clock
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.codes import PERM_INHERIT, PERM_READ, PERM_WRITE, ResponseCode
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.measuring.budget import admit_all
from mqframe.core.messages.names import (
    BENCHMARK_TOPIC,
    DEFAULT_TOPIC,
    HALF_TOPIC,
    OFFSET_MOVED_TOPIC,
    OP_HALF_TOPIC,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    TIMER_TOPIC,
    TRACE_TOPIC,
    dead_letter_topic,
    is_path_part,
    is_system_topic,
)
from mqframe.core.wire.bodies import DataVersion

READ_WRITE = PERM_READ | PERM_WRITE
QUEUES_MAX = 65_535
"""Most queues of a topic on one broker."""
DEAD_LETTER_QUEUES = 1
"""Queues of a dead-letter topic that is made by itself."""


class TopicTable:
    """Topics by name.

    `changes` grows with every change, so that the owner sees when to save and to register; `version` is what
    name servers compare. `admit`: raises where there is no room for so many more.
    """

    __slots__ = ("_changed_names", "_clock", "_own", "_topics", "admit", "changes", "version")

    def __init__(self, clock: Clock, system: Iterable[TopicConfig] = ()) -> None:
        self._clock = clock
        self._topics: dict[str, TopicConfig] = {str(topic.topic_name): topic for topic in system}
        self._own = frozenset(self._topics)
        self.version = DataVersion(timestamp=clock.now_ms())
        self.changes = 0
        self.admit: Callable[[int], None] = admit_all
        self._changed_names: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._topics))

    def __len__(self) -> int:
        return len(self._topics)

    def __contains__(self, name: str) -> bool:
        return name in self._topics

    def find(self, name: str) -> TopicConfig | None:
        """The configuration of topic `name`; `None` when there is none."""
        return self._topics.get(name)

    def need(self, name: str) -> TopicConfig:
        """The configuration of topic `name`. Raises `Refusal` TOPIC_NOT_EXIST."""
        topic = self._topics.get(name)
        if topic is None:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {name} does not exist on this broker")
        return topic

    def is_system(self, name: str) -> bool:
        """Whether the broker made this topic for itself."""
        return name in self._own or is_system_topic(name)

    @property
    def system_topics(self) -> list[str]:
        """The topics that the broker made for itself."""
        return [name for name in self._topics if self.is_system(name)]

    def load(self, table: TopicConfigTable) -> None:
        """Take over what was saved; it replaces what is there under the same name.

        Raises `BodyError` for a topic that no broker has.
        """
        for name, topic in table.topic_config_table.items():
            _check_saved(name, topic)
            self._topics[name] = (
                topic if topic.topic_name else msgspec.structs.replace(topic, topic_name=name)
            )
        self.version = table.data_version

    def replace(self, table: TopicConfigTable) -> None:
        """Be what `table` is, that of a master; topics that it has not go.

        Raises `BodyError` for a topic that no broker has; nothing is changed then.
        """
        old, version = self._topics, self.version
        self._topics = {}
        try:
            self.load(table)
        except BodyError:
            self._topics, self.version = old, version
            raise
        self._changed_names.update(old, self._topics)
        self.changes += 1

    def dump(self) -> TopicConfigTable:
        """Everything, as it is saved and registered."""
        return TopicConfigTable(data_version=self.version, topic_config_table=dict(self._topics))

    def take_changed(self) -> TopicConfigTable:
        """The topics made or changed since the last call, with today's version."""
        names, self._changed_names = self._changed_names, set()
        topics = {name: self._topics[name] for name in names if name in self._topics}
        return TopicConfigTable(data_version=self.version, topic_config_table=topics)

    def check(self, topic: TopicConfig) -> None:
        """Raise the `Refusal` with which `put` would meet `topic`, but for that of room."""
        _changed_attributes({}, topic.attributes)

    def put(self, topic: TopicConfig) -> bool:
        """Create or change a topic; attributes are given as changes. Returns whether anything changed.

        Raises `Refusal` for an attribute change that is not one, and where there is no room for another.
        """
        name = str(topic.topic_name)
        old = self._topics.get(name)
        if old is None:
            self.admit(1)
        attributes = _changed_attributes(old.attributes if old else {}, topic.attributes)
        topic = msgspec.structs.replace(topic, attributes=attributes)
        if topic == old:
            return False
        self._enter(name, topic)
        return True

    def ensure(
        self, name: str, queues: int, *, perm: int = READ_WRITE, order: bool = False, sys_flag: int = 0
    ) -> TopicConfig:
        """The topic `name`, made with `queues` queues when it does not exist yet.

        An existing topic is left as it is but for `order`. For topics that something which exists needs:
        there is always room.
        """
        topic = self._topics.get(name)
        if topic is not None and topic.order == order:
            return topic
        if topic is not None:
            topic = msgspec.structs.replace(topic, order=order)
        else:
            topic = TopicConfig(
                topic_name=name,
                read_queue_nums=queues,
                write_queue_nums=queues,
                perm=perm,
                order=order,
                topic_sys_flag=sys_flag,
            )
        return self._enter(name, topic)

    def dead_letters(self, group: str) -> str:
        """The name of the dead-letter topic of `group`, which is made on first use."""
        name = dead_letter_topic(group)
        if name not in self._topics:
            self.ensure(name, DEAD_LETTER_QUEUES)
        return name

    def create_like(
        self, name: str, model: str, queues: int, *, sys_flag: int = 0, auto_create: bool = True
    ) -> TopicConfig | None:
        """Make topic `name` after the topic `model`; `None` when that does not exist or hands nothing down.

        It gets the smaller of `queues`, which the client asks for, and the model's write queues.
        `auto_create`: whether TBW102 may serve as model. Raises `Refusal` where there is no room.
        """
        pattern = self._topics.get(model)
        if pattern is None or not pattern.perm & PERM_INHERIT or (model == DEFAULT_TOPIC and not auto_create):
            return None
        if name not in self._topics:
            self.admit(1)
        count = max(0, min(queues, pattern.write_queue_nums))
        topic = TopicConfig(
            topic_name=name,
            read_queue_nums=count,
            write_queue_nums=count,
            perm=pattern.perm & ~PERM_INHERIT,
            topic_filter_type=pattern.topic_filter_type,
            topic_sys_flag=sys_flag,
        )
        return self._enter(name, topic)

    def remove(self, name: str) -> bool:
        """Forget a topic; returns whether there was one."""
        if self._topics.pop(name, None) is None:
            return False
        self._changed(name)
        return True

    def touch(self) -> None:
        """Give the table a new version although no topic changed (the broker's own permission did)."""
        self._changed(*self._topics)

    def _enter(self, name: str, topic: TopicConfig) -> TopicConfig:
        self._topics[name] = topic
        self._changed(name)
        return topic

    def _changed(self, *names: str) -> None:
        self._changed_names.update(names)
        self.changes += 1
        self.version = self.version.next(self._clock.now_ms())


def _check_saved(name: str, topic: TopicConfig) -> None:
    # What was stored is damaged where it says what no request may: a table with it was never saved.
    if not is_path_part(name) or topic.topic_name not in (None, "", name):
        raise BodyError(f"topic {name[:40]!r} is called {str(topic.topic_name)[:40]!r}")
    for what, count in (("read", topic.read_queue_nums), ("write", topic.write_queue_nums)):
        if not 0 <= count <= QUEUES_MAX:
            raise BodyError(f"topic {name}: {count} {what} queues; the most is {QUEUES_MAX}")


def _changed_attributes(old: dict[str, str], wanted: dict[str, str]) -> dict[str, str]:
    # "+name" sets, "-name" removes (AttributeUtil.java); a plain name is one that was saved before.
    attributes = dict(old)
    for key, value in wanted.items():
        sign, name = key[:1], key[1:]
        if sign == "+" and name:
            attributes[name] = value
        elif sign == "-" and name:
            attributes.pop(name, None)
        else:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"attribute {key!r}: write +{key}=value to set, -{key} to remove"
            )
    return attributes


def parse_attributes(text: str | None) -> dict[str, str]:
    """The changes in "+name=value,-name". Raises `Refusal` for text that is something else."""
    changes: dict[str, str] = {}
    for piece in (text or "").split(","):
        if not piece.strip():
            continue
        key, equals, value = piece.strip().partition("=")
        if not (key.startswith("+") and equals) and not (key.startswith("-") and not equals):
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"attribute change {piece!r}: neither +name=value nor -name"
            )
        if key in changes:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"attribute {key} is changed twice")
        changes[key] = value
    return changes


def no_read_queue(topic: TopicConfig, queue_id: int, code: int = ResponseCode.INVALID_PARAMETER) -> Refusal:
    """The refusal of a read of queue `queue_id`, which `topic` does not have."""
    return Refusal(
        code,
        f"queue id {queue_id} of topic {topic.topic_name} does not exist: "
        f"it has {topic.read_queue_nums} read queues",
    )


def system_topics(
    cluster: str, broker: str, *, default_queues: int = 8, auto_create: bool = True, trace: bool = False
) -> list[TopicConfig]:
    """The topics that a broker makes for itself when it starts (store.md §5)."""
    inherited = READ_WRITE | PERM_INHERIT
    made = [
        (SELF_TEST_TOPIC, 1, READ_WRITE),
        (BENCHMARK_TOPIC, 1024, READ_WRITE),
        (cluster, 16, inherited),
        (broker, 1, inherited),
        (OFFSET_MOVED_TOPIC, 1, READ_WRITE),
        (SCHEDULE_TOPIC, 18, READ_WRITE),
        (f"{cluster}_REPLY_TOPIC", 1, READ_WRITE),
        (f"rmq_sys_REVIVE_LOG_{cluster}", 8, READ_WRITE),
        (f"rmq_sys_SYNC_BROKER_MEMBER_{broker}", 1, PERM_INHERIT),
        (HALF_TOPIC, 1, READ_WRITE),
        (OP_HALF_TOPIC, 1, READ_WRITE),
        (TIMER_TOPIC, 1, READ_WRITE),
    ]
    if auto_create:
        made.append((DEFAULT_TOPIC, default_queues, inherited))
    if trace:
        made.append((TRACE_TOPIC, 1, READ_WRITE))
    return [
        TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm)
        for name, queues, perm in made
    ]

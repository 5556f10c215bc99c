"""What subscribers ask for, checked when they are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict

import attrs
from faststream.middlewares import AckPolicy
from mqframe_steering.rules.patterns import topic_pattern

from mqframe import FixError, MessageQueue, Sql
from mqframe.core.filtering.filter_expression import filter_of
from mqframe.core.messages.names import check_group, check_topic
from mqframe.core.moments import moment_ms
from mqframe_faststream.errors import OptionError

GROUP_PREFIX = "faststream-"
"""Subscribers of a topic without a group share the one that is named so, after their topic."""
WORKERS_MAX = 10_000
RECORDS_MAX = 1024

Tags = str | Iterable[str] | Sql
ConsumeFrom = str | int | datetime
Queues = Collection[MessageQueue] | Mapping[MessageQueue, int | None]
"""Queues of one topic, with or without the offset where each is to begin."""


class GroupOptions(TypedDict, total=False):
    """What subscribers of one group have to say alike; `MqframeBroker.subscriber` says what it means."""

    ordered: bool
    broadcasting: bool
    mode: str
    mode_options: object
    consume_from: ConsumeFrom | None
    max_reconsume_times: int | None
    consume_timeout: float | None


@attrs.frozen(kw_only=True)
class SubscriberPlan:
    """What one subscriber wants. The names are those of `MqframeBroker.subscriber`.

    `topic`: empty with a `pattern`; `expression`: "*", tags joined by "||", or `Sql`; `consume_from`: `None`
    leaves it to the broker; `queues`: where each begins, `None` for where its group is. Raises `OptionError`
    when something makes no sense.
    """

    topic: str = ""
    pattern: str = ""
    queues: Mapping[MessageQueue, int | None] | None = None
    group: str = ""
    expression: str | Sql = "*"
    ordered: bool = False
    broadcasting: bool = False
    mode: str = "pull"
    mode_options: object = None
    consume_from: ConsumeFrom | None = None
    batch: bool = False
    max_records: int = 1
    max_workers: int = 1
    max_reconsume_times: int | None = None
    consume_timeout: float | None = None

    def __attrs_post_init__(self) -> None:
        where = f"subscriber of {self.name!r}"
        self._check_source(where)
        try:
            if self.group:
                check_group(self.group)
            filter_of(self.expression)
        except FixError as problem:
            raise OptionError(f"{where}: {problem}") from None
        if not 1 <= self.max_workers <= WORKERS_MAX:
            raise OptionError(f"{where}: max_workers is {self.max_workers}; 1 to {WORKERS_MAX} are allowed")
        if not 1 <= self.max_records <= RECORDS_MAX:
            raise OptionError(f"{where}: max_records is {self.max_records}; 1 to {RECORDS_MAX} are allowed")
        if self.consume_from is not None:
            checked_beginning(self.consume_from, where)
        if self.consume_timeout is not None and self.consume_timeout <= 0:
            raise OptionError(f"{where}: consume_timeout is {self.consume_timeout} s; it must be more than 0")
        if self.max_reconsume_times is not None and self.max_reconsume_times < 0:
            raise OptionError(f"{where}: max_reconsume_times is {self.max_reconsume_times}; 0 is the least")

    def _check_source(self, where: str) -> None:
        if self.topic and self.pattern:
            raise OptionError(f"{where}: a topic or a pattern is subscribed to, not both")
        if self.pattern and self.queues is not None:
            raise OptionError(f"{where}: queues are named, or topics by a pattern, not both")
        if self.pattern:
            try:
                topic_pattern(self.pattern)
            except FixError as problem:
                raise OptionError(str(problem)) from None
            return
        if not self.topic or not isinstance(self.topic, str):
            raise OptionError(f"{where}: the topic is a name, not empty")
        try:
            check_topic(self.topic)
        except FixError as problem:
            raise OptionError(f"{where}: {problem}") from None
        if self.queues is None:
            return
        for name in ("ordered", "broadcasting", "mode_options", "consume_timeout"):
            if getattr(self, name):
                raise OptionError(f"{where}: {name} is for what groups share; leave it out with queues")
        if self.mode != "pull":
            raise OptionError(f"{where}: mode {self.mode!r} reads no queues; leave it out with queues")

    @property
    def name(self) -> str:
        """The topic, or the pattern."""
        return self.topic or self.pattern

    def beginning(self, usual: ConsumeFrom) -> SubscriberPlan:
        """This plan; its group begins at `usual` where it does not say."""
        return self if self.consume_from is not None else attrs.evolve(self, consume_from=usual)

    def disagreements(self, other: SubscriberPlan) -> list[str]:
        """In which options of their group this one and `other` differ."""
        names = GroupOptions.__annotations__
        return [name for name in names if getattr(self, name) != getattr(other, name)]


def checked_beginning(consume_from: ConsumeFrom, where: str) -> ConsumeFrom:
    """`consume_from`. Raises `OptionError`, which says `where`, unless a group can begin there."""
    if isinstance(consume_from, str):
        if consume_from not in ("last", "first"):
            raise OptionError(
                f'{where}: consume_from is {consume_from!r}; "last", "first" or a moment are allowed'
            )
        return consume_from
    try:
        moment_ms(consume_from, "consume_from")
    except FixError as problem:
        raise OptionError(f"{where}: {problem}") from None
    return consume_from


def source(topic: str, pattern: str, queues: Queues | None) -> dict[str, Any]:
    """What a plan is told of where its messages come from: the topic is that of the queues, if there are any.

    Raises `OptionError` for what are no queues of one topic.
    """
    named = None if queues is None else queues_of(queues, topic)
    if named is not None:
        topic = next(iter(named)).topic
    return {"topic": topic, "pattern": pattern, "queues": named}


def queues_of(given: Queues, topic: str = "") -> dict[MessageQueue, int | None]:
    """`given`, each with its offset. Raises `OptionError` for what are no queues of one topic.

    `topic`: which one, if that is said besides.
    """
    offsets: dict[MessageQueue, int | None] = (
        dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
    )
    where = "subscriber with queues"
    if not offsets:
        raise OptionError(f"{where}: there are none; name at least one, or leave queues out")
    for queue, offset in offsets.items():
        if not isinstance(queue, MessageQueue):
            raise OptionError(f"{where}: {queue!r} is no MessageQueue(topic, broker_name, queue_id)")
        if offset is not None and (not isinstance(offset, int) or isinstance(offset, bool) or offset < 0):
            raise OptionError(f"{where}: {offset!r} is no offset of {queue}; give one from 0 on, or None")
    topics = sorted({queue.topic for queue in offsets} | ({topic} if topic else set()))
    if len(topics) > 1:
        raise OptionError(f"{where}: they are of topics {', '.join(topics)}; give each topic a subscriber")
    return offsets


def expression_of(tags: Tags | None, sql: str | Sql | None, topic: str) -> str | Sql:
    """What `tags` or `sql` choose. Raises `OptionError` for both, and for what is no tag."""
    where = f"subscriber of {topic!r}"
    if tags is not None and sql is not None:
        raise OptionError(f"{where}: tags and sql are given; messages are chosen by one of them")
    if sql is not None:
        try:
            return sql if isinstance(sql, Sql) else Sql(sql)
        except FixError as problem:
            raise OptionError(f"{where}: {problem}") from None
    if tags is None:
        return "*"
    if isinstance(tags, str | Sql):
        return _no_blanks(tags, where) if isinstance(tags, str) else tags
    names = list(tags)
    for name in names:
        if not isinstance(name, str) or not name.strip() or "|" in name or "*" in name:
            raise OptionError(f"{where}: {name!r} is no tag; a tag is a text without | and *")
    return _no_blanks(" || ".join(names), where)


def _no_blanks(tags: str, where: str) -> str:
    if not tags.strip():
        raise OptionError(f"{where}: tags is empty; leave it out for all messages")
    for tag in tags.split("||"):
        if len(tag.split()) != 1 or "|" in tag:
            raise OptionError(f'{where}: {tag.strip()!r} is no tag; write tags as in "paid || refunded"')
    return tags


def records(batch: bool, max_records: int | None, topic: str) -> int:
    """How many messages a handler gets at once. Raises `OptionError` for a number without `batch`."""
    if max_records is not None and not batch:
        raise OptionError(f"subscriber of {topic!r}: max_records is for batch=True")
    if not batch:
        return 1
    return 32 if max_records is None else max_records


def check_policy(subscription: SubscriberPlan, policy: object) -> None:
    """Raise `OptionError` for an `AckPolicy` that cannot be kept."""
    keeps = policy in (AckPolicy.NACK_ON_ERROR, AckPolicy.REJECT_ON_ERROR, AckPolicy.MANUAL)
    if subscription.broadcasting and keeps and isinstance(policy, AckPolicy):
        raise OptionError(
            f"subscriber of {subscription.name!r}: ack_policy {policy.name} with broadcasting; nobody keeps "
            "what fails there, use ACK or ACK_FIRST"
        )

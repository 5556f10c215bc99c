"""What subscribers ask for, checked when they are made."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import attrs
from faststream.middlewares import AckPolicy

from mqframe import FixError, Sql
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


@attrs.frozen(kw_only=True)
class SubscriberPlan:
    """What one subscriber wants. The names are those of `MqframeBroker.subscriber`.

    `expression`: "*", tags joined by "||", or `Sql`. Raises `OptionError` when something makes no sense.
    """

    topic: str
    group: str = ""
    expression: str | Sql = "*"
    ordered: bool = False
    broadcasting: bool = False
    mode: str = "pull"
    mode_options: object = None
    consume_from: ConsumeFrom = "last"
    batch: bool = False
    max_records: int = 1
    max_workers: int = 1
    max_reconsume_times: int | None = None
    consume_timeout: float | None = None

    def __attrs_post_init__(self) -> None:
        where = f"subscriber of {self.topic!r}"
        if not self.topic or not isinstance(self.topic, str):
            raise OptionError(f"{where}: the topic is a name, not empty")
        try:
            check_topic(self.topic)
            if self.group:
                check_group(self.group)
            filter_of(self.expression)
        except FixError as problem:
            raise OptionError(f"{where}: {problem}") from None
        if not 1 <= self.max_workers <= WORKERS_MAX:
            raise OptionError(f"{where}: max_workers is {self.max_workers}; 1 to {WORKERS_MAX} are allowed")
        if not 1 <= self.max_records <= RECORDS_MAX:
            raise OptionError(f"{where}: max_records is {self.max_records}; 1 to {RECORDS_MAX} are allowed")
        if isinstance(self.consume_from, str) and self.consume_from not in ("last", "first"):
            raise OptionError(
                f'{where}: consume_from is {self.consume_from!r}; "last", "first" or a moment are allowed'
            )
        if not isinstance(self.consume_from, str):
            try:
                moment_ms(self.consume_from, "consume_from")
            except FixError as problem:
                raise OptionError(f"{where}: {problem}") from None
        if self.consume_timeout is not None and self.consume_timeout <= 0:
            raise OptionError(f"{where}: consume_timeout is {self.consume_timeout} s; it must be more than 0")
        if self.max_reconsume_times is not None and self.max_reconsume_times < 0:
            raise OptionError(f"{where}: max_reconsume_times is {self.max_reconsume_times}; 0 is the least")

    def disagreements(self, other: SubscriberPlan) -> list[str]:
        """In which options of their group this one and `other` differ."""
        return [name for name in OF_GROUP if getattr(self, name) != getattr(other, name)]


OF_GROUP = (
    "ordered",
    "broadcasting",
    "mode",
    "mode_options",
    "consume_from",
    "max_reconsume_times",
    "consume_timeout",
)
"""What all subscribers of a group must say alike."""


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
            f"subscriber of {subscription.topic!r}: ack_policy {policy.name} with broadcasting; nobody keeps "
            "what fails there, use ACK or ACK_FIRST"
        )

"""Topics and groups that there are, so that a misspelt one is an error instead of an empty answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from mqframe.core.errors import FixError
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, is_system_group, is_system_topic

if TYPE_CHECKING:
    from mqframe import Admin


class NoSuchName(FixError):
    """A topic or group that does not exist. The message says what was probably meant."""


def check_known(admin: Admin, topic: str | None = None, group: str | None = None) -> None:
    """Raise `NoSuchName` unless there are such a topic and such a group; `None` is not looked for."""
    if topic is None and group is None:
        return
    topics = admin.topics.list()
    if topic is not None and topic not in topics:
        raise NoSuchName(_missing("topic", topic, [name for name in topics if not is_system_topic(name)]))
    if group is None or {RETRY_PREFIX + group, DLQ_PREFIX + group}.intersection(topics):
        return
    groups = admin.groups.list()
    # One whose settings were deleted, or never made, may still have offsets or members.
    if group in groups or admin.groups.stats(group) or admin.members.consumers(group).connection_set:
        return
    raise NoSuchName(_missing("group", group, [name for name in groups if not is_system_group(name)]))


def listed_topics(admin: Admin, *, every: bool) -> list[str]:
    """Topics in `topic_order`; those of the system only with `every`."""
    names = sorted(admin.topics.list(), key=topic_order)
    if every:
        return names
    from mqframe_admin.rules.internal_topics import internal_topics

    info = admin.cluster.info()
    hidden = internal_topics(info.broker_addr_table, info.cluster_addr_table)
    return [name for name in names if not (is_system_topic(name) or name in hidden)]


def topic_order(name: str) -> tuple[bool, str]:
    """By what topics are sorted for people: by name, and those that groups have for retries come last."""
    return name.startswith("%"), name


def _missing(what: str, name: str, known: Collection[str]) -> str:
    from mqframe.core.config.suggestions import did_you_mean

    near = did_you_mean(name, known) or f"mqframe {what} list shows those that there are"
    return f"there is no {what} {name}; {near}"

"""Names of topics and groups: what is legal, what is reserved, how derived names are made (wire.md §8)."""

from __future__ import annotations

import re
from typing import Final

from mqframe.core.errors import MessageError

DEFAULT_TOPIC: Final = "TBW102"
"""Topics that do not exist yet are made after this one where auto-creation is on."""
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
OFFSET_MOVED_TOPIC: Final = "OFFSET_MOVED_EVENT"
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
SYSTEM_PREFIX: Final = "rmq_sys_"
REPLY_SUFFIX: Final = "_REPLY_TOPIC"

TOPIC_LENGTH_MAX: Final = 127
RETRY_TOPIC_LENGTH_MAX: Final = 255
GROUP_LENGTH_MAX: Final = 120

FORBIDDEN_TO_PRODUCERS: Final = frozenset(
    {SCHEDULE_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC}
)
SYSTEM_TOPICS: Final = frozenset({DEFAULT_TOPIC, BENCHMARK_TOPIC, TRACE_TOPIC, *FORBIDDEN_TO_PRODUCERS})

_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")


def retry_topic(group: str) -> str:
    """The topic through which a group's failed messages come back."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """The dead-letter topic of a group."""
    return DLQ_PREFIX + group


def reply_topic(cluster: str) -> str:
    """The topic by which replies find a broker of `cluster`, and that keeps them."""
    return cluster + REPLY_SUFFIX


def is_system_topic(topic: str) -> bool:
    """Whether brokers make and use `topic` themselves."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX)


def check_topic(topic: str) -> None:
    """Raise `MessageError` unless `topic` is a legal name."""
    limit = RETRY_TOPIC_LENGTH_MAX if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) else TOPIC_LENGTH_MAX
    _check_name("topic", topic, limit)


def check_group(group: str) -> None:
    """Raise `MessageError` unless `group` is a legal name of a producer or consumer group."""
    _check_name("group", group, GROUP_LENGTH_MAX)


def _check_name(what: str, name: str, limit: int) -> None:
    if not name:
        raise MessageError(f"{what} name is empty")
    if len(name) > limit:
        raise MessageError(f"{what} name {name[:40]!r}… has {len(name)} characters, {limit} are allowed")
    if not _NAME.fullmatch(name):
        raise MessageError(f"{what} name {name!r} may hold only letters, digits, _ - % and |")

"""Names of topics and groups: what is legal, what is reserved, how derived names are made (wire.md §8)."""

from __future__ import annotations

import re
from functools import lru_cache
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
TRACE_DATA_PREFIX: Final = "rmq_sys_TRACE_DATA_"
"""Topics that clients write traces to where they are told to (TraceConstants.java)."""
REPLY_SUFFIX: Final = "_REPLY_TOPIC"

TOPIC_LENGTH_MAX: Final = 127
RETRY_TOPIC_LENGTH_MAX: Final = 255
GROUP_LENGTH_MAX: Final = 120
PATH_PART_BYTES_MAX: Final = 255
"""Longest name of a file or folder, bytes, on the usual file systems."""
QUEUE_ID_MAX: Final = (1 << 31) - 1
"""Records hold queue ids in 32 bits."""

FORBIDDEN_TO_PRODUCERS: Final = frozenset(
    {SCHEDULE_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC}
)
WAITING_TOPICS: Final = (SCHEDULE_TOPIC, TIMER_TOPIC, HALF_TOPIC, OP_HALF_TOPIC)
"""Where messages wait: what stands there is not delivered."""
SYSTEM_TOPICS: Final = frozenset({DEFAULT_TOPIC, BENCHMARK_TOPIC, TRACE_TOPIC, *FORBIDDEN_TO_PRODUCERS})
TOOLS_GROUP: Final = "TOOLS_CONSUMER"
"""The group that tools read as (MixAll.TOOLS_CONSUMER_GROUP). Nothing is committed for it."""
SYSTEM_GROUPS: Final = (
    TOOLS_GROUP,
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    "CID_RMQ_SYS_TRANS",
)
"""Groups that a broker makes for itself when it starts."""
BROKER_GROUP_PREFIX: Final = "CID_RMQ_SYS_"
"""Groups whose offsets say how far transactions and revivals are (MixAll.CID_RMQ_SYS_PREFIX)."""

_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")


def retry_topic(group: str) -> str:
    """The topic through which a group's failed messages come back."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """The dead-letter topic of a group."""
    return DLQ_PREFIX + group


def normal_topic(topic: str, group: str) -> str:
    """The topic whose messages come back in `topic`; `topic` itself when it is no retry topic of `group`."""
    head = RETRY_PREFIX + group
    if topic.startswith(head) and topic[len(head) : len(head) + 1] in ("_", "+"):
        return topic[len(head) + 1 :]
    return topic


def reply_topic(cluster: str) -> str:
    """The topic by which replies find a broker of `cluster`, and that keeps them."""
    return cluster + REPLY_SUFFIX


def is_system_topic(topic: str) -> bool:
    """Whether brokers make and use `topic` themselves."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX)


def is_system_group(group: str) -> bool:
    """Whether brokers make and use `group` themselves."""
    return group in SYSTEM_GROUPS or group.startswith(BROKER_GROUP_PREFIX)


def is_closed_topic(topic: str) -> bool:
    """Whether only the broker itself writes to `topic`, because it acts on what is stored there.

    Besides what TopicValidator.java refuses these are all topics with the system's prefix, but for those
    that clients write traces to.
    """
    if topic in FORBIDDEN_TO_PRODUCERS:
        return True
    return topic.startswith(SYSTEM_PREFIX) and not topic.startswith(TRACE_DATA_PREFIX)


@lru_cache(maxsize=1 << 14)
def is_path_part(name: str) -> bool:
    """Whether a file or folder can be named `name`, and then lies in the folder that it is looked for in.

    Whatever was stored by others, or before names were checked, is looked at with this before a path is made
    of it; legal topics and groups all pass.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return False
    try:
        return len(name.encode()) <= PATH_PART_BYTES_MAX
    except UnicodeEncodeError:
        return False


def is_queue_place(topic: str, queue_id: int) -> bool:
    """Whether a queue of `topic` with this id can be kept in files."""
    return 0 <= queue_id <= QUEUE_ID_MAX and is_path_part(topic)


def check_path_part(what: str, name: str) -> None:
    """Raise `MessageError` unless a folder may be named `name`; `what` says what is named so."""
    if not is_path_part(name):
        raise MessageError(
            f"{what} {_shown(name)} cannot name a folder: it is empty, leads elsewhere,"
            f" or is longer than {PATH_PART_BYTES_MAX} bytes"
        )


def check_topic(topic: str) -> None:
    """Raise `MessageError` unless `topic` is a legal name."""
    retries = isinstance(topic, str) and topic.startswith((RETRY_PREFIX, DLQ_PREFIX))
    _check_name("topic", topic, RETRY_TOPIC_LENGTH_MAX if retries else TOPIC_LENGTH_MAX)


def check_group(group: str) -> None:
    """Raise `MessageError` unless `group` is a legal name of a producer or consumer group."""
    _check_name("group", group, GROUP_LENGTH_MAX)


def _shown(name: str) -> str:
    return repr(name) if len(name) <= 40 else f"{name[:40]!r}…"


def _check_name(what: str, name: object, limit: int) -> None:
    if not isinstance(name, str):
        raise MessageError(f"{what} name is a {type(name).__qualname__}, not a str")
    if not name:
        raise MessageError(f"{what} name is empty")
    if len(name) > limit:
        raise MessageError(f"{what} name {name[:40]!r}… has {len(name)} characters, {limit} are allowed")
    if not _NAME.fullmatch(name):
        raise MessageError(f"{what} name {name!r} may hold only letters, digits, _ - % and |")

"""Which names of topics and groups clients may use. Source: GrpcValidator.java.

The namespace of a resource is not looked at, as Apache's proxies do it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Protocol

from mqframe.core.errors import MessageError
from mqframe.core.messages.names import check_group, check_topic, is_system_group, is_system_topic
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

_ROCKSDB_TOPIC: Final = "CHECKPOINT_TOPIC"
"""Where Apache's brokers keep the offsets of a store in RocksDB (TopicValidator.java)."""


class Named(Protocol):
    """A `Resource`, or what is read of one."""

    @property
    def name(self) -> str:
        """As the client gave it."""


def topic_name(resource: Named) -> str:
    """The name of the topic `resource`. Raises `Rejected` ILLEGAL_TOPIC for no legal one, or the system's."""
    return legal_topic(resource.name)


def group_name(resource: m.Resource) -> str:
    """The name of the consumer group `resource`. Raises `Rejected` ILLEGAL_CONSUMER_GROUP, as above."""
    return legal_group(resource.name)


@lru_cache(maxsize=1 << 14)
def legal_topic(name: str) -> str:
    """The name of a topic, itself. Raises as `topic_name`."""
    try:
        check_topic(name)
    except MessageError as problem:
        raise Rejected(m.Code.ILLEGAL_TOPIC, str(problem)) from None
    if is_system_topic(name) or name == _ROCKSDB_TOPIC:
        raise Rejected(m.Code.ILLEGAL_TOPIC, f"topic {name} is the system's own; choose another one")
    return name


@lru_cache(maxsize=1 << 14)
def legal_group(name: str) -> str:
    """The name of a consumer group, itself. Raises as `group_name`."""
    try:
        check_group(name)
    except MessageError as problem:
        raise Rejected(m.Code.ILLEGAL_CONSUMER_GROUP, str(problem)) from None
    if is_system_group(name):
        raise Rejected(m.Code.ILLEGAL_CONSUMER_GROUP, f"group {name} is the system's own; choose another one")
    return name

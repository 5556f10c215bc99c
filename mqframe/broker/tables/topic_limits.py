"""Which topics operators and producers may make."""

from __future__ import annotations

from typing import Final

from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MessageError, Refusal
from mqframe.core.messages.names import check_topic

ATTRIBUTES_CHARS_MAX: Final = 16_384
"""Longest names and values of all attributes of a topic together."""


class TopicLimits:
    """Looks at topics before they are made or changed."""

    __slots__ = ("_live", "_topics")

    def __init__(self, topics: TopicTable, live: LiveSettings) -> None:
        self._topics = topics
        self._live = live

    def check(self, topic: TopicConfig) -> None:
        """Raise `Refusal` 29 for a name that is none or the system's, and for more than a topic may have."""
        name, perm = topic.topic_name or "", topic.perm
        read_queues, write_queues = topic.read_queue_nums, topic.write_queue_nums
        try:
            check_topic(name)
        except MessageError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        if self._topics.is_system(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name} is the system's own")
        most = self._live.current.topic_queues_max
        old = self._topics.find(name)
        if old is not None:
            most = max(most, old.read_queue_nums, old.write_queue_nums)
        if not (0 <= read_queues <= most and 0 <= write_queues <= most):
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"topic {name}: {read_queues} read, {write_queues} write queues; the most is {most} "
                "(broker.topic_queues_max)",
            )
        self._check_attributes(topic)
        if not 0 <= perm <= 15:
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name}: permission {perm} is none")

    def _check_attributes(self, topic: TopicConfig) -> None:
        old = self._topics.find(topic.topic_name or "")
        names = {name.lstrip("+-") for name in topic.attributes} | set(old.attributes if old else ())
        limit = self._live.current.attributes_max
        if len(names) > limit:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"topic {topic.topic_name}: {len(names)} attributes; the most is {limit} "
                "(broker.attributes_max)",
            )
        size = sum(len(name) + len(value) for name, value in topic.attributes.items())
        size += len(topic.topic_filter_type)
        if size > ATTRIBUTES_CHARS_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"topic {topic.topic_name}: attributes of {size} characters; the most is "
                f"{ATTRIBUTES_CHARS_MAX}",
            )

"""What a record of the log says about keys: the window after a restart comes from the log alone."""

from __future__ import annotations

from mqframe.core.delay.recall_handle import recall_handle
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.wire.bodies import Body
from mqframe_deduplication.counting import counting_topic
from mqframe_deduplication.options import GROUP, DeduplicationOptions
from mqframe_deduplication.rule import GROUP_PROPERTY
from mqframe_deduplication.window import First, Identity, Window, identity


class WindowPosition(Body):
    """What is saved of a window: where in the log it has to be read again from, bytes; -1: not known yet."""

    rebuild_from: int = -1


class WindowTable:
    """Saves from where the log has to be read; `move` says when that is further on."""

    def __init__(self) -> None:
        self.changes = 0
        self.rebuild_from = -1

    def dump(self) -> WindowPosition:
        """Everything, as a body."""
        return WindowPosition(rebuild_from=self.rebuild_from)

    def load(self, table: WindowPosition) -> None:
        """Take over what was saved."""
        self.rebuild_from = table.rebuild_from

    def move(self, offset: int) -> None:
        """Nothing before log `offset` is remembered any more."""
        if offset != self.rebuild_from:
            self.rebuild_from = offset
            self.changes += 1


class Rebuilding:
    """Notes the records of the log in `window`, as the sends that stored them were."""

    def __init__(self, options: DeduplicationOptions, window: Window, broker_name: str) -> None:
        self._name = options.property
        self._per_group = options.scope == GROUP
        self._window = window
        self._broker_name = broker_name

    def note(self, message: ReceivedMessage) -> None:
        """Remember the key of `message`, if it has one that counts."""
        if self._name not in message.raw_properties:
            return
        found = self._identity(message)
        if found is not None:
            self._window.note(found, self._first(message))

    def _identity(self, message: ReceivedMessage) -> Identity | None:
        properties = message.properties
        key = properties.get(self._name)
        topic = counting_topic(message.topic, properties, message.sys_flag)
        if not key or topic is None:
            return None
        if not self._per_group:
            return identity(topic, "", key)
        group = properties.get(GROUP_PROPERTY)
        return None if group is None else identity(topic, group, key)

    def _first(self, message: ReceivedMessage) -> First:
        properties = message.properties
        waits = p.REAL_TOPIC in properties
        return First(
            message.commit_log_offset,
            message.store_size,
            int(properties.get(p.REAL_QUEUE_ID, "0")) if waits else message.queue_id,
            message.queue_offset,
            message.store_timestamp,
            properties.get(p.UNIQUE_KEY, ""),
            self._recall_handle(message) if message.topic == TIMER_TOPIC else "",
        )

    def _recall_handle(self, message: ReceivedMessage) -> str:
        properties = message.properties
        return recall_handle(
            properties[p.REAL_TOPIC],
            self._broker_name,
            int(properties[p.TIMER_OUT_MS]),
            properties[p.UNIQUE_KEY],
        )

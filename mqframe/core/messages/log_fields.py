"""How messages are named in logs, so that whoever reads a line finds them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import retry_topic

SHOWN_MAX: Final = 8
"""Messages of a batch that are named, the first."""


def log_fields(messages: Sequence[ReceivedMessage], group: str) -> dict[str, Any]:
    """Fields that name `messages`, one at least, all of one queue: what they are, and where they really lie.

    `topic`: the one that they were sent to; `queue`, `offsets`: where they lie, which of a message that comes
    again is the retry topic of `group`, whose name its listener does not see; `ids`: those that their senders
    gave; `attempt`: how often the first came before.
    """
    first, some = messages[0], messages[:SHOWN_MAX]
    topic = retry_topic(group) if p.RETRY_TOPIC in first.properties else first.topic
    return {
        "group": group,
        "topic": first.properties.get(p.RETRY_TOPIC) or first.topic,
        "queue": f"{topic}/{first.broker_name}/{first.queue_id}",
        "offsets": [message.queue_offset for message in some],
        "ids": [message.message_id for message in some],
        "keys": [" ".join(message.keys) for message in some],
        "tags": [message.tag or "" for message in some],
        "count": len(messages),
        "attempt": first.reconsume_times,
    }

"""Names of queues as names of topics, and back.

A topic may hold only letters, digits and `_ - % |`, and 127 characters. Everything else in the name of a
queue is written as `%` and two hexadecimal digits for each byte, as in a URL. What follows a `%` that is no
such digit was put there by this module:

    celery@host.celery.pidbox         celery%40host%2Ecelery%2Epidbox
    celery, messages of priority 6    celery%-6
    celery, of the virtual host shop  shop%_celery
    what is too long                  its beginning, %-- and 32 digits that stand for the whole
"""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import quote, unquote

import attrs

from mqframe.core.errors import FixError
from mqframe.core.messages.names import is_system_topic

LENGTH_MAX: Final = 115
"""Groups are called as their topics, and `%RETRY%` before two of these and a `_` stays below 255."""
_HOST_MARK: Final = "%_"
_STEP_MARK: Final = "%-"
_DIGEST_MARK: Final = "%--"
_DIGEST_LENGTH: Final = 32


@attrs.frozen
class QueueName:
    """What a topic stands for. `queue` is as kombu calls it; `step`: 0, or the priority that it begins at."""

    queue: str
    virtual_host: str = ""
    step: int = 0


def topic_of(queue: str, *, virtual_host: str = "", step: int = 0) -> str:
    """The topic, and the consumer group, of `queue`. Two queues never share one.

    `virtual_host`: "" and "/" are the same one. Raises `FixError` for an empty name.
    """
    if not queue:
        raise FixError("the name of a queue is empty; give it one")
    host = virtual_host.strip("/")
    end = f"{_STEP_MARK}{step}" if step else ""
    topic = _escaped(queue) if host else _not_reserved(_escaped(queue))
    if host:
        topic = f"{_not_reserved(_escaped(host))}{_HOST_MARK}{topic}"
    if len(topic) + len(end) <= LENGTH_MAX:
        return topic + end
    digest = hashlib.sha256(topic.encode()).hexdigest()[:_DIGEST_LENGTH]
    return _cut(topic, LENGTH_MAX - len(_DIGEST_MARK) - _DIGEST_LENGTH - len(end)) + (
        f"{_DIGEST_MARK}{digest}{end}"
    )


def queue_of(topic: str) -> QueueName | None:
    """What `topic` stands for; `None` where its name was too long to be kept, or no queue is called so."""
    if _DIGEST_MARK in topic:
        return None
    rest, mark, number = topic.rpartition(_STEP_MARK)
    step = 0
    if mark:
        if not number.isascii() or not number.isdigit():
            return None
        topic, step = rest, int(number)
    host, mark, escaped = topic.rpartition(_HOST_MARK)
    try:
        name = QueueName(_plain(escaped), _plain(host), step)
    except ValueError:
        return None
    if not name.queue:
        return None
    made = topic_of(name.queue, virtual_host=name.virtual_host, step=step)
    return name if made == topic + (f"{_STEP_MARK}{step}" if step else "") else None


def _escaped(text: str) -> str:
    # `quote` leaves these two as they are.
    escaped = quote(text.encode("utf-8", "surrogatepass"), safe="")
    return escaped.replace(".", "%2E").replace("~", "%7E")


def _plain(text: str) -> str:
    return unquote(text, "utf-8", "surrogatepass")


def _not_reserved(topic: str) -> str:
    """`topic`, its first letter escaped where brokers use a topic of that name themselves."""
    if is_system_topic(topic) or topic.upper().startswith(("RMQ_SYS_", "CID_RMQ_SYS_")):
        return f"%{ord(topic[0]):02X}{topic[1:]}"
    return topic


def _cut(topic: str, length: int) -> str:
    """The beginning of `topic`, no escaped byte of which is cut in two."""
    cut = topic[:length]
    half = cut.rfind("%", len(cut) - 2)
    return cut if half < 0 else cut[:half]

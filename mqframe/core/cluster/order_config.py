"""Fixed queue lists of ordered topics, such as "broker-a:4;broker-b:4".

Producers of such a topic choose among all queues of the list, whether their brokers live or not, so that a
key stays at its queue while a broker is away. Sources: MQClientInstance.topicRouteData2TopicPublishInfo,
UpdateTopicSubCommand.java.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_WRITE
from mqframe.core.errors import RouteError
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX

ORDER_TOPIC_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
"""Key-value namespace of name servers that holds the lists that operators made, by topic."""
_DIGITS_MAX: Final = 9
TYPE_ATTRIBUTE: Final = "message.type"
FIFO: Final = "FIFO"
"""Value of the attribute of topics whose messages are to be consumed in order."""


def parse_order(topic: str, text: str) -> dict[str, int]:
    """Queues by broker name, in the order of `text`. Raises `RouteError` saying what it cannot read."""
    found: dict[str, int] = {}
    for entry in text.split(";"):
        broker_name, colon, count = entry.partition(":")
        if not entry:
            continue
        if not colon or not (count.isascii() and count.isdecimal()) or len(count) > _DIGITS_MAX:
            raise RouteError(
                f"order configuration of topic {topic}: {entry[:80]!r} is not broker:queues; "
                "correct it in the name server (namespace ORDER_TOPIC_CONFIG)"
            )
        found[broker_name] = int(count)
    return found


def order_text(queues: Mapping[str, int]) -> str:
    """The list as it is written, brokers sorted."""
    return ";".join(f"{name}:{count}" for name, count in sorted(queues.items()))


def is_fifo(topic: TopicConfig) -> bool:
    """Whether the topic is of type FIFO."""
    return topic.attributes.get(TYPE_ATTRIBUTE, "").upper() == FIFO


def learnt_changes(
    kept: Mapping[str, str], broker_name: str, topics: Mapping[str, TopicConfig]
) -> dict[str, str | None]:
    """What the registration of `topics` by a master changes in the lists `kept` of FIFO and marked topics.

    A broker's part stays in a list until it registers the topic as another kind, or as one that may not be
    written there, however long it is away. The value `None`: there is no list any more.
    """
    changes: dict[str, str | None] = {}
    for key, config in topics.items():
        old = kept.get(name := config.topic_name or key)
        listed = (config.order or is_fifo(config)) and config.perm & PERM_WRITE
        wanted = listed and not name.startswith((RETRY_PREFIX, DLQ_PREFIX))
        if old is None and not wanted:
            continue
        queues = parse_order(name, old or "")
        if wanted:
            queues[broker_name] = config.write_queue_nums
        else:
            queues.pop(broker_name, None)
        if (new := order_text(queues) or None) != old:
            changes[name] = new
    return changes

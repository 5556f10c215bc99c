"""JSON bodies with other names in them: of topics and groups, and of queues, which are keys of tables."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Body
from mqframe_namespaces.rules.names import is_wrapped, stripped

NAMED: Final = frozenset({"consumerGroup", "group", "groupName", "topic"})
"""Fields that hold a name, in all bodies but those with fields of one letter."""
_TABLES: Final = frozenset({"statusTable"})
"""Tables whose keys are topics."""


def renamed_body(body: Body, name: Callable[[str], str], fields: Collection[str] = NAMED) -> bytes:
    """`body` with the texts in `fields`, at any depth, as `name` has them. Raises `BodyError` for no JSON."""
    return loose_json.dumps(_renamed(loose_json.loads(bytes(body)), name, fields))


def own_topics(body: Body, namespace: str) -> bytes:
    """The list of all topics, as far as they are in `namespace`, without it. Raises `BodyError`."""
    topics = loose_json.decode(bytes(body), TopicList).topic_list
    own = [stripped(namespace, topic) for topic in topics if is_wrapped(namespace, topic)]
    return loose_json.dumps(TopicList(topic_list=own))


def _renamed(value: Any, name: Callable[[str], str], fields: Collection[str]) -> Any:
    if isinstance(value, list):
        return [_renamed(each, name, fields) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[Any, Any] = {}
    for key, held in value.items():
        if isinstance(key, MessageQueue):
            key = key._replace(topic=name(key.topic))
        if key in fields and isinstance(held, str):
            held = name(held)
        elif key in _TABLES and isinstance(held, dict):
            held = {name(topic): _renamed(each, name, fields) for topic, each in held.items()}
        else:
            held = _renamed(held, name, fields)
        found[key] = held
    return found

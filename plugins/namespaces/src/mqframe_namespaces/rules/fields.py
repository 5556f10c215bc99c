"""Header fields of requests that hold names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe.core.requests.messages import SendBatchMessage, SendMessageV2
from mqframe.core.requests.nameserver import DeleteKvConfig, GetKvConfig, PutKvConfig
from mqframe.core.requests.replies import SendReplyMessageV2
from mqframe_namespaces.rules.names import Names
from mqframe_namespaces.rules.properties import renamed_properties, sent_properties

Fields = dict[str, str]
Keys = tuple[Sequence[str], Sequence[str], str]

SEND_HALF_BATCH: Final = 21320
"""Half messages that are several, of `mqframe-plugin-transactions`."""
SHORT_SENDS: Final = frozenset(
    {SendMessageV2.CODE, SendBatchMessage.CODE, SendReplyMessageV2.CODE, SEND_HALF_BATCH}
)
"""Requests whose fields are called by letters."""
_KEY_VALUES: Final = frozenset({GetKvConfig.CODE, PutKvConfig.CODE, DeleteKvConfig.CODE})
_NOTES: Final = "MQFRAME_ALLOCATION"
"""Where members keep notes on how queues are shared; a key begins with the group and a slash."""
_GROUPS: Final = ("consumerGroup", "producerGroup", "group")
_TOPICS: Final = ("topic", "originTopic")
_LONG: Final[Keys] = (_GROUPS, _TOPICS, "properties")
_SHORT: Final[Keys] = (("a",), ("b",), "i")
"""Which fields hold groups, topics, and the properties of a message."""


def wrap_fields(code: int, fields: Fields, names: Names) -> None:
    """Put the names in `fields`, of a request that leaves, into the namespace."""
    groups, topics, properties = _SHORT if code in SHORT_SENDS else _LONG
    group = fields.get("consumerGroup", "")
    for key in topics:
        if key in fields:
            fields[key] = names.wrapped_topic(fields[key], group)
    for key in groups:
        if key in fields:
            fields[key] = names.wrapped(fields[key])
    if properties in fields:
        fields[properties] = sent_properties(fields[properties], names.namespace, names.wrapped)
    if code in _KEY_VALUES and fields.get("namespace") == _NOTES:
        fields["key"] = names.wrapped(fields["key"])


def strip_fields(fields: Fields, names: Names) -> None:
    """Take the names in `fields`, of a request that came from a broker, out of the namespace."""
    for key in _GROUPS:
        if key in fields:
            fields[key] = names.stripped(fields[key])
    for key in _TOPICS:
        if key in fields:
            fields[key] = names.stripped_topic(fields[key])
    if "properties" in fields:
        fields["properties"] = renamed_properties(fields["properties"], names.stripped)

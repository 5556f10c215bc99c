"""Names of topics and groups in a namespace (source: NamespaceUtil.java).

orders            shop%orders
%RETRY%billing    %RETRY%shop%billing
%DLQ%billing      %DLQ%shop%billing
TBW102            TBW102                a topic or group of the brokers themselves
"""

from __future__ import annotations

import re
from typing import Final

from mqframe.core.errors import SettingError
from mqframe.core.messages.names import (
    BROKER_GROUP_PREFIX,
    DLQ_PREFIX,
    REPLY_SUFFIX,
    RETRY_PREFIX,
    SYSTEM_PREFIX,
    is_system_group,
    is_system_topic,
    normal_topic,
)

SEPARATOR: Final = "%"
_CHECKPOINT_TOPIC: Final = "CHECKPOINT_TOPIC"
"""Besides those that brokers of mqframe have (TopicValidator.java)."""
_INNER_PRODUCER: Final = "CLIENT_INNER_PRODUCER"
"""The producer group of copies that consumers send; Java's client never has it in a namespace."""
_LEGAL: Final = re.compile(r"[a-zA-Z0-9_|-]+")


def check_namespace(namespace: str) -> None:
    """Raise `SettingError` unless names can be put into `namespace`, and told from others then."""
    if not _LEGAL.fullmatch(namespace):
        raise SettingError(
            f"client.namespace = {namespace!r}: may hold only letters, digits, _ - and |, as topics do"
        )
    if namespace.startswith((SYSTEM_PREFIX, BROKER_GROUP_PREFIX)):
        raise SettingError(
            f"client.namespace = {namespace!r}: names that begin with {SYSTEM_PREFIX} or"
            f" {BROKER_GROUP_PREFIX} are the brokers' own; choose another one"
        )


def is_of_brokers(name: str) -> bool:
    """Whether `name` is one that brokers make and use themselves, so that it is in no namespace.

    As NamespaceUtil.java has it, and the other groups that brokers make for tools, the producer group of
    what consumers send, and topics of replies, of which there is one for each cluster.
    """
    return (
        is_system_topic(name)
        or is_system_group(name)
        or name in (_CHECKPOINT_TOPIC, _INNER_PRODUCER)
        or (name.endswith(REPLY_SUFFIX) and SEPARATOR not in name)
    )


def is_wrapped(namespace: str, name: str) -> bool:
    """Whether `name` is in `namespace` already."""
    return _parts(name)[1].startswith(f"{namespace}{SEPARATOR}") and not is_of_brokers(name)


def wrapped(namespace: str, name: str) -> str:
    """`name` in `namespace`; itself where it is there already, is empty, or belongs to brokers."""
    if not name or is_of_brokers(name) or is_wrapped(namespace, name):
        return name
    prefix, own = _parts(name)
    return f"{prefix}{namespace}{SEPARATOR}{own}"


def stripped(namespace: str, name: str) -> str:
    """`name` without `namespace`; itself where it is not in it."""
    if not is_wrapped(namespace, name):
        return name
    prefix, own = _parts(name)
    return prefix + own[len(namespace) + 1 :]


class Names:
    """The names of one client in `namespace`, which must be a legal one.

    What the client itself calls by its name within the namespace keeps that name towards the client, too.
    """

    __slots__ = ("_as_given", "namespace")

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._as_given: set[str] = set()

    def wrapped(self, name: str) -> str:
        """What brokers call what the client calls `name`."""
        if is_wrapped(self.namespace, name):
            self._as_given.add(name)
        return wrapped(self.namespace, name)

    def stripped(self, name: str) -> str:
        """What the client calls what brokers call `name`."""
        return name if name in self._as_given else stripped(self.namespace, name)

    def wrapped_topic(self, topic: str, group: str) -> str:
        """As `wrapped`, of a topic that `group` asks about ("": nobody): also one in which messages come
        again that it popped, whose name is made of both."""
        normal = normal_topic(topic, group) if group else topic
        if normal == topic:
            return self.wrapped(topic)
        between = topic[len(RETRY_PREFIX) + len(group)]
        return f"{RETRY_PREFIX}{self.wrapped(group)}{between}{self.wrapped(normal)}"

    def stripped_topic(self, topic: str) -> str:
        """As `stripped`, also of what `wrapped_topic` makes."""
        found = self.stripped(topic)
        if found != topic and topic.startswith(RETRY_PREFIX):
            for between in ("_", "+"):
                found = found.replace(f"{between}{self.namespace}{SEPARATOR}", between, 1)
        return found


def _parts(name: str) -> tuple[str, str]:
    """What retry and dead-letter topics begin with, "" of others, and the rest."""
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name[len(prefix) :]
    return "", name

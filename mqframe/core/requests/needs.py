"""What a request asks to do with what: the declaration of each request kind, for access control.

A declaration turns a frame into its needs. All of them have to be granted; of the actions of one need, one is
enough. A retry topic stands for its group, as in Apache RocketMQ (source:
DefaultAuthorizationContextBuilder.java, and RocketMQAction of the request headers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

import attrs

from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, normal_topic
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.frame import Frame


class Action(StrEnum):
    """What may be done (source: Action.java)."""

    PUB = "Pub"
    SUB = "Sub"
    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"
    GET = "Get"
    LIST = "List"


class Resource(StrEnum):
    """What something is done with (source: ResourceType.java)."""

    CLUSTER = "Cluster"
    TOPIC = "Topic"
    GROUP = "Group"


class Need(NamedTuple):
    """One permission that a request needs: one of `actions` on what is called `name`.

    An empty name means all resources of the kind; of a cluster, that of the server.
    """

    resource: Resource
    name: str
    actions: tuple[Action, ...]


B = TypeVar("B", bound=Body)
Actions = tuple[Action, ...]
CHANGING: Final = frozenset({Action.CREATE, Action.UPDATE, Action.DELETE})


@attrs.frozen
class Needs:
    """What requests of one kind need; `a & b` are both.

    `find`: the needs of one request; raises `BodyError` for a body that cannot be read. `operators`: the
    request is made by those who run brokers, not by applications nor by brokers. `changes`: it changes
    something that lasts, which is worth a line in the audit log.
    """

    find: Callable[[Frame], list[Need]]
    operators: bool = False
    changes: bool = False

    def __and__(self, other: Needs) -> Needs:
        first, second = self.find, other.find
        return Needs(
            lambda frame: first(frame) + second(frame),
            self.operators or other.operators,
            self.changes or other.changes,
        )


def topic_need(name: str, actions: Actions) -> Need:
    """`actions` on the topic `name`; on its group where that is a retry topic."""
    if name.startswith(RETRY_PREFIX):
        return group_need(name, actions)
    return Need(Resource.TOPIC, name, actions)


def group_need(name: str, actions: Actions) -> Need:
    """`actions` on the consumer group `name`, which may be given by its retry topic."""
    if name.startswith(RETRY_PREFIX):
        name = name.removeprefix(RETRY_PREFIX).removeprefix(DLQ_PREFIX)
    return Need(Resource.GROUP, name, actions)


def consumed_need(name: str, group: str, actions: Actions) -> Need:
    """`actions` on the topic whose messages `group` finds in the topic `name`."""
    return topic_need(normal_topic(name, group), actions)


def topic(*actions: Action, field: str = "topic", optional: bool = False) -> Needs:
    """The topic in the header field `field`. `optional`: nothing is needed where the field is empty."""
    return _named(topic_need, field, actions, optional)


def group(*actions: Action, field: str = "consumerGroup", optional: bool = False) -> Needs:
    """The consumer group in the header field `field`."""
    return _named(group_need, field, actions, optional)


def all_topics(*actions: Action) -> Needs:
    """Every topic."""
    return _fixed(Need(Resource.TOPIC, "", actions))


def all_groups(*actions: Action) -> Needs:
    """Every consumer group."""
    return _fixed(Need(Resource.GROUP, "", actions))


def cluster(*actions: Action, operators: bool = True) -> Needs:
    """The cluster itself: what operators ask for, and some others as well."""
    return attrs.evolve(_fixed(Need(Resource.CLUSTER, "", actions)), operators=operators)


def brokers() -> Needs:
    """What brokers and name servers tell each other, again and again."""
    return attrs.evolve(cluster(Action.UPDATE, operators=False), changes=False)


def signed() -> Needs:
    """Nothing but to be known."""
    return Needs(lambda frame: [])


def of_body(kind: type[B], needs: Callable[[B], Iterable[Need]], *, changes: bool = False) -> Needs:
    """What the JSON body, read as `kind`, names. `changes`: an operator's request that changes something."""

    def find(frame: Frame) -> list[Need]:
        body = loose_json.decode(memoryview(frame.body), kind, loose_json.DIALECT_BYTES_MAX)
        return list(needs(body))

    return Needs(find, changes, changes)


def _named(make: Callable[[str, Actions], Need], field: str, actions: Actions, optional: bool) -> Needs:
    def find(frame: Frame) -> list[Need]:
        name = (frame.ext or {}).get(field, "")
        return [] if optional and not name else [make(name, actions)]

    changes = CHANGING.issuperset(actions)
    return Needs(find, changes, changes)


def _fixed(need: Need) -> Needs:
    changes = CHANGING.issuperset(need.actions)
    return Needs(lambda frame: [need], changes, changes)


UNDECLARED: Final = cluster(Action.UPDATE)
"""What requests need that nobody declares, those of unknown codes among them."""

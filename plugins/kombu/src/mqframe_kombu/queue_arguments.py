"""Arguments of queues, by RabbitMQ's names: heeded, or refused in words. None is passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import FixError
from mqframe_kombu.directory import QueueRecord

MS_MAX: Final = 4_294_967_295
"""The longest time that RabbitMQ takes as well."""
PRIORITY_MAX: Final = 10
"""9 is the highest of the steps; what is above counts as it, and 10 is what most declare."""

RETURNS_MAX: Final = 2_147_483_647

NUMBERS: Final[Mapping[str, tuple[str, str, int, int]]] = {
    "x-message-ttl": ("message_ttl", "milliseconds", 0, MS_MAX),
    "x-expires": ("expires", "milliseconds", 1, MS_MAX),
    "x-max-priority": ("max_priority", "a priority", 0, PRIORITY_MAX),
    "x-delivery-limit": ("delivery_limit", "a number of returns", 0, RETURNS_MAX),
}
TEXTS: Final[Mapping[str, str]] = {
    "x-dead-letter-exchange": "dead_letter_exchange",
    "x-dead-letter-routing-key": "dead_letter_routing_key",
}
"""Arguments that are kept, and the fields of `QueueRecord` for them; of numbers the unit and the limits."""

OF_KOMBU: Final = frozenset(
    {"x-message-ttl", "x-expires", "x-max-priority", "x-max-length", "x-max-length-bytes"}
)
"""What `kombu.Queue` has names of its own for."""
ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "x-queue-type": ("classic", "quorum"),
    "x-queue-mode": ("default", "lazy"),
    "x-dead-letter-strategy": ("at-least-once",),
}
"""Values that say what holds of every queue here."""

_NO_LIMIT: Final = (
    "queues have no limit here, as messages wait on disk; give tasks `expires`, or the queue `message_ttl`, "
    "and look at `mqframe group lag`"
)
_COPIES: Final = "where copies lie is a matter of the brokers and their roles; leave it out"
_STREAM: Final = (
    "a topic is read from any offset by consumers of mqframe, and kept for `store.keep_hours` of its brokers"
)
INSTEAD: Final[Mapping[str, str]] = {
    "x-max-length": _NO_LIMIT,
    "x-max-length-bytes": _NO_LIMIT,
    "x-max-in-memory-length": _NO_LIMIT,
    "x-max-in-memory-bytes": _NO_LIMIT,
    "x-overflow": _NO_LIMIT,
    "x-single-active-consumer": (
        "messages of a queue go to all who consume from it; run one worker with --concurrency 1, or read the "
        "topic with a push consumer of mqframe that is `ordered`"
    ),
    "x-consumer-timeout": "what is worked on stays with its worker; set `task_time_limit` of Celery",
    "x-queue-version": "it means files of RabbitMQ; leave it out",
    "x-queue-master-locator": _COPIES,
    "x-queue-leader-locator": _COPIES,
    "x-quorum-initial-group-size": _COPIES,
    "x-initial-cluster-size": _COPIES,
    "x-max-age": _STREAM,
    "x-stream-max-segment-size-bytes": _STREAM,
    "x-stream-filter-size-bytes": _STREAM,
    "x-queue-type": f"only {' and '.join(ALWAYS['x-queue-type'])}, which are the same here; {_STREAM}",
    "x-queue-mode": "messages are on disk at once; leave it out",
    "x-dead-letter-strategy": "dead letters are stored before their message is gone, at-least-once",
    "x-max-priority": (
        f"{PRIORITY_MAX} at most: priorities are kept in the steps of the transport option `priority_steps`, "
        "the highest of which is 9"
    ),
    "x-dead-letter-routing-key": "it needs `x-dead-letter-exchange`, too",
}
"""What to do about arguments, or values of them, that have no effect here."""
OF_CONSUMERS: Final[Mapping[str, str]] = {
    "x-priority": "those who consume from a queue are equal; consume with fewer workers",
    "x-stream-offset": _STREAM,
}
OF_BINDINGS: Final[Mapping[str, str]] = {
    "x-match": "what is routed goes by its routing key; use an exchange of the type direct, topic or fanout",
}
OF_EXCHANGES: Final[Mapping[str, str]] = {
    "alternate-exchange": "the transport option `deadletter_queue` names a queue for what is for no other",
}


def record_of(
    queue: str,
    arguments: Mapping[str, Any],
    *,
    durable: bool = False,
    exclusive: bool = False,
    auto_delete: bool = False,
) -> QueueRecord:
    """What `queue` is declared as. Arguments that are `None` were not given.

    Raises `FixError`, with the argument, the queue and what to do instead, for one that cannot be heeded.
    """
    fields: dict[str, Any] = {}
    for name, value in arguments.items():
        if value is None:
            continue
        if name in NUMBERS:
            field, unit, low, high = NUMBERS[name]
            if name in INSTEAD and isinstance(value, int) and value > high:
                raise _refused(queue, name, value, INSTEAD[name])
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise _refused(queue, name, value, f"it is {unit}, a whole number from {low} to {high}")
            fields[field] = value
        elif name in TEXTS:
            if not isinstance(value, str):
                raise _refused(queue, name, value, "it is a text")
            fields[TEXTS[name]] = value
        elif value not in ALWAYS.get(name, ()):
            raise _refused(queue, name, value, INSTEAD.get(name) or _known(name))
    if "dead_letter_routing_key" in fields and "dead_letter_exchange" not in fields:
        name = "x-dead-letter-routing-key"
        raise _refused(queue, name, fields["dead_letter_routing_key"], INSTEAD[name])
    return QueueRecord(durable=durable, exclusive=exclusive, auto_delete=auto_delete, **fields)


def refuse(what: str, arguments: Mapping[str, Any] | None, instead: Mapping[str, str]) -> None:
    """Refuse all arguments of `what`, as none has an effect. Raises `FixError`.

    `instead`: what to do about those that are known.
    """
    for name, value in (arguments or {}).items():
        advice = instead.get(name, "arguments of that kind have no effect here; leave it out")
        raise FixError(f"{what} cannot have {name} = {value!r}: {advice}")


def _refused(queue: str, name: str, value: object, instead: str) -> FixError:
    kombu = f" (`{name[2:].replace('-', '_')}` of `kombu.Queue`)" if name in OF_KOMBU else ""
    return FixError(f"the queue {queue!r} cannot have {name} = {value!r}{kombu}: {instead}")


def _known(name: str) -> str:
    names = [*NUMBERS, *TEXTS, *ALWAYS]
    meant = did_you_mean(name, names, most=1)
    return f"mqframe does not know it; {meant or 'it knows ' + ', '.join(names)}"

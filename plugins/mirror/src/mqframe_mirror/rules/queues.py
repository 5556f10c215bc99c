"""Which queue of the target takes the messages of a queue of the source.

Queue i of a source's broker is copied to queue i of the target's broker that this one was given, once and for
all. So the messages of a queue, and with them those of a sharding key, keep their order; more queues at the
source change nothing for those that were there; and a queue id that means something, as a priority, goes on
meaning it. Where the source has more brokers than the target, queues of the same id are brought together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from mqframe.core.messages.message import MessageQueue


def assigned(
    known: Mapping[str, str], source_brokers: Iterable[str], target_brokers: Iterable[str]
) -> dict[str, str]:
    """The target's broker of each of the source's: those of `known` stay, whatever brokers there are now.

    A new one gets the broker of its name, or else one that has the fewest. Without any broker at the target
    nothing is added.
    """
    found = dict(known)
    there = sorted(set(target_brokers))
    new = sorted(set(source_brokers) - found.keys())
    found |= {broker: broker for broker in new if broker in there}
    load = Counter(found.values())
    for broker in new:
        if broker not in found and there:
            least = min(there, key=lambda each: (load[each], each))
            found[broker] = least
            load[least] += 1
    return found


def place_of(queue: MessageQueue, brokers: Mapping[str, str], topic: str) -> MessageQueue:
    """The queue of the target's `topic` that takes what lies in `queue`; `brokers`: as `assigned` gives."""
    return MessageQueue(topic, brokers[queue.broker_name], queue.queue_id)


def queues_needed(places: Iterable[MessageQueue]) -> dict[str, int]:
    """How many queues each broker of the target has to have, by its name."""
    needed: dict[str, int] = {}
    for place in places:
        needed[place.broker_name] = max(needed.get(place.broker_name, 0), place.queue_id + 1)
    return needed


def written(brokers: Mapping[str, str]) -> str:
    """`brokers` as a name server keeps them: "broker-a=broker-b;broker-c=broker-b"."""
    return ";".join(f"{source}={target}" for source, target in sorted(brokers.items()))


def read(text: str) -> dict[str, str]:
    """What `written` wrote; what cannot be read is left out."""
    pairs = (entry.partition("=") for entry in text.split(";"))
    return {source: target for source, found, target in pairs if source and found and target}

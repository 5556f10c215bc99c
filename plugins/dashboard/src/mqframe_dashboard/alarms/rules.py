"""What is wrong with a cluster, by what was seen of it: plain values in, alarms out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import attrs
from mqframe_admin.bodies import broker_load
from mqframe_admin.rules.replica import Replica

from mqframe_dashboard.curves import span_text
from mqframe_dashboard.view import Link, link

DISK_PERCENT: Final = 85.0
"""A disk that is fuller is nearly full: brokers of mqframe delete the oldest messages from here on."""
BEHIND_MS: Final = 10_000
"""A slave that lacks what was stored longer ago is behind."""
BEHIND_BYTES: Final = 64 << 20
"""Or more than this of the log, where nobody can say how long ago it was stored."""
TROUBLES: Final = ("storeTrouble", "replicationTrouble", "roleTrouble", "replicationTablesTrouble")
"""Counters in which brokers say what is wrong, in words."""


@attrs.frozen
class ClusterAlarm:
    """Something to look at, and where. `severe`: messages are at risk, or do not get through, now."""

    link: Link
    severe: bool = False


@attrs.frozen
class BrokerSeen:
    """A registered broker, and its counters, or why it did not tell them."""

    name: str
    number: int
    address: str
    counters: Mapping[str, str] = attrs.field(factory=dict)
    silent: str = ""


@attrs.frozen
class BrokerGone:
    """A broker that is not registered any more, and was at `seen_ms`, since 1970."""

    name: str
    number: int
    address: str
    seen_ms: int


@attrs.frozen
class GroupSeen:
    """A group that is `lag` messages behind. `members`: those online; `None`: nobody could say."""

    name: str
    lag: int
    members: int | None


@attrs.frozen
class ClusterSeen:
    """What was seen of a cluster at `at_ms`, since 1970.

    `letters`: dead letters that came within the last `letters_seconds`, by group; `unseen`: what could not be
    looked at, in words; `gone`: brokers that were seen before.
    """

    at_ms: int
    brokers: Sequence[BrokerSeen] = ()
    replicas: Sequence[Replica] = ()
    groups: Sequence[GroupSeen] = ()
    letters: Mapping[str, int] = attrs.field(factory=dict)
    letters_seconds: float = 0.0
    unseen: Sequence[str] = ()
    gone: Sequence[BrokerGone] = ()


def alarms_of(seen: ClusterSeen) -> list[ClusterAlarm]:
    """All alarms, the severe ones first."""
    brokers = (*_brokers(seen), *_gone(seen), *_leaders(seen), *_replicas(seen))
    found = [*brokers, *_letters(seen), *_groups(seen)]
    found += [ClusterAlarm(link("alarms", text)) for text in seen.unseen]
    return sorted(found, key=lambda each: not each.severe)


def _brokers(seen: ClusterSeen) -> Iterator[ClusterAlarm]:
    if not seen.brokers:
        yield ClusterAlarm(link("./", "No broker is registered."), severe=True)
    for each in seen.brokers:

        def about(text: str, name: str = each.name, number: int = each.number) -> Link:
            return link("broker", f"Broker {name} ({number}): {text}", name=name, id=str(number))

        if each.silent:
            yield ClusterAlarm(about(f"does not answer: {each.silent}"), severe=True)
            continue
        for name in TROUBLES:
            if each.counters.get(name):
                yield ClusterAlarm(about(each.counters[name]), severe=True)
        used = broker_load(each.counters).disk_percent
        if used >= DISK_PERCENT:
            yield ClusterAlarm(about(f"its disk is nearly full: {used:g}% are used"), severe=True)


def gone_brokers(known: Iterable[BrokerGone], brokers: Sequence[BrokerSeen]) -> list[BrokerGone]:
    """Those of `known` that are not among `brokers`: neither where they were, nor by name and number."""
    addresses = {each.address for each in brokers}
    numbers = {(each.name, each.number) for each in brokers}
    return [
        each for each in known if each.address not in addresses and (each.name, each.number) not in numbers
    ]


def _gone(seen: ClusterSeen) -> Iterator[ClusterAlarm]:
    for each in seen.gone:
        who = f"Broker {each.name} ({each.number}) at {each.address}"
        text = f"{who} is gone: it was registered {span_text(seen.at_ms - each.seen_ms)} ago."
        yield ClusterAlarm(link("replication", text), severe=each.number == 0)


def _leaders(seen: ClusterSeen) -> Iterator[ClusterAlarm]:
    for name, of_name in groupby(sorted(seen.brokers, key=lambda each: each.name), lambda each: each.name):
        if any(each.number == 0 for each in of_name):
            continue
        elected = any(each.broker == name and each.epoch is not None for each in seen.replicas)
        word = "leader" if elected else "master"
        text = f"{name} has no {word}: it takes no messages."
        yield ClusterAlarm(link("replication", text), severe=True)


def _replicas(seen: ClusterSeen) -> Iterator[ClusterAlarm]:
    silent = {each.address for each in seen.brokers if each.silent}
    troubled = {each.address for each in seen.brokers if any(map(each.counters.get, TROUBLES))}
    for each in seen.replicas:
        who = f"{each.broker} ({each.broker_id})"
        if each.trouble and each.address not in silent | troubled:
            yield ClusterAlarm(link("replication", f"{who}: {each.trouble}"))
        if each.slaves and each.in_sync is not None and each.in_sync < each.slaves:
            text = f"{who}: {each.slaves - each.in_sync} of {each.slaves} slaves are not in sync."
            yield ClusterAlarm(link("replication", text))
        if each.role == "SYNC_MASTER" and each.in_sync == 0:
            text = f"{who} is SYNC_MASTER, and no slave is in sync: what it stores is there only once."
            yield ClusterAlarm(link("replication", text), severe=True)
        if late := _behind(each, seen.at_ms):
            yield ClusterAlarm(link("replication", f"{who} is behind: {late}."))


def _behind(replica: Replica, now_ms: int) -> str:
    missing, since = replica.behind_bytes or 0, replica.behind_since_ms
    if since is not None and missing and now_ms - since >= BEHIND_MS:
        return f"{missing:,} bytes of the log, {span_text(now_ms - since)}"
    return f"{missing:,} bytes of the log" if since is None and missing >= BEHIND_BYTES else ""


def _letters(seen: ClusterSeen) -> Iterator[ClusterAlarm]:
    for group, count in sorted(seen.letters.items(), key=lambda item: (-item[1], item[0])):
        span = span_text(seen.letters_seconds * 1000)
        text = f"Group {group} gave up {count:,} message{'s' * (count != 1)} within the last {span}."
        yield ClusterAlarm(link("letters", text, group=group))


def _groups(seen: ClusterSeen) -> Iterator[ClusterAlarm]:
    for each in sorted(seen.groups, key=lambda each: (-each.lag, each.name)):
        if each.members == 0 and each.lag:
            messages = f"{each.lag:,} message{'s' * (each.lag != 1)}"
            text = f"Group {each.name} is {messages} behind, and no member is online."
            yield ClusterAlarm(link("group", text, name=each.name))

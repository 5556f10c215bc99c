"""Producers and consumers that are connected, as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Final

from mqframe.core.cluster.client_registry import ClientRegistry, Member
from mqframe.core.measuring.family import Family, MetricKind, MetricTable, Row
from mqframe.core.requests.peer import Peer
from mqframe.turns import in_turns
from mqframe_metrics.broker.naming import flag, is_system, language, version

_MODES = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}
_REMOTING = "remoting"
_Kind = tuple[str, str, str]
TURN_COUNTS: Final = 512
"""Members or groups that are looked at in one turn of the loop."""


async def producers(clients: ClientRegistry[Peer]) -> Family:
    """Members of all producer groups together."""
    family = Family(
        "rocketmq_producer_connections",
        MetricKind.GAUGE,
        "Members of producer groups.",
        ("language", "version", "protocol_type"),
    )
    spoken_by: Counter[_Kind] = Counter()
    async for some in in_turns(tuple(clients.producers.values()), TURN_COUNTS):
        for members in some:
            spoken_by.update(await _kinds(members))
    for kind, count in spoken_by.items():
        family.add(count, *kind)
    return family


def consumers(clients: ClientRegistry[Peer]) -> MetricTable:
    """Members of each consumer group."""
    family = Family(
        "rocketmq_consumer_connections",
        MetricKind.GAUGE,
        "Members of consumer groups.",
        ("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system"),
    )
    return MetricTable((family,), _consumers(clients))


async def _consumers(clients: ClientRegistry[Peer]) -> AsyncIterator[Row]:
    for group in tuple(clients.consumers.values()):
        mode = _MODES.get(group.consume_type or "", "other")
        system = flag(is_system("", group.name))
        for (spoken, which, protocol), count in (await _kinds(group.members)).items():
            yield (group.name, spoken, which, mode, protocol, system), (count,)


async def _kinds(members: Mapping[Peer, Member[Peer]]) -> Counter[_Kind]:
    """How many members speak which language, in which version, by which protocol."""
    found: Counter[_Kind] = Counter()
    async for some in in_turns(tuple(members.values()), TURN_COUNTS):
        found.update((language(each.language), version(each.version), _protocol(each)) for each in some)
    return found


def _protocol(member: Member[Peer]) -> str:
    # Those that services speak for say it; connections are of remoting.
    return getattr(member.channel, "protocol", _REMOTING)
